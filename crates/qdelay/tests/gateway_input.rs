//! Configurations of the gateway that cannot be used, and checks of one without starting.

use crate::common::{file, folder, refused, run, succeed};
use crate::gateway_support::network;
use std::fs;

/// Configuration of both directions without a limit.
const OPEN: &str = "";

/// Any user can check a configuration, because nothing is opened.
#[test]
fn checking_touches_nothing() {
    let folder = folder("gateway-check");
    let socket = folder.join("socket");
    let text = format!(
        "[gateway]\ninside = \"no-such-in\"\noutside = \"no-such-out\"\nuser = \"no-such-user\"\n[down]\nlink = \"slow\"\n\
         [metrics]\nlisten = \"192.0.2.1:9\"\n[control]\nsocket = \"{}\"\n[log]\npcap = \"{}\"\n",
        socket.display(),
        folder.join("capture").display()
    );
    // A trace beside the configuration.
    file(&folder, "slow", "1\n2\n50\n");
    let config = file(&folder, "gateway.toml", &text);
    let said = succeed(&["gateway", &config, "--check"]);
    assert_eq!(
        said,
        format!(
            "{config}: valid: no-such-out -> no-such-in: slow taildrop; no-such-in -> no-such-out: infinite taildrop\n"
        )
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn errors_name_file_line_and_key() {
    let folder = folder("gateway-errors");
    let missing = folder.join("none.toml").to_str().unwrap().to_string();
    refused(&["gateway", &missing, "--check"], &[&missing, "cannot be read", "expected"]);
    refused(&["gateway"], &["CONFIG"]);
    refused(&["gateway", &missing, "--reload", "socket"], &["--reload"]);
    refused(&["gateway", "--reload", &missing], &[&missing, "the socket does not exist; expected"]);
    let config =
        file(&folder, "a.toml", "[gateway]\ninside = \"no-such-in\"\noutside = \"b\"\n[up]\nqdisc = 7\n");
    let expected = "line 5: up.qdisc: found the integer 7; expected a queue discipline";
    refused(&["gateway", &config, "--check"], &[&config, expected]);
    refused(&["gateway", &config], &[&config, expected]);
    refused(&["gateway", folder.to_str().unwrap(), "--check"], &["cannot be read"]);
    let config = file(
        &folder,
        "b.toml",
        "[gateway]\ninside = \"no-such-in\"\noutside = \"b\"\nuser = \"no-such-user\"\n",
    );
    refused(&["gateway", &config], &["line 4: gateway.user: 'no-such-user': expected a user of /etc/passwd"]);
}

/// Errors of opening interfaces; the message names the configuration.
#[test]
fn interfaces_that_cannot_be_opened_are_named() {
    let network = network("opened");
    for (replaced, by, expected) in [
        (
            "\"in0\"",
            "\"none\"",
            "line 2: gateway.inside: there is no network interface called none; expected",
        ),
        (
            "\"out0\"",
            "\"lo\"",
            "line 3: gateway.outside: the network interface lo does not use Ethernet frames; expected",
        ),
        ("127.0.0.1", "192.0.2.1", "line 6: metrics.listen: cannot listen at 192.0.2.1:9469: "),
        ("/socket\"", "/none/socket\"", "line 8: control.socket: "),
    ] {
        let config = network.configure("", OPEN);
        let text = fs::read_to_string(&config).unwrap();
        assert!(text.contains(replaced));
        fs::write(&config, text.replacen(replaced, by, 1)).unwrap();
        let name = config.to_str().unwrap().to_string();
        network.gateway.run(move || refused_with_notes(&name, expected));
        assert!(!network.socket().exists());
    }
}

/// Same as [`refused`], with lines about offloads before the last one.
fn refused_with_notes(config: &str, expected: &str) {
    let output = run(&["gateway", config]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with(&format!("qdelay: {config}: {expected}")) && last.contains("expected"),
        "{said}"
    );
}
