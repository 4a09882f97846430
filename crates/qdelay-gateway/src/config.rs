//! Configuration of a gateway, read from a file.

use super::document::{BYTES_MAX, Tables};
use super::keys::{self, File as Named, Listen, Mode, Owner};
use qdelay_config::{AnySetting, Fault, Setting};
use qdelay_core::component::Registry;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_emu::wait::WaitOptions;
use qdelay_path::stack::Plan;
use qdelay_study::files;
use qdelay_study::traces::Library;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::live::settings;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A configuration that was read. Each value is valid by itself; the existence of interfaces and users is not checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the file for errors.
    place: String,
    /// The settings.
    pub tables: Tables,
    /// The plan of the link.
    pub plan: Plan,
    /// Additional components that the configuration may name.
    pub registry: Registry,
}

/// Settings of the control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSocket {
    /// Path of the socket.
    pub path: PathBuf,
    /// Permissions of the socket.
    pub mode: u32,
    /// Group of the socket: a name or a number.
    pub group: Option<String>,
}

impl Config {
    /// Reads the file `path`, and the traces that it names, which are also searched for in its folder. The configuration may name
    /// components of `registry`.
    ///
    /// # Errors
    /// One line with file, line, key, what was wrong and what was expected.
    pub fn read(path: &Path, registry: &Registry) -> Result<Config, Failure> {
        let place = path.display().to_string();
        let text = read_file(path)?;
        // Each reload has a new library, so that a changed trace is read again.
        let library = Library::for_scenario(Some(path), &[]).regular_files();
        Config::parse(&place, &text, &library, registry)
    }

    /// Parses `text` of the file `place`; traces are searched for in `library`.
    ///
    /// # Errors
    /// The errors of [`Config::read`].
    pub fn parse(place: &str, text: &str, library: &Library, registry: &Registry) -> Result<Config, Failure> {
        let parsed = || {
            let tables = Tables::read(text)?;
            check(&tables)?;
            let plan = Plan {
                down: tables.down.keys().direction(library, registry)?,
                up: tables.up.keys().direction(library, registry)?,
                seed: tables.gateway.seed.get(),
            };
            Ok((tables, plan))
        };
        let (tables, plan) = parsed().map_err(|fault: Fault| failure(place, &fault))?;
        Ok(Config { place: place.to_string(), tables, plan, registry: registry.clone() })
    }

    /// Reads the file `path` with the same registry as this configuration.
    ///
    /// # Errors
    /// The errors of [`Config::read`].
    pub fn read_again(&self, path: &Path) -> Result<Config, Failure> {
        Config::read(path, &self.registry)
    }

    /// Checks that a gateway with this configuration can change to `new` without a restart.
    ///
    /// # Errors
    /// The first key that differs and needs a restart.
    pub fn check_reload(&self, new: &Config) -> Result<(), Failure> {
        for (before, setting) in self.tables.each().zip(new.tables.each()) {
            if setting.key().is_fixed && before.text() != setting.text() {
                let shown = |text: &str| match text {
                    "" => "not set".to_string(),
                    text => format!("'{text}'"),
                };
                let message = format!(
                    "changed from {} to {}, which needs a restart; expected the same value",
                    shown(before.text()),
                    shown(setting.text())
                );
                return Err(new.failure(setting, message));
            }
        }
        Ok(())
    }

    /// An error in the value of a key that was detected when the value was used.
    pub fn failure(&self, setting: &dyn AnySetting, message: impl std::fmt::Display) -> Failure {
        failure(&self.place, &Fault::new(setting.line(), setting.key().path, message))
    }

