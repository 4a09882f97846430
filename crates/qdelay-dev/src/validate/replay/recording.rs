//! A recording of two loads for CellReplay and for us, made by a formula: 10 s that start over. The heavy load has another rate every half
//! second; trains of 40 packets every 250 ms come at half of it. The uplink's base delay is constant: its recording begins in the program with
//! the kernel's first packet of IPv6, at no known time.

use std::fmt::Write;

/// Mbit/s of each half second of the heavy load.
const RATES_MBPS: [u64; 20] = [24, 30, 18, 9, 12, 20, 36, 28, 16, 6, 10, 22, 32, 26, 14, 8, 18, 34, 40, 21];
const HALF_SECOND_MS: u64 = 500;
const PERIOD_MS: u64 = 10_000;
/// Bits of an opportunity of CellReplay.
const OPPORTUNITY_BITS: u64 = 1400 * 8;

/// Bits that the heavy load carries in a millisecond.
fn bits_per_ms(ms: u64) -> u64 {
    RATES_MBPS[(ms / HALF_SECOND_MS) as usize % RATES_MBPS.len()] * 1000
}

/// Opportunities of the heavy load.
pub fn heavy() -> String {
    let (mut text, mut credit, mut last) = (String::new(), 0, 0);
    for ms in 1..=PERIOD_MS {
        credit += bits_per_ms(ms - 1);
        while credit >= OPPORTUNITY_BITS {
            (credit, last) = (credit - OPPORTUNITY_BITS, ms);
            writeln!(text, "{ms}").expect("text");
        }
    }
    assert_eq!(last, PERIOD_MS, "the heavy load ends with an opportunity");
    text
}

/// Trains of the light load: base delays of 14 to 36 ms, which a formula scatters.
pub fn light() -> String {
    let mut text = String::new();
    for train in 0..=40 {
        let ms = train * 250;
        write!(text, "{ms} {}", 14 + train * 7 % 23).expect("text");
        let bits = bits_per_ms(ms.min(PERIOD_MS - 1)) / 2;
        (0..40).for_each(|packet| write!(text, " {}", packet * OPPORTUNITY_BITS / bits).expect("text"));
        text.push('\n');
    }
    text
}

/// Trains of the uplink: a base delay of 20 ms, and 40 packets at once.
pub fn light_up() -> String {
    [0, 5000, PERIOD_MS].iter().fold(String::new(), |text, ms| format!("{text}{ms} 20{}\n", " 0".repeat(40)))
}
