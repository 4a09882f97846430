//! A gateway's configuration as written: its tables, each key with its line.

use super::keys::{Control, Gateway, Log, Metrics, TABLES, require};
use qdelay_config::value::wrong_type;
use qdelay_config::{AnySetting, Entry, Fault, Settings, document};
use qdelay_study::link_keys::{Down, Up};

/// Maximum size of the file, in bytes.
pub const BYTES_MAX: u64 = 1_000_000;

/// The tables of a configuration.
#[derive(Clone, Debug)]
pub struct Tables {
    /// `[gateway]`: the two interfaces, and options of forwarding.
    pub gateway: Gateway,
    /// `[down]`: the direction from outside to inside.
    pub down: Down,
    /// `[up]`: the direction from inside to outside.
    pub up: Up,
    /// `[metrics]`: metrics for Prometheus.
    pub metrics: Metrics,
    /// `[control]`: the control socket.
    pub control: Control,
    /// `[log]`: records of packets.
    pub log: Log,
}

impl Tables {
    /// Reads a file.
    ///
    /// # Errors
    /// The first error of the file: not TOML, an unknown table or key, a value that its key does not accept, or a missing
    /// key that is required.
    pub fn read(text: &str) -> Result<Tables, Fault> {
        let entries = document::parse(text)?;
        let mut tables = Tables {
            gateway: Gateway::defaults(),
            down: Down::defaults(),
            up: Up::defaults(),
            metrics: Metrics::defaults(),
            control: Control::defaults(),
            log: Log::defaults(),
        };
        for entry in &entries {
            match entry.key.as_str() {
                "gateway" => tables.gateway = Gateway::read(table(entry)?)?,
                "down" => tables.down = Down::read(table(entry)?)?,
                "up" => tables.up = Up::read(table(entry)?)?,
                "metrics" => tables.metrics = Metrics::read(table(entry)?)?,
                "control" => tables.control = Control::read(table(entry)?)?,
                "log" => tables.log = Log::read(table(entry)?)?,
                other => {
                    let known: Vec<String> = TABLES.iter().map(|table| format!("[{}]", table.name)).collect();
                    let message = format!("unknown table; expected one of {}", known.join(", "));
                    return Err(Fault::new(entry.line, other, message));
                }
            }
        }
        let header = |name: &str| entries.iter().find(|entry| entry.key == name).map(|entry| entry.line);
        require(&tables.gateway.inside, header("gateway"))?;
        require(&tables.gateway.outside, header("gateway"))?;
        // Required keys of these tables are required only if the table is present.
        if let Some(line) = header("metrics") {
            require(&tables.metrics.listen, Some(line))?;
        }
        if let Some(line) = header("control") {
            require(&tables.control.socket, Some(line))?;
        }
        Ok(tables)
    }

    /// All settings, in the order of the tables.
    pub fn each(&self) -> impl Iterator<Item = &dyn AnySetting> {
        let Tables { gateway, down, up, metrics, control, log } = self;
        let all = [gateway.each(), down.each(), up.each(), metrics.each(), control.each(), log.each()];
        all.into_iter().flatten()
    }
}

fn table(entry: &Entry) -> Result<&[Entry], Fault> {
    let expected = format!("[{}]", entry.key);
    entry.value.table().ok_or_else(|| wrong_type(&entry.key, &entry.value, &expected))
}
