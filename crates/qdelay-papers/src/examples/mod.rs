//! Worked examples of papers: a law or a table by itself, given what the text gives it, where no scenario has the state that the text
//! supposes.
//!
//! An example is a name and its figures, computed anew whenever a claim asks for one.

mod blocks;
mod pacers;

use std::fmt::Debug;

/// A worked example.
#[derive(Clone, Copy)]
pub struct Example {
    /// Name in claims.
    pub name: &'static str,
    figures: fn() -> Vec<(String, f64)>,
}

/// All of them.
pub static EXAMPLES: &[Example] = &[
    Example { name: "5g/granted-blocks", figures: pacers::granted_blocks },
    Example { name: "5g/blocks-by-backlog", figures: pacers::blocks_by_backlog },
    Example { name: "eqp/deviation", figures: blocks::deviation },
];

/// The example of this name.
pub fn find(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name)
}

impl Example {
    /// Figures by their names.
    pub fn figures(&self) -> Vec<(String, f64)> {
        (self.figures)()
    }

    /// One of its figures.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures().into_iter().find(|(known, _)| known == name).map(|(_, figure)| figure)
    }
}

impl PartialEq for Example {
    fn eq(&self, other: &Example) -> bool {
        self.name == other.name
    }
}

impl Debug for Example {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Example({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_figures_are_unique_and_finite() {
        for (at, example) in EXAMPLES.iter().enumerate() {
            assert_eq!(find(example.name), Some(example));
            assert!(EXAMPLES[..at].iter().all(|other| other.name != example.name));
            let figures = example.figures();
            for (at, (name, figure)) in figures.iter().enumerate() {
                assert!(figure.is_finite(), "{name}");
                assert!(figures[..at].iter().all(|(other, _)| other != name));
                assert_eq!(example.figure(name), Some(*figure));
            }
            assert_eq!(example.figure("nothing"), None);
        }
        assert_eq!(find("5g"), None);
    }
}
