//! JSON of programs, with limits: what is not needed is skipped while it is read.

use crate::traces::opening::Opening;
use serde::de::{DeserializeOwned, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;

/// Most bytes of JSON: an hour of irtt at 2 ms.
const BYTES_MAX: u64 = 1 << 30;
/// Most elements of a list.
const ELEMENTS_MAX: usize = 4_000_000;

/// Reads a file of JSON.
///
/// # Errors
/// The line, and what is wrong with it.
pub(super) fn read<T: DeserializeOwned>(input: &mut dyn Read, expected: &str) -> Result<T, String> {
    read_by(PhantomData::<T>, input, expected)
}

/// Reads a file of JSON by a seed, which tells what to keep.
///
/// # Errors
/// Errors of [`read`].
pub(super) fn read_by<T>(
    seed: impl for<'de> DeserializeSeed<'de, Value = T>,
    input: &mut dyn Read,
    expected: &str,
) -> Result<T, String> {
    let unreadable = |error: io::Error| crate::traces::unreadable(&error);
    let mut opening = Opening::read(input).map_err(unreadable)?;
    if opening.begins_with(b"\xef\xbb\xbf") {
        opening.read_exact(&mut [0; 3]).map_err(unreadable)?;
    }
    let limited = BufReader::new(Limited { input: opening, left: BYTES_MAX });
    let mut deserializer = serde_json::Deserializer::from_reader(limited);
    let read = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| {
        if error.is_io() {
            return format!("cannot be read: {error}; expected a file that can be read");
        }
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let what = message.strip_suffix(&place).unwrap_or(&message).replace('\n', " ");
        format!("line {}: {what}; expected {expected}", error.line().max(1))
    })
}

struct Limited<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.left = self
            .left
            .checked_sub(n as u64)
            .ok_or_else(|| io::Error::other(format!("it has more than {} MB of JSON", BYTES_MAX >> 20)))?;
        Ok(n)
    }
}

/// A list with a limit on its elements.
#[derive(Debug)]
pub(super) struct Bounded<T>(pub Vec<T>);

impl<T> Default for Bounded<T> {
    fn default() -> Bounded<T> {
        Bounded(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bounded<T>, D::Error> {
        struct Elements<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = Bounded<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bounded<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(element) = list.next_element()? {
                    if all.len() == ELEMENTS_MAX {
                        return Err(serde::de::Error::custom(format!(
                            "a list of more than {ELEMENTS_MAX} elements, which is the limit"
                        )));
                    }
                    all.push(element);
                }
                Ok(Bounded(all))
            }
        }
        deserializer.deserialize_seq(Elements(PhantomData))
    }
}
