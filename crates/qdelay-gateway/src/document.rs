//! TOML text to the values of declared keys, each with its line.

use super::keys::{Form, Key, TABLES, Table};
use qdelay_config::lines;
use qdelay_core::component::{Unit, Value};
use std::fmt::Display;
use std::net::SocketAddr;
use toml::Spanned;
use toml::de::DeValue;

/// Largest file that is read, in bytes.
pub const BYTES_MAX: u64 = 1_000_000;

/// Something wrong with a configuration. Line 0: with the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: u32,
    /// Key, what was wrong and what was expected.
    pub message: String,
}

impl Fault {
    /// In `line`, about `key`.
    pub fn new(line: u32, key: impl Display, message: impl Display) -> Fault {
        Fault { line, message: format!("{key}: {message}") }
    }
}

/// A key that is given, or has a default.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The table it belongs to.
    pub table: &'static Table,
    /// Its declaration.
    pub key: &'static Key,
    /// Where it stands; 0 for a default.
    pub line: u32,
    /// As on the command line; empty where it is neither given nor has a default.
    pub text: String,
}

impl Setting {
    /// As errors call it: `down.qdisc`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.table.name, self.key.parameter.name)
    }
    /// Something wrong with it.
    pub fn fault(&self, message: impl Display) -> Fault {
        Fault::new(self.line, self.path(), message)
    }
    /// Whether it has a value.
    pub fn is_set(&self) -> bool {
        !self.text.is_empty()
    }
    /// What its text means. Everything has been read once already.
    pub fn value(&self) -> Value {
        self.key.parameter.read(&self.text).unwrap_or(Value::Unset)
    }
}

/// The settings of every table, in the order they are declared.
///
/// # Errors
/// The first thing in the file that is wrong: no TOML, a table or a key that is not declared, a value that its key does not
/// accept; or a key that is required and missing.
pub fn read(text: &str) -> Result<Vec<Setting>, Fault> {
    let (lines, document) = lines::parse(text).map_err(|(line, message)| Fault { line, message })?;
    let mut settings = Vec::new();
    let mut headers = Vec::new();
    let known: Vec<String> = TABLES.iter().map(|table| format!("[{}]", table.name)).collect();
    for (name, at, value) in lines::entries(document.get_ref()) {
        let line = lines.of(at);
        let Some(table) = TABLES.into_iter().find(|table| table.name == name) else {
            return Err(Fault::new(line, name, format!("unknown; expected one of {}", known.join(", "))));
        };
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(Fault::new(line, name, format!("found {}; expected [{name}]", describe(value))));
        };
        headers.push((table.name, line));
        for (name, at, value) in lines::entries(entries) {
            settings.push(setting(table, name, lines.of(at), value)?);
        }
    }
    for table in TABLES {
        let header = headers.iter().find(|(name, _)| *name == table.name).map(|(_, line)| *line);
        complete(table, header, &mut settings)?;
    }
    Ok(settings)
}

fn setting(
    table: &'static Table,
    name: &str,
    line: u32,
    value: &Spanned<DeValue<'_>>,
) -> Result<Setting, Fault> {
    let path = format!("{}.{name}", table.name);
    let Some(key) = table.key(name) else {
        let known: Vec<&str> = table.keys.iter().map(|key| key.parameter.name).collect();
        return Err(Fault::new(line, path, format!("unknown key; expected one of {}", known.join(", "))));
    };
    let wanted = wanted(key);
    let text = scalar(key, value)
        .ok_or_else(|| Fault::new(line, &path, format!("found {}; expected {wanted}", describe(value))))?;
    let setting = Setting { table, key, line, text };
    if setting.text.is_empty() || setting.text.chars().any(char::is_control) {
        return Err(setting.fault(format!("found {}; expected {wanted}", describe(value))));
    }
    let accepted = match key.form {
        Form::Plain => key.parameter.read(&setting.text).map(drop),
        form => has_form(form, &setting.text).then_some(()).ok_or(format!("expected {wanted}")),
    };
    accepted.map_err(|message| {
        let message = match key.parameter.unit {
            Unit::Switch => "expected true or false".to_string(),
            _ => message,
        };
        setting.fault(format!("'{}': {message}", setting.text))
    })?;
    Ok(setting)
}

