//! Tables of typed settings in TOML files. One declaration of a key makes the field of a struct, the reader that reports the line
//! of each mistake, the JSON Schema and the row in the documentation.
//!
//! | module | contents |
//! | --- | --- |
//! | [`document`] | TOML with lines, in the order of the file |
//! | [`fault`], [`InputError`] | a mistake with its line; the error of a file |
//! | [`value`] | types of values: durations, rates, numbers, booleans, words; types of other crates implement [`Accept`] |
//! | [`renamed`] | keys with a new name: the error about the old name tells the new one |
//! | [`Key`], [`key`](fn@key) | the declaration of a key: type, default, range, description |
//! | [`setting`] | the value of a key, with its line |
//! | [`table`](mod@table) | tables of keys, and the macro that declares a table |

pub mod document;
mod error;
pub mod fault;
mod key;
mod lines;
pub mod renamed;
pub mod setting;
pub mod table;
pub mod value;

pub use document::{Content, Entry, Node};
pub use error::InputError;
pub use fault::Fault;
pub use key::{Declared, Key, key};
pub use renamed::RenamedKey;
pub use setting::{AnySetting, Effective, Setting};
pub use table::{Settings, Table};
pub use value::{Accept, OrNone};
