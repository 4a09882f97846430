//! Scenario files from arbitrary and mutated input: no panic, every error on one line, and the cases of an accepted file can be
//! built.
//!
//! Each target runs for 2 s, times `QDELAY_EFFORT`. A failure prints a seed, which
//! `ARBTEST_SEED=0x... cargo test -p qdelay-study --test main scenario_fuzz::NAME` replays.

use arbtest::arbitrary::{Result, Unstructured};
use qdelay_study::shipped::SCENARIOS;
use qdelay_testing::fuzz::mutate;

fn fuzz(target: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    qdelay_testing::fuzz::fuzz(2.0, target);
}

/// Tokens that are valid somewhere, or nearly valid.
const PIECES: &[&str] = &[
    "\n",
    "\r\n",
    " ",
    "=",
    ".",
    ",",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "\"\"\"",
    "'",
    "#",
    "\\",
    "\u{feff}",
    "ü",
    "\0",
    "[path]\n",
    "[[flow]]\n",
    "[cell]\n",
    "[[cell.ue]]\n",
    "[[cell.ue.bearer]]\n",
    "[[cell.ue.bearer.qos_flow]]\n",
    "qfi = 1\n",
    "ue = \"each\"\n",
    "channel = \"cqi:7\"\n",
    "pacer = \"e5g-bdp\"\n",
    "rlc_limit = \"64kb\"\n",
    "rlc = \"am\"\n",
    "tti = \"2ms\"\n",
    "unit = \"packets\"\n",
    "technology = \"nr\"\n",
    "upf_qdisc = \"sfq\"\n",
    "cell.pacer = [\"drql\"]\n",
    "cell.ue.channel = [\"mcs:1\", \"fading\"]\n",
    "cell.bearer.drb-1.rlc_limit = [1, 2]\n",
    "[run]\n",
    "[matrix]\n",
    "[[matrix.variant]]\n",
    "[[expect]]\n",
    "[fallback]\n",
    "link = \"10mbit\"\n",
    "trace = \"synth-subway\"\n",
    "name = \"a\"\n",
    "label = \"a\"\n",
    "value = 1\n",
    "path.qdisc = [\"pie\", \"codel\"]\n",
    "flow.count = [1, 2]\n",
    "flow.a.start = [\"1s\"]\n",
    "seeds = \"1..10\"\n",
    "{ bode = { target = \"20ms\" } }",
    "{ label = \"x\", value = \"pie\" }",
    "\"off\"",
    "true",
    "-1",
    "0",
    "1e400",
    "nan",
    "18446744073709551616",
    "1979-05-27",
    "\"priority:ef@[bode]+rest@[[\"",
    "\"0s\"",
    "\"1440min\"",
    "count = 10000\n",
    "where = { seed = 1 }\n",
    "measure = \"jain\"\n",
    "low = 1\n",
    "claim = \"c\"\n",
];

#[test]
fn arbitrary_bytes_do_not_panic() {
    fuzz(|u| {
        crate::judge::scenario(u.bytes(u.len())?);
        Ok(())
    });
}

#[test]
fn tokens_in_any_order_do_not_panic() {
    fuzz(|u| {
        let mut text = String::new();
        for _ in 0..u.int_in_range(0..=40)? {
            text += u.choose(PIECES)?;
        }
        crate::judge::scenario(text.as_bytes());
        Ok(())
    });
}

#[test]
fn mutated_scenarios_do_not_panic() {
    let pieces: Vec<&[u8]> = PIECES.iter().map(|piece| piece.as_bytes()).collect();
    fuzz(|u| {
        let text = u.choose(SCENARIOS)?.1.as_bytes().to_vec();
        let text = mutate(u, text, &pieces)?;
        crate::judge::scenario(&text);
        Ok(())
    });
}
