//! Prints the statistics of mahimahi traces: `cargo run -p qdelay-trace --example trace_info FILE...`

use qdelay_trace::{info, mahimahi};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let schedule = mahimahi::parse(&std::fs::read(&path)?).map_err(|error| format!("{path}: {error}"))?;
        println!("{path}: {:#?}", info::of_schedule(&schedule));
    }
    Ok(())
}
