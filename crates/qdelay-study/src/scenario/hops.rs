//! Reads `[path]` and its hops, links in series in front of the bottleneck.

use super::declare::{HOPS_MAX, Hop, Path, Settings};
use super::named::{Named, Names, entries, split, tables};
use qdelay_config::{Entry, Fault};

/// Reads `[path]`.
///
/// # Errors
/// The first mistake: an unknown key, an invalid value, a name given twice, too many hops.
pub(crate) fn read(path: &[Entry]) -> Result<(Path, Vec<Named<Hop>>), Fault> {
    let (path, [entry]) = split::<Path, 1>(path, ["hop"])?;
    let Some(entry) = entry else { return Ok((path, Vec::new())) };
    let list = tables::<Hop>(entry)?;
    if let Some(beyond) = list.get(HOPS_MAX) {
        let message = format!("{} hops are too many; expected at most {HOPS_MAX}", list.len());
        return Err(Fault::new(beyond.line, Hop::TABLE.name, message));
    }
    let mut names = Names::new();
    let hops = list.iter().zip(1..).map(|(node, number)| {
        names.assign(Hop::read(entries::<Hop>(node)?)?, node.line, &format!("hop-{number}"))
    });
    Ok((path, hops.collect::<Result<_, Fault>>()?))
}
