//! Refusal of wrong arguments by the developers' commands.

use crate::common::refused;

#[test]
fn wrong_arguments_are_refused() {
    refused(&["validate", "ns4"], &["; did you mean 'ns3'?"]);
    refused(&["validate", "kernel", "--settled"], &["--settled", "use it with 'validate lab'"]);
    refused(&["validate", "lab", "--cells", "0"], &["--cells: '0': out of range; expected 1 to 1024 cells"]);
    refused(&["bench"], &["bench: a command is missing; expected"]);
    refused(&["bench", "cell", "--ues", "0"], &["--ues: '0': out of range; expected 1 to 1000"]);
    refused(&["bench", "papers", "--runs", "0"], &["--runs: '0': out of range; expected 1 to 1000 runs"]);
    refused(
        &["bench", "cell", "--pacer", "e5g"],
        &["bench cell: line 6: cell.pacer: 'e5g': unknown pacer 'e5g'"],
    );
    refused(&["bench", "dumbbell", "--flows", "0"], &["--flows: '0': out of range; expected 1 to 1000"]);
    refused(
        &["bench", "dumbbell", "--qdisc", "pie,bode"],
        &["--qdisc: 'pie,bode': several are given; expected one"],
    );
}

#[test]
fn every_command_of_qdelay_works_too() {
    refused(&["list", "boed"], &["; did you mean 'bode'?"]);
}
