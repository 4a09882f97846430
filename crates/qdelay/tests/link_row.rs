//! Links in a row, each with `iperf3 -R` behind it: every link begins, carries data and ends without an error, and leaves no trace on
//! the machine. Everyday tests run two links of a second each; `QDELAY_ROW_LINKS` sets another number:
//!
//! ```text
//! make row ROW_LINKS=100
//! ```

use crate::link_support::{Running, eventually, json, link, machine, name, network};
use qdelay_testing::{Need, pause, skip};
use std::process::{Command, Stdio};

/// Number of links.
const LINKS: &str = "QDELAY_ROW_LINKS";

#[test(Tools)]
fn links_in_a_row() {
    in_a_row(2);
}

/// `make row`.
#[test(Tools)]
#[ignore = "a second for each link; see the module"]
fn many_links_in_a_row() {
    let text = std::env::var(LINKS).unwrap_or_else(|_| "100".into());
    in_a_row(text.parse().unwrap_or_else(|_| panic!("{LINKS}={text}: expected a whole number of links")));
}

fn in_a_row(links: u32) {
    if Command::new("iperf3").arg("--version").output().is_err() {
        skip(Need::Tools, "no iperf3");
    }
    let machine = machine();
    let before = network(&machine);
    let mut server = Command::new("iperf3");
    server.args(["--server", "--forceflush"]).stdin(Stdio::null());
    let mut server = Running::start(&machine, server);
    server.line_after("Server listening");
    let file = name("link-row", "figures.json");
    let mut worst = f64::INFINITY;
    for number in 1..=links {
        // A server that ends its last test refuses the next one for a moment.
        let script = "for try in 1 2 3 4 5 6 7 8 9 10; do \
                      said=$(iperf3 -c $QDELAY_OUTSIDE -R -t 1 2>&1) && exit 0; \
                      case $said in *busy*) sleep 0.2;; *) break;; esac; done; echo \"$said\" >&2; exit 9";
        let options = format!("--quiet --down 10mbit --qdisc codel --delay 5ms --json {file}");
        let (status, said) = Running::start(&machine, link(&options, script)).end();
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "link {number} of {links}");
        let figures = json(&file);
        assert_eq!(figures["audit"]["lost_outside"], 0, "link {number}: {}", figures["audit"]);
        let bytes = figures["down"]["throughput_mbps"].as_f64().unwrap();
        worst = worst.min(bytes);
        // The kernel takes a device away a moment after its last file.
        eventually("the network is what it was", || network(&machine) == before);
        pause();
    }
    println!(
        "{links} links in a row ended with status 0; the least of their rates was {worst:.2} Mbit/s of 10"
    );
    assert!(worst > 1.0, "{worst} Mbit/s");
}
