//! Errors of `[cell.uplink]` and of the keys that need it.

pub const BAD: &[(&str, &str)] = &[
    // The uplink of a cell.
    (
        "[cell]\n[cell.uplink]\nsr_period = \"none\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.sr_period: UEs have neither scheduling requests nor configured grants, so they cannot send; expected a period, or configured_period too",
    ),
    (
        "[cell]\n[cell.uplink]\nconfigured_period = \"10ms\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.configured_period: the size of configured grants is missing; expected configured_bytes too, such as \"300b\"",
    ),
    (
        "[cell]\n[cell.uplink]\nconfigured_bytes = \"300b\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.configured_bytes: the period of configured grants is missing; expected configured_period too, such as \"20ms\"",
    ),
    (
        "[cell]\nunit = \"packets\"\n[cell.uplink]\n[[flow]]",
        "my.toml: line 3: cell.uplink: the cell counts packets; expected this table only with unit = \"bytes\"",
    ),
    (
        "[cell]\n[cell.uplink]\nsr = \"5ms\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.sr: unknown key; expected one of channel, scheduler, sr_period, sr_offset, sr_prohibit, sr_grant, grant_delay, configured_period, configured_bytes, periodic_bsr, retx_bsr, bler, harq_rtt, harq_retransmissions, decoding_delay, rlc, pdcp, qdisc, limit; use 'sr_period' instead",
    ),
    (
        "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\nuplink_qdisc = \"codel\"\n[[flow]]",
        "my.toml: line 4: cell.ue.bearer.uplink_qdisc: the cell has no uplink of its own; expected a table [cell.uplink] too",
    ),
    (
        "[cell]\n[[cell.ue]]\nuplink_channel = \"mcs:3\"\n[[flow]]",
        "my.toml: line 3: cell.ue.uplink_channel: the cell has no uplink of its own; expected a table [cell.uplink] too",
    ),
    (
        "[cell]\n[cell.uplink]\n[[cell.ue]]\n[[cell.ue.bearer]]\nuplink_bucket = \"20ms\"\n[[flow]]",
        "my.toml: line 5: cell.ue.bearer.uplink_bucket: the bucket has no rate; expected uplink_pbr too, such as \"100kbit\"",
    ),
    (
        "[cell]\n[cell.uplink]\n[path]\nuplink = \"10mbit\"\n[[flow]]",
        "my.toml: line 4: path.uplink: the cell has an uplink of its own; expected this key only without [cell.uplink]",
    ),
    (
        "[cell]\n[[flow]]\n[matrix]\ncell.uplink.sr_period = [\"5ms\"]",
        "my.toml: line 4: matrix.cell.uplink: the cell has no uplink of its own; expected a table [cell.uplink]",
    ),
];
