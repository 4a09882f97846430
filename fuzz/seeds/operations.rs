//! What a host may do, as bytes: random, but the same each time; and packets of every kind.

use super::{Out, components};
use qdelay_core::Random;

fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random::derive(seed, "fuzz", "seeds");
    (0..count).map(|_| random.below(256) as u8).collect()
}

pub fn write(out: &Out) {
    for (target, kind) in [("qdisc", "qdisc"), ("pacer", "pacer"), ("tcp", "transport")] {
        for (number, text) in components::all(kind).iter().enumerate() {
            let operations = bytes(number as u64, 300);
            out.seed(target, &number.to_string(), [text.as_bytes(), b"\n", &operations].concat());
        }
    }
    for mode in 0..24 {
        // The mode, and the two bits that change it.
        let flags = (mode / 6) << 6;
        out.seed(
            "rlc",
            &mode.to_string(),
            [&[mode % 6 + flags / 6 * 6][..], &bytes(mode.into(), 400)].concat(),
        );
    }
    frames(out);
}

fn frames(out: &Out) {
    let tcp = [&[0x12, 0x34, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0][..], b"data"]
        .concat();
    let udp = [0x12, 0x34, 0x00, 0x35, 0, 12, 0, 0, 1, 2, 3, 4];
    for (name, protocol, transport) in [("tcp", 6, &tcp[..]), ("udp", 17, &udp[..])] {
        let total = [0, (20 + transport.len()) as u8];
        let four = [
            &[0x45, 46 << 2 | 2],
            &total[..],
            &[0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
        ];
        let four = [&four.concat()[..], transport].concat();
        let options = [&[protocol, 0, 1, 4, 0, 0, 0, 0][..], transport].concat();
        let six = |next: u8, rest: &[u8]| {
            [&[0x6b, 0x91, 2, 3, 0, rest.len() as u8, next, 64][..], &[0x20; 32], rest].concat()
        };
        let fragment = [&[protocol, 0, 0, 1, 0, 0, 0, 7][..], transport].concat();
        out.seed("frame", &format!("ipv4-{name}"), &four);
        out.seed("frame", &format!("ipv6-{name}"), six(protocol, transport));
        out.seed("frame", &format!("ipv6-options-{name}"), six(60, &options));
        out.seed("frame", &format!("ipv6-fragment-{name}"), six(44, &fragment));
        let tagged = [&[7; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0], &four].concat();
        out.seed("frame", &format!("tagged-{name}"), tagged);
    }
}
