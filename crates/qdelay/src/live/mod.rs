//! Looking at a link while it runs: `qdelay link --live`, and `qdelay live SOCKET` for what has a control socket.
//!
//! | module | what |
//! | --- | --- |
//! | `history` | the last snapshots, as the curves that are drawn |
//! | `view` | text of a snapshot: rows for the foot of a terminal, or a whole screen |
//! | `text` | pieces of a line with a style, cut to a width |
//! | `panel` | keeps rows at the foot of the terminal while a command runs above them |
//! | `screen` | `qdelay live`: the whole terminal |

mod history;
mod panel;
mod screen;
mod text;
mod view;

pub use panel::Panel;
pub use screen::run;
