//! Writes a synthetic trace in mahimahi's format: `cargo run -p qdelay-trace --example synthesize synth:subway:seed=3`

use qdelay_core::component::Arguments;
use qdelay_trace::{mahimahi, synth};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or("synth".to_string());
    let arguments = Arguments::parse(&[&synth::COMPONENT], &text)?;
    let mut out = String::new();
    mahimahi::write(&synth::Synth::from_arguments(&arguments).schedule()?, &mut out)?;
    print!("{out}");
    Ok(())
}