    /// Names of the interfaces, inside and outside.
    pub fn interfaces(&self) -> [&str; 2] {
        [self.tables.gateway.inside.text(), self.tables.gateway.outside.text()]
    }
    /// Maximum size of an IP packet in bytes.
    pub fn mtu(&self) -> u16 {
        self.tables.gateway.mtu.get()
    }
    /// Options for waiting.
    pub fn wait(&self) -> WaitOptions {
        let gateway = &self.tables.gateway;
        WaitOptions { realtime: gateway.realtime.get(), spin: gateway.spin.get() }
    }
    /// The user to run as.
    pub fn user(&self) -> Option<&str> {
        owner(&self.tables.gateway.user)
    }
    /// The address of the metrics server.
    pub fn listen(&self) -> Option<SocketAddr> {
        self.tables.metrics.listen.value().as_ref().map(|Listen(address)| *address)
    }
    /// The control socket.
    pub fn control(&self) -> Option<ControlSocket> {
        let keys::Control { socket, mode, group } = &self.tables.control;
        let Mode(mode) = *mode.value();
        Some(ControlSocket { path: file(socket)?.into(), mode, group: owner(group).map(str::to_string) })
    }
    /// The settings of the link, for snapshots.
    pub fn settings(&self) -> LinkSettings {
        let Tables { down, up, .. } = &self.tables;
        LinkSettings {
            down: settings::of_direction(down.keys(), &self.plan.down),
            up: settings::of_direction(up.keys(), &self.plan.up),
            preset: None,
        }
    }
    /// Summary of the configuration in one line.
    pub fn summary(&self) -> String {
        let [inside, outside] = self.interfaces();
        let [down, up] = self.written().map(|written| written.join(" "));
        one_line(&format!("{outside} -> {inside}: {down}; {inside} -> {outside}: {up}"))
    }
    /// Link and discipline of each direction as the user wrote them: down and up.
    pub fn written(&self) -> [[&str; 2]; 2] {
        let Tables { down, up, .. } = &self.tables;
        [[down.link.text(), down.qdisc.text()], [up.link.text(), up.qdisc.text()]]
    }
}

/// The path that a key has as its value.
pub fn file(setting: &Setting<Option<Named>>) -> Option<&Path> {
    setting.is_set().then(|| Path::new(setting.text()))
}

fn owner(setting: &Setting<Option<Owner>>) -> Option<&str> {
    setting.is_set().then(|| setting.text())
}

fn read_file(path: &Path) -> Result<String, Failure> {
    let fail = |message: String| Failure::input(path.display(), message);
    let unreadable = |error: std::io::Error| {
        fail(format!("cannot be read: {error}; expected a configuration that this user may read"))
    };
    let file = files::open_named(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(fail(format!("too long; expected at most {BYTES_MAX} bytes")));
    }
    Ok(text)
}

fn failure(place: &str, fault: &Fault) -> Failure {
    // An error is one line, and values of users may contain line breaks.
    let message = one_line(&fault.message);
    match fault.line {
        0 => Failure::input(place, message),
        line => Failure::input(place, format!("line {line}: {message}")),
    }
}

