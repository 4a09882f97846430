//! Changes to a running link through its control socket.

use crate::cli::{Cut, Reset, Set};
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::live::control::client::Client;
use qdelay_terminal::output;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Sets keys.
///
/// # Errors
/// A word that is no key with a value, no process serves the socket, or the process refuses the change.
pub fn set(options: &Set) -> Result<(), Failure> {
    let mut values = Map::new();
    for word in &options.words {
        let Some((key, value)) = word.split_once('=') else {
            let message = "expected KEY=VALUE, such as down=2mbit; 'qdelay set --help' lists the keys";
            return Err(Failure::input(one_line(word), message));
        };
        if values.insert(key.to_string(), Value::from(value)).is_some() {
            return Err(Failure::input(one_line(key), "given twice; expected once"));
        }
    }
    ask(&options.socket, &json!({ "command": "set", "values": values }))
}

/// Cuts, pauses or restores, by `command`.
///
/// # Errors
/// No process serves the socket, or the process refuses the change.
pub fn cut(command: &str, options: &Cut) -> Result<(), Failure> {
    ask(&options.socket, &json!({ "command": command, "direction": options.direction.name() }))
}

/// Resets TCP connections.
///
/// # Errors
/// No process serves the socket.
pub fn reset(options: &Reset) -> Result<(), Failure> {
    ask(&options.socket, &json!({ "command": "reset", "port": options.port }))
}

/// Sends a request, and prints the answer.
fn ask(socket: &Path, request: &Value) -> Result<(), Failure> {
    let answer = Client::connect(socket)?.request(request)?;
    let message = answer.get("message").and_then(Value::as_str).unwrap_or("done");
    let count = answer.get("connections").and_then(Value::as_u64);
    let connections = count.map_or(String::new(), |count| format!(", {count} connections"));
    output::print(&format!("{}{connections}\n", one_line(message)))
}
