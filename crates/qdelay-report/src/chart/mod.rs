//! Every static picture: of `qdelay plot`, of `--svg` and of a paper's page. One list of paths and texts, and its formats.
//!
//! | module | what |
//! | --- | --- |
//! | `scale` | from figures to points, ticks, numbers as text |
//! | `ink` | colours, in print and as the variables of a page |
//! | `mark` | shapes of marks, dashes of lines, hatches of areas |
//! | `sheet`, `font` | the list of paths and texts; widths and outlines of letters |
//! | `axes`, `key` | title, key, grid, ticks and titles of axes |
//! | `together` | marks at one place, lines along one way, room for names |
//! | `to_svg`, `to_pdf`, `to_pgf`, `to_png` | the formats |
//!
//! A picture has the same bytes on every machine: letters are measured in a font of the program, and logarithms are those of `libm`.

mod axes;
mod font;
mod ink;
mod key;
mod mark;
mod scale;
mod sheet;
mod to_pdf;
mod to_pgf;
mod to_png;
mod to_svg;
mod together;

pub use axes::{Below, Frame, Placed, draw_axes, draw_x_axis};
pub(crate) use axes::{measure_head, measure_panel, name_room, paint_head, paint_panel};
pub use ink::{ACCEPTED, AREA, BAD, FROZEN, GOOD, GRID, Ink, NEUTRAL, SURFACE, WORDS, palette, print_colour};
pub use key::{Key, Sign, draw_quartiles, key_list};
pub use mark::{Hatch, Mark};
pub use scale::{Scale, number_text, tick_text};
pub use sheet::{Anchor, Curve, LINE, Medium, RADIUS, ROW, Sheet, Stroke, TEXT};
pub(crate) use to_pdf::pdf;
pub(crate) use to_pgf::pgf;
pub(crate) use to_png::png;
pub use to_svg::{escape, svg};
pub use together::{Rectangle, name_of_pile, piles, place_beside, ring};