/// Checks conditions between keys.
fn check(tables: &Tables) -> Result<(), Fault> {
    let keys::Gateway { inside, outside, .. } = &tables.gateway;
    if inside.text() == outside.text() {
        let message =
            format!("'{}' is the value of gateway.inside, too; expected another interface", outside.text());
        return Err(outside.fault(message));
    }
    let socket = &tables.control.socket;
    // Limit of `sun_path` (unix(7)), with the zero byte at its end.
    if socket.text().len() > 107 {
        return Err(socket.fault(format!("'{}': expected at most 107 bytes", socket.text())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Span;
    use qdelay_path::LossModel;

    const GATEWAY: &str = "[gateway]\ninside = \"in0\"\noutside = \"out0\"\n";

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse("g.toml", text, &Library::new(), &Registry::new()).map_err(|failure| match failure {
            Failure::Input { place, message } => format!("{place}: {message}"),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn required_keys_are_sufficient() {
        let config = parse(GATEWAY).unwrap();
        assert_eq!(config.interfaces(), ["in0", "out0"]);
        assert_eq!((config.mtu(), config.tables.gateway.hold.get(), config.plan.seed), (1500, 100_000, 1));
        assert_eq!((config.wait(), config.user(), config.listen()), (WaitOptions::default(), None, None));
        assert_eq!((config.control(), file(&config.tables.log.pcap)), (None, None));
        assert_eq!(config.written()[0], ["infinite", "taildrop"]);
    }

    #[test]
    fn every_key_is_read() {
        let text = "[gateway]\ninside = 'a'\noutside = 'b'\nmtu = 9000\nhold = 0x10\nseed = 7\nrealtime = true\nspin = '20us'\n\
            user = 'nobody'\n[down]\nlink = '10mbit'\nqdisc = 'bode:target=20ms'\ndelay = '5ms'\njitter = '1ms'\nloss = 0.01\n\
            [up]\nlink = 'synth-lte-driving.up'\nrepeat = false\nloss = 1\n[metrics]\nlisten = '[::1]:9469'\n\
            [control]\nsocket = '/run/q/s'\nmode = '0660'\ngroup = 'adm'\n[log]\npcap = 'a.pcapng'\n";
        let config = parse(text).unwrap();
        assert_eq!((config.mtu(), config.tables.gateway.hold.get(), config.plan.seed), (9000, 16, 7));
        assert_eq!(config.wait(), WaitOptions { realtime: true, spin: Some(Span::from_micros(20)) });
        assert_eq!(
            (config.plan.down.delay, config.plan.down.jitter.clone()),
            (Span::from_millis(5), Span::from_millis(1).into())
        );
        assert_eq!(
            (&config.plan.down.impairment.loss, config.plan.up.impairment.loss.least()),
            (&LossModel::Random(0.01), 1.0)
        );
        assert_eq!((config.user(), config.listen()), (Some("nobody"), Some("[::1]:9469".parse().unwrap())));
        let control = ControlSocket { path: "/run/q/s".into(), mode: 0o660, group: Some("adm".to_string()) };
        assert_eq!(
            (config.control(), file(&config.tables.log.pcap)),
            (Some(control), Some(Path::new("a.pcapng")))
        );
    }

    #[test]
    fn every_error_has_file_line_key_and_expectation() {
        let table = [
            ("[gateway", "line 1: not TOML"),
            ("", "gateway.inside: missing; expected the name"),
            ("[gateway]\noutside = 'b'", "line 1: gateway.inside: missing; expected"),
            ("[gateway]\ninside = 'a'", "line 1: gateway.outside: missing; expected"),
            (
                "[gateway]\ninside = 'a'\noutside = 'a'",
                "line 3: gateway.outside: 'a' is the value of gateway.inside, too; expected",
            ),
            ("[gateway]\ninside = 3", "line 2: gateway.inside: found the integer 3; expected the name"),
            ("[gateway]\ninside = 'a/b'", "line 2: gateway.inside: 'a/b': expected the name"),
            (
                "[gateway]\ninside = 'sixteen-letters-'",
                "line 2: gateway.inside: 'sixteen-letters-': expected",
            ),
            ("[gateway]\ninside = ''", "line 2: gateway.inside: found the string ''; expected"),
            ("[gateway]\ninside = \"a\\nb\"", "line 2: gateway.inside: found the string 'a\\nb'; expected"),
            ("gateway = 1", "line 1: gateway: found the integer 1; expected [gateway]"),
            ("[gatway]", "line 1: gatway: unknown table; expected one of [gateway], [down], [up]"),
            ("[[gateway]]", "line 1: gateway: found an array; expected [gateway]"),
            ("[gateway]\nmut = 1", "line 2: gateway.mut: unknown key; expected one of inside, outside, mtu"),
            ("[gateway]\nmtu = 9001", "line 2: gateway.mtu: '9001': out of range; expected 576 to 9000"),
            ("[gateway]\nmtu = 'big'", "line 2: gateway.mtu: 'big': "),
            ("[gateway]\nmtu = 1.5", "line 2: gateway.mtu: found the float 1.5; expected a size"),
            ("[gateway]\nhold = 0", "line 2: gateway.hold: '0': out of range; expected 1 to 10000000"),
            ("[gateway]\nseed = -1", "line 2: gateway.seed: '-1': expected a whole number"),
            ("[gateway]\nrealtime = 'yes'", "line 2: gateway.realtime: 'yes': expected true or false"),
            ("[gateway]\nspin = '1s'", "line 2: gateway.spin: '1s': out of range; expected 0s to 10ms"),
            ("[gateway]\nspin = 1", "line 2: gateway.spin: found the integer 1; expected a duration"),
            ("[gateway]\nuser = 'a b'", "line 2: gateway.user: 'a b': expected a name or a number"),
            ("[down]\nlink = '10mbyte'", "gateway.inside: missing"),
            ("[metrics]\nlisten = '9469'", "line 2: metrics.listen: '9469': expected an address and a port"),
            ("[metrics]\nlisten = '127.0.0.1:0'", "line 2: metrics.listen: '127.0.0.1:0': expected"),
            ("[control]\nsocket = 'a/'", "line 2: control.socket: 'a/': expected the name of a file"),
            ("[control]\nmode = '0400'", "line 2: control.mode: '0400': expected octal digits"),
            ("[control]\nmode = 600", "line 2: control.mode: found the integer 600; expected octal digits"),
            ("[log]\npcap = true", "line 2: log.pcap: found the boolean true; expected the name of a file"),
            ("[log]\npcap = 1979-05-27", "line 2: log.pcap: found the date or time 1979-05-27; expected"),
        ];
        for (text, expected) in table {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&format!("g.toml: {expected}")), "{text}: {error}");
        }
        let table = [
            ("[down]\nlink = '10mbyte'", "line 5: down.link: '10mbyte'"),
            ("[down]\nlink = 'no-such-trace'", "line 5: down.link: "),
            ("[up]\nqdisc = 'codell'", "line 5: up.qdisc: 'codell': unknown qdisc"),
            ("[up]\nqdisc = 'codel:target=0'", "line 5: up.qdisc: 'codel:target=0'"),
            ("[up]\nloss = 1.1", "line 5: up.loss: '1.1': out of range; expected 0 to 1"),
            (
                "[up]\nonce = true",
                "line 5: up.once: was renamed to 'repeat' and inverted; expected repeat = false",
            ),
            ("[up]\nloss = nan", "line 5: up.loss: 'nan': expected a number"),
            ("[up]\ndelay = '2min'", "line 5: up.delay: '2min': "),
            ("[metrics]", "line 4: metrics.listen: missing; expected"),
            ("[control]", "line 4: control.socket: missing; expected"),
        ];
        for (text, expected) in table {
            let error = parse(&format!("{GATEWAY}{text}")).unwrap_err();
            assert!(error.starts_with(&format!("g.toml: {expected}")), "{text}: {error}");
            assert!(error.contains("expected") || error.contains("known"), "{text}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
        let long = format!("{GATEWAY}[control]\nsocket = '/{}'", "x".repeat(107));
        assert!(parse(&long).unwrap_err().ends_with("expected at most 107 bytes"));
    }

    #[test]
    fn reload_refuses_keys_that_need_a_restart() {
        let running = parse(&format!("{GATEWAY}[down]\nlink = '1mbit'\n")).unwrap();
        let changed = parse(&format!("{GATEWAY}seed = 9\n[up]\ndelay = '1ms'\nqdisc = 'pie'\n")).unwrap();
        running.check_reload(&changed).unwrap();
        for (line, key) in
            [("mtu = 1400", "mtu"), ("realtime = true", "realtime"), ("user = 'nobody'", "user")]
        {
            let changed = parse(&format!("{GATEWAY}{line}\n")).unwrap();
            let Err(Failure::Input { place, message }) = running.check_reload(&changed) else {
                panic!("{key}")
            };
            assert_eq!(place, "g.toml");
            assert!(message.starts_with(&format!("line 4: gateway.{key}: changed from ")), "{message}");
            assert!(message.ends_with("which needs a restart; expected the same value"), "{message}");
        }
        let with = parse(&format!("{GATEWAY}[metrics]\nlisten = '127.0.0.1:1'")).unwrap();
        let Err(Failure::Input { message, .. }) = with.check_reload(&running) else { panic!() };
        assert_eq!(
            message,
            "metrics.listen: changed from '127.0.0.1:1' to not set, which needs a restart; expected the same value"
        );
    }

    #[test]
    fn the_example_is_valid() {
        let text = include_str!("../gateway.toml");
        parse(text).unwrap();
        // All keys are checked, those behind a '#', too.
        let all: String = text
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if rest.starts_with('[') || rest.split(' ').nth(1) == Some("=") => {
                    format!("{rest}\n")
                }
                _ => format!("{line}\n"),
            })
            .collect();
        let config = parse(&all).unwrap();
        assert!(
            config.listen().is_some()
                && config.control().is_some()
                && file(&config.tables.log.packets).is_some()
        );
    }
}
