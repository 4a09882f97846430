//! Old names of keys: each error names the new one.

use super::{BASE, error};
use qdelay_config::renamed::RENAMED;
use qdelay_study::scenario::declare::TABLES;

/// A cell with a QoS flow, in front of keys of `[[cell.ue.bearer.qos_flow]]`.
const CELL: &str = "[[flow]]\n[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer.qos_flow]]\n";

#[test]
fn the_error_about_an_old_name_has_the_new_one() {
    for (text, expected) in [
        (
            "[path]\ntrace = \"synth-subway\"\nonce = true\n[[flow]]".to_string(),
            "my.toml: line 3: path.once: was renamed to 'repeat' and inverted; expected repeat = false instead of once = true",
        ),
        (
            format!("{BASE}access = \"10mbit\""),
            "my.toml: line 6: flow.access: was renamed; expected access_rate",
        ),
        (
            format!("{CELL}sdap = \"codel\""),
            "my.toml: line 6: cell.ue.bearer.qos_flow.sdap: was renamed; expected sdap_qdisc",
        ),
        (
            "[[flow]]\n[cell]\nair = \"0s\"".to_string(),
            "my.toml: line 3: cell.air: was renamed; expected decoding_delay",
        ),
        (
            format!("{BASE}[[expect]]\nclaim = \"c\"\nversus = {{}}"),
            "my.toml: line 8: expect.versus: was renamed; expected alternatives",
        ),
        // In a matrix: of a table that occurs once, of all elements, of one element, and in a variant.
        (
            format!("{BASE}[matrix]\npath.reorder_by = [\"1ms\"]"),
            "my.toml: line 7: matrix.path.reorder_by: was renamed; expected reorder_delay",
        ),
        (
            format!("{BASE}[matrix]\nflow.spread = [\"1ms\"]"),
            "my.toml: line 7: matrix.flow.spread: was renamed; expected start_spread",
        ),
        (
            format!("{BASE}[matrix]\nflow.file.spread = [\"1ms\"]"),
            "my.toml: line 7: matrix.flow.file.spread: was renamed; expected start_spread",
        ),
        (
            format!("{BASE}[[matrix.variant]]\nlabel = \"a\"\nflow.file.discard_after = \"1ms\""),
            "my.toml: line 8: matrix.variant.flow.file.discard_after: was renamed; expected discard_delay",
        ),
        (
            format!(
                "{BASE}[matrix]\nflow.start_spread = [\"0s\", \"1s\"]\n[[expect]]\nwhere = {{ \"flow.spread\" = \"1s\" }}"
            ),
            "my.toml: line 9: expect.where.'flow.spread': was renamed; expected flow.start_spread",
        ),
    ] {
        assert_eq!(error(&text), expected);
    }
}

#[test]
fn a_key_has_the_new_name_and_none_the_old_one() {
    let has = |name: &str| TABLES.iter().any(|table| table.key(name).is_some());
    for key in &RENAMED {
        assert!(has(key.new) && !has(key.old), "{key:?}");
    }
}