/// Whether `text` can be what `form` says. Links and disciplines are built later, by whoever has the traces.
fn has_form(form: Form, text: &str) -> bool {
    match form {
        Form::Plain | Form::Link | Form::Qdisc => true,
        // As the kernel does (`dev_valid_name`).
        Form::Interface => text.len() < 16 && !matches!(text, "." | "..") && !text.contains(['/', ':', ' ']),
        Form::Listen => text.parse::<SocketAddr>().is_ok_and(|address| address.port() != 0),
        Form::File => !text.ends_with('/'),
        Form::Mode => matches!(mode(text), Some(mode) if mode & 0o600 == 0o600),
        Form::Owner => !text.contains([':', ' ']),
    }
}

/// Permissions of a file.
pub fn mode(text: &str) -> Option<u32> {
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777)
}

/// What a value of `key` looks like.
fn wanted(key: &Key) -> String {
    match key.form {
        Form::Plain => match key.parameter.unit {
            Unit::Span => "a duration in quotes, such as \"20ms\"".to_string(),
            Unit::Bytes => "a size, such as 1500".to_string(),
            Unit::Count("seeds") => "a whole number".to_string(),
            Unit::Count(what) => format!("a whole number of {what}"),
            Unit::Number => "a number".to_string(),
            Unit::Switch => "true or false".to_string(),
            _ => "a string in quotes".to_string(),
        },
        Form::Interface => "the name of a network interface in quotes, at most 15 bytes".to_string(),
        Form::Link => "a rate, a link or a trace in quotes, such as \"10mbit\"".to_string(),
        Form::Qdisc => "a queue discipline in quotes, such as \"codel\"".to_string(),
        Form::Listen => "an address and a port in quotes, such as \"127.0.0.1:9469\"".to_string(),
        Form::File => "the name of a file in quotes".to_string(),
        Form::Mode => {
            "octal digits in quotes with reading and writing for the owner, such as \"0660\"".to_string()
        }
        Form::Owner => "a name or a number in quotes".to_string(),
    }
}

/// `value` as the command line would have it; `None` where its type is of no use for `key`.
fn scalar(key: &Key, value: &Spanned<DeValue<'_>>) -> Option<String> {
    match (value.get_ref(), key.form, key.parameter.unit) {
        (DeValue::String(text), _, _) => Some(text.to_string()),
        (DeValue::Integer(whole), Form::Plain, Unit::Bytes | Unit::Count(_) | Unit::Number) => {
            let digits = i128::from_str_radix(whole.as_str(), whole.radix());
            Some(digits.map_or_else(|_| whole.to_string(), |number| number.to_string()))
        }
        (DeValue::Float(float), Form::Plain, Unit::Number) => Some(float.as_str().to_string()),
        (DeValue::Boolean(on), Form::Plain, Unit::Switch) => Some(if *on { "on" } else { "off" }.to_string()),
        _ => None,
    }
}

/// As it is printed in an error.
fn describe(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("the string '{}'", text.escape_debug()),
        DeValue::Integer(whole) => format!("the integer {whole}"),
        DeValue::Float(float) => format!("the float {}", float.as_str()),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(_) => "a date or time".to_string(),
        DeValue::Array(_) => "a list".to_string(),
        DeValue::Table(_) => "a table".to_string(),
    }
}

/// Adds what is not given of `table`. A table that is not there at all asks for nothing, but for `[gateway]`.
fn complete(table: &'static Table, header: Option<u32>, settings: &mut Vec<Setting>) -> Result<(), Fault> {
    for key in table.keys {
        let name = key.parameter.name;
        if settings.iter().any(|given| given.table.name == table.name && given.key.parameter.name == name) {
            continue;
        }
        if key.is_required && (header.is_some() || table.name == "gateway") {
            let path = format!("{}.{name}", table.name);
            return Err(Fault::new(header.unwrap_or(0), path, format!("missing; expected {}", wanted(key))));
        }
        settings.push(Setting { table, key, line: 0, text: key.parameter.default.to_string() });
    }
    Ok(())
}
