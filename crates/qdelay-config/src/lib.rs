//! Tables of typed settings in TOML files: one declaration of a key makes the field of a struct, its reader with the line of every
//! mistake, its JSON Schema and its row in the documentation.
//!
//! | module | what |
//! | --- | --- |
//! | [`document`] | TOML with lines, in the order of the file |
//! | [`fault`], [`InputError`] | what is wrong, and in which line; the same of a file |
//! | [`value`] | types of values: durations, rates, numbers, switches, words; those of other crates implement [`Accept`] |
//! | [`setting`] | the value of a key, with the line it stands in |
//! | [`table`](mod@table) | keys, tables of them, and the macro that declares one |

pub mod document;
mod error;
pub mod fault;
mod lines;
pub mod setting;
pub mod table;
pub mod value;

pub use document::{Content, Entry, Node};
pub use error::InputError;
pub use fault::Fault;
pub use setting::{AnySetting, Said, Setting};
pub use table::{Declared, Key, Settings, Table, key};
pub use value::{Accept, OrNone};
