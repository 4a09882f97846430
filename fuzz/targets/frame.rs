//! What is read of an IP packet, held against a slow parser; the mark, the checksum of a transport, and the frame around it.
#![no_main]

#[path = "../../crates/qdelay-emu/tests/slow_frame/mod.rs"]
mod slow_frame;

use libfuzzer_sys::fuzz_target;
use qdelay_emu::frame::{complete_checksum, link_layer, parse, set_ce};
use slow_frame::{SlowFrame, codepoint, slow};

fuzz_target!(|data: &[u8]| {
    let (fast, seen) = (parse(data), slow(data));
    assert_eq!(fast.is_ok(), seen.is_some());
    if let (Ok(fast), Some(seen)) = (fast, &seen) {
        assert_eq!((fast.bytes, fast.dscp, codepoint(fast.ecn)), (seen.bytes, seen.dscp, seen.ecn));
        assert_eq!(fast.packet(7).bytes, fast.bytes);
    }
    let mut marked = data.to_vec();
    if set_ce(&mut marked) {
        if let Some(seen) = &seen {
            assert!(seen.ecn != 0);
            assert_eq!(slow(&marked), Some(SlowFrame { ecn: 3, ..seen.clone() }));
        }
    } else {
        assert_eq!(marked, data);
    }
    let mut whole = data.to_vec();
    if complete_checksum(&mut whole) {
        let once = whole.clone();
        assert!(complete_checksum(&mut whole) && whole == once, "another checksum the second time");
    } else {
        assert_eq!(whole, data);
    }
    let (header, _) = link_layer(data);
    assert!(data.get(usize::from(header)..).is_some() || data.len() < 22);
});
