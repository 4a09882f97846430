//! Jitter as users name it: a time, a distribution, or a table of quantiles from a file.

use super::netem;
use qdelay_core::Span;
use qdelay_core::component::{self, Arguments, Component, Kind, Typed};
use qdelay_path::{JITTER_KEYS, JITTERS, Jitter};
use std::io::Read;

const FILE: Typed<Option<&str>> =
    Typed::new("file", "", "file, searched for in the same places as traces; required");

static TABLE: Component = Component::new(
    Kind::Jitter,
    "table",
    "a distribution from a file: values in 1/8192 of the deviation, as in netem's tables (.dist)",
)
.source("netem's tables of delay distributions")
.with(&[FILE.parameter(), JITTER_KEYS[0], JITTER_KEYS[1], JITTER_KEYS[2], JITTER_KEYS[3]])
.positional("file");

/// Denominator of the values (`NETEM_DIST_SCALE`) and limits of a file: netem accepts as many entries.
const ENTRIES_MAX: usize = 65_536;
const BYTES_MAX: u64 = 2_000_000;

/// Every jitter.
pub fn components() -> Vec<&'static Component> {
    JITTERS.iter().copied().chain([&TABLE]).collect()
}

/// A jitter as written; a file is opened by a [`Library`](super::Library).
#[derive(Clone, Debug)]
pub struct JitterText {
    pub(super) arguments: Arguments,
}

/// A uniform jitter up to this time.
impl From<Span> for JitterText {
    fn from(most: Span) -> JitterText {
        // A time is a jitter.
        let arguments = Jitter::parse(&most.to_string()).unwrap_or_else(|_| Arguments::defaults(JITTERS[0]));
        JitterText { arguments }
    }
}

impl JitterText {
    /// Reads a jitter: a time such as `5ms`, or one of [`components`].
    ///
    /// # Errors
    /// Neither; what was expected.
    pub fn parse(text: &str) -> Result<JitterText, String> {
        let name = text.split(':').next().unwrap_or_default();
        let arguments = match components().iter().any(|component| component.name == name) {
            true => Arguments::parse(&components(), text).map_err(|error| error.message)?,
            false if text.starts_with(|first: char| first.is_ascii_digit() || ".-+".contains(first)) => {
                Jitter::parse(text).map_err(|error| netem::jitter_hint(text).unwrap_or(error.message))?
            }
            false => {
                let hint = netem::jitter_hint(text);
                let known = || format!("{}; or a time such as 5ms", component::unknown(&components(), name));
                return Err(hint.unwrap_or_else(known));
            }
        };
        JitterText::new(arguments)
    }

    /// The jitter that `arguments` describe.
    ///
    /// # Errors
    /// A value is missing.
    pub(crate) fn new(arguments: Arguments) -> Result<JitterText, String> {
        let table = file(&arguments)?.map(|_| Box::default());
        Jitter::build(&arguments, table).map_err(|error| error.message)?;
        Ok(JitterText { arguments })
    }

    /// The jitter as users write it.
    pub fn text(&self) -> &str {
        self.arguments.typed()
    }
    /// Arguments that describe it.
    pub(crate) fn arguments(&self) -> &Arguments {
        &self.arguments
    }
    /// The jitter, if it needs no file.
    pub fn without_file(&self) -> Option<Jitter> {
        Jitter::build(&self.arguments, None).ok()
    }
}

/// The file of a table; `None` for other jitters.
pub(super) fn file(arguments: &Arguments) -> Result<Option<&str>, String> {
    match arguments.component().name == TABLE.name {
        false => Ok(None),
        true => arguments
            .get(&FILE)
            .map(Some)
            .ok_or_else(|| "no file; expected one, such as table:normal.dist:deviation=5ms".to_string()),
    }
}

/// Reads the table of a file, in ascending order; returns the digest of the file too.
pub(super) fn read(arguments: &Arguments, input: &mut dyn Read) -> Result<(Jitter, u64), String> {
    let mut input = super::Digesting { input, digest: super::FNV_BASIS };
    let mut text = String::new();
    let size = Read::by_ref(&mut input).take(BYTES_MAX + 1).read_to_string(&mut text);
    let size = size.map_err(|error| format!("cannot be read: {error}; expected lines of numbers"))?;
    if size as u64 > BYTES_MAX {
        return Err(format!(
            "longer than {BYTES_MAX} bytes; expected a table of at most {ENTRIES_MAX} numbers"
        ));
    }
    let mut table = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        for word in content.split_whitespace() {
            let value = word.parse::<i16>();
            table.push(value.map_err(|_| {
                format!("line {line}: '{word}': expected a whole number from -32768 to 32767, in 1/8192 of the deviation")
            })?);
        }
    }
    if table.is_empty() || table.len() > ENTRIES_MAX {
        return Err(format!("has {} numbers; expected 1 to {ENTRIES_MAX}", table.len()));
    }
    table.sort_unstable();
    let jitter = Jitter::build(arguments, Some(table.into())).map_err(|error| error.message)?;
    Ok((jitter, input.digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_path::JitterShape;

    #[test]
    fn times_distributions_and_files_are_told_apart() {
        for text in ["5ms", "uniform:5ms", "normal:5ms:correlation=25%:reorder=on"] {
            let jitter = JitterText::parse(text).unwrap();
            assert_eq!(
                (jitter.text(), jitter.without_file().map(|jitter| jitter.size)),
                (text, Some(Span::from_millis(5)))
            );
        }
        let table = JitterText::parse("table:normal.dist:deviation=5ms").unwrap();
        assert_eq!((file(&table.arguments), table.without_file()), (Ok(Some("normal.dist")), None));
        let error = |text: &str| JitterText::parse(text).unwrap_err();
        assert!(
            error("gauss:5ms").contains("known: uniform, normal, pareto, paretonormal, table"),
            "{}",
            error("gauss:5ms")
        );
        assert!(error("table").contains("no file") && error("table:a").contains("no deviation"));
        assert!(error("5").contains("unit"), "{}", error("5"));
        assert!(
            error("10ms distribution normal").contains("normal:10ms"),
            "{}",
            error("10ms distribution normal")
        );
    }

    #[test]
    fn tables_are_read_with_comments_in_any_order() {
        let arguments = JitterText::parse("table:a:deviation=8ms").unwrap().arguments;
        let table = |text: &str| read(&arguments, &mut text.as_bytes()).map(|(jitter, _)| jitter.shape);
        assert_eq!(table("# a\n 3 -1\n2 # b\n"), Ok(JitterShape::Table([-1, 2, 3].into())));
        for (text, expected) in
            [("1\n2 x\n", "line 2: 'x'"), ("40000", "line 1: '40000'"), ("# only\n", "has 0 numbers")]
        {
            let error = table(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("expected"), "{error}");
        }
        assert!(table(&"1 ".repeat(70_000)).unwrap_err().contains("70000"));
    }
}
