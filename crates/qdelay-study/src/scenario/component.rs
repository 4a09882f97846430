//! Reads components: text as on the command line, or a table whose only key is the component's name.

use crate::links;
use qdelay_config::value::{plain, wrong_type};
use qdelay_config::{Content, Entry, Fault, Node, fault};
use qdelay_core::component::{Arguments, Component, split_outside_brackets, unknown};
use qdelay_path::AnyLink;
use qdelay_trace::synth;

/// Reads `node` as a component: one of `built_in`, all of one kind, or one of the same kind from outside.
///
/// # Errors
/// The component or a key is unknown, or a value is invalid; the fault has the line of the mistake.
pub(crate) fn read(built_in: &[&'static Component], path: &str, node: &Node) -> Result<Arguments, Fault> {
    // The text before the parameters names a component, or a file that contains one.
    let name = match (node.text(), node.table()) {
        (Some(text), _) => text,
        (None, Some([entry])) => entry.key.as_str(),
        _ => "",
    };
    let registry = node
        .registry
        .with_file(built_in, name)
        .map_err(|message| Fault::new(node.line, path, format!("'{name}': {message}")))?;
    let arguments = read_one_of(&registry.beside(built_in), path, node)?;
    Ok(arguments.within(&registry))
}

fn read_one_of(registry: &[&'static Component], path: &str, node: &Node) -> Result<Arguments, Fault> {
    let kind = registry.first().map_or("component", |component| component.kind.name());
    if let Some(text) = node.text() {
        return parse(registry, text)
            .map_err(|message| Fault::new(node.line, path, format!("'{text}': {message}")));
    }
    if node.list().is_some() {
        let message =
            format!("found an array; expected one {kind} here, and several as an axis under [matrix]");
        return Err(Fault::new(node.line, path, message));
    }
    let example = registry.first().map_or("name", |component| component.name);
    let expected =
        || format!("a {kind}, as a string such as \"{example}\" or a table such as {{ {example} = {{}} }}");
    let Some(entries) = node.table() else { return Err(wrong_type(path, node, &expected())) };
    let [entry] = entries else {
        let message = format!("found a table of {} keys; expected one, the name of a {kind}", entries.len());
        return Err(Fault::new(node.line, path, message));
    };
    let Some(component) = registry.iter().find(|component| component.name == entry.key) else {
        return Err(Fault::new(entry.line, path, unknown(registry, &entry.key)));
    };
    from_table(component, &format!("{path}.{}", entry.key), entry)
}

fn parse(registry: &[&'static Component], text: &str) -> Result<Arguments, String> {
    let name = text.split(':').next().unwrap_or("");
    if registry.iter().all(|component| component.name != name) && !name.contains(['[', ']']) {
        // A comma separates nothing in a file, so the error has no hint about commas.
        return Err(unknown(registry, name));
    }
    Arguments::parse(registry, text).map_err(|error| error.message)
}

/// Reads a table such as `{ target = "20ms", limit = 500 }` as arguments of `component`.
fn from_table(component: &'static Component, path: &str, entry: &Entry) -> Result<Arguments, Fault> {
    let expected = format!("a table of {}'s parameters, such as {{}}", component.name);
    let parameters = entry.value.table().ok_or_else(|| wrong_type(path, &entry.value, &expected))?;
    let mut parts = Vec::new();
    for inner in parameters {
        let path = format!("{path}.{}", inner.key);
        let Some(parameter) = component.parameters.iter().find(|parameter| parameter.name == inner.key)
        else {
            let known: Vec<&str> = component.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(fault::unknown(inner.line, path, &inner.key, &known));
        };
        let (text, _) = plain(parameter, &path, &inner.value)?;
        // The text form of a component cannot express such a value.
        if split_outside_brackets(&text, ':').map_or(true, |parts| parts.len() > 1) {
            let message = format!("'{text}': expected ':' only within square brackets, and those in pairs");
            return Err(Fault::new(inner.value.line, path, message));
        }
        parts.push(format!("{}={text}", parameter.name));
    }
    let typed: Vec<&str> = std::iter::once(component.name).chain(parts.iter().map(String::as_str)).collect();
    Arguments::from_parts(component, &typed.join(":"), parts.iter().map(String::as_str))
        .map_err(|message| Fault::new(entry.line, path, message))
}

/// Reads `node` as a link and returns its text. A synthetic trace is not generated yet, because that is slow.
///
/// # Errors
/// Errors of [`read`], and parameters that the link refuses.
pub(crate) fn read_link(path: &str, node: &Node) -> Result<String, Fault> {
    if let Content::Whole(number) | Content::Float(number) = &node.content {
        let expected =
            format!("a link in quotes: a rate with its unit, such as \"{number}mbit\", or another link");
        return Err(wrong_type(path, node, &expected));
    }
    if let Some(text) = node.text()
        && !qdelay_path::is_rate(text)
        && qdelay_path::is_rate(&text.replace(' ', ""))
    {
        let message = format!("'{text}': a space in a rate; expected \"{}\"", text.replace(' ', ""));
        return Err(Fault::new(node.line, path, message));
    }
    let arguments = match node.text() {
        // A plain rate needs no name of a link.
        Some(text) if qdelay_path::is_rate(text) => qdelay_path::parse_link(text)
            .map_err(|error| Fault::new(node.line, path, format!("'{text}': {}", error.message)))?,
        _ => read(&links::components(), path, node)?,
    };
    if arguments.component().name != synth::COMPONENT.name {
        AnyLink::build(&arguments).map_err(|error| Fault::new(node.line, path, error))?;
    }
    Ok(arguments.typed().to_string())
}

/// Builds the link of a text that [`read_link`] accepted.
///
/// # Errors
/// The arguments of a synthetic trace are invalid.
pub(crate) fn build_link(text: &str) -> Result<AnyLink, String> {
    links::parse(text).map_err(|error| error.to_string())
}
