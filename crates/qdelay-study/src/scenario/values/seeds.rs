//! Seeds as values, in a file and on the command line.

use qdelay_config::value::wrong_type;
use qdelay_config::{Accept, Content, Fault, Node};
use qdelay_core::component::Parameter;
use serde_json::{Value as Json, json};

/// Largest number of seeds of a study.
pub const SEEDS_MAX: u64 = 10_000;

/// Seeds, without duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

impl Accept for Seeds {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "whole numbers, such as 1, [1, 2, 7] or \"1..5\"";
        let fail = |message: String| Fault::new(node.line, path, message);
        let number =
            |text: &str| text.parse::<u64>().map_err(|_| fail(format!("'{text}': expected {EXPECTED}")));
        let seeds = match &node.content {
            Content::Text(text) => {
                parse_seeds(text).map_err(|message| fail(format!("'{text}': {message}")))?
            }
            Content::Whole(text) => vec![number(text)?],
            Content::List(list) if !list.is_empty() => {
                let item = |item: &Node| match &item.content {
                    Content::Whole(text) => number(text),
                    _ => Err(wrong_type(path, item, EXPECTED)),
                };
                list.iter().map(item).collect::<Result<Vec<u64>, Fault>>()?
            }
            _ => return Err(wrong_type(path, node, EXPECTED)),
        };
        check_seeds(&seeds).map_err(fail)?;
        Ok((String::new(), Seeds(seeds)))
    }
    fn describe(_: &Parameter) -> String {
        "number, list or range".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "integer", "minimum": 0 } },
            { "type": "string", "pattern": "^[0-9., =]+$" },
        ] })
    }
}

/// Parses seeds as typed on the command line: `1`, `1,7`, `1..5` (both ends included), or several of these separated by commas.
///
/// # Errors
/// The text has another form, or more than [`SEEDS_MAX`] seeds.
pub fn parse_seeds(text: &str) -> Result<Vec<u64>, String> {
    const EXPECTED: &str = "expected whole numbers, such as 1, 1,2,7 or 1..5";
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| EXPECTED.to_string());
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (number(first)?, number(last.strip_prefix('=').unwrap_or(last))?),
            None => (number(part)?, number(part)?),
        };
        if last < first {
            return Err(format!("{part} is empty; expected the smaller seed first"));
        }
        if last - first >= SEEDS_MAX || all.len() as u64 + (last - first) >= SEEDS_MAX {
            return Err(format!("out of range; expected at most {SEEDS_MAX} seeds"));
        }
        all.extend(first..=last);
    }
    Ok(all)
}

/// Checks the number of seeds, and refuses duplicates.
///
/// # Errors
/// The mistake and the expected input.
pub(crate) fn check_seeds(seeds: &[u64]) -> Result<(), String> {
    if seeds.is_empty() || seeds.len() as u64 > SEEDS_MAX {
        return Err(format!("{} seeds; expected 1 to {SEEDS_MAX}", seeds.len()));
    }
    let mut sorted = seeds.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("seed {} is given twice; expected each once", pair[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_parsed_as_numbers_lists_and_ranges() {
        assert_eq!(parse_seeds("7"), Ok(vec![7]));
        assert_eq!(parse_seeds("1..3, 9"), Ok(vec![1, 2, 3, 9]));
        assert_eq!(parse_seeds("1..=2"), Ok(vec![1, 2]));
        for bad in ["", "a", "-1", "3..1", "1..", "1,,2", "0..18446744073709551615", "1..9999,10000..10001"] {
            assert!(parse_seeds(bad).is_err(), "{bad}");
        }
        assert!(
            check_seeds(&[]).is_err() && check_seeds(&[1, 2, 1]).is_err() && check_seeds(&[2, 1]).is_ok()
        );
    }
}
