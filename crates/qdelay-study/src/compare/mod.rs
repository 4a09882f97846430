//! Links, disciplines, transports and seeds crossed, and run in memory.
//!
//! | file | what |
//! | --- | --- |
//! | [`cases`] | every combination, checked before any is run |
//! | [`pool`] | runs them on several threads |
//! | [`json`] | what came of them as JSON |

pub mod cases;
pub mod json;
pub mod pool;

use crate::InputError;
use std::collections::BTreeSet;

/// The same case twice would say nothing new and be told apart by nothing.
///
/// # Errors
/// One of `all` is there twice.
pub fn refuse_repeated(option: &str, all: impl Iterator<Item = String>) -> Result<(), InputError> {
    let mut seen = BTreeSet::new();
    for typed in all {
        if !seen.insert(typed.clone()) {
            return Err(InputError::new(option, format!("'{typed}' is given twice; expected each once")));
        }
    }
    Ok(())
}
