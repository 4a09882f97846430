//! Names of differentiated services codepoints.
//!
//! Source: RFC 2474 (default forwarding and the class selectors), RFC 2597 (assured forwarding), RFC 3246 (expedited
//! forwarding), RFC 5865 (voice-admit), RFC 8622 (lower effort), RFC 9956 (non-queue-building); the draft
//! draft-you-tsvwg-latency-loss-tradeoff-00, section 4.4 (`llt`: low latency, for which the sender accepts loss).

/// Codepoints in a packet's DS field: 0 to 63.
pub const CODEPOINTS: usize = 64;

/// Each name with its codepoint. Where a codepoint has several names, the first is printed.
const NAMES: [(&str, u8); 27] = [
    ("be", 0),
    ("df", 0),
    ("cs0", 0),
    ("le", 1),
    ("llt", 5),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("nqb", 45),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// The codepoint that `text` names, in any case (`ef`, `AF41`), or its number, `0` to `63`. `None` for anything else.
pub fn parse(text: &str) -> Option<u8> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().filter(|number| usize::from(*number) < CODEPOINTS);
    }
    NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, number)| *number)
}

/// The name of codepoint `number`: `be` for 0, `ef` for 46; `None` where it has none.
pub fn name(number: u8) -> Option<&'static str> {
    NAMES.iter().find(|(_, of)| *of == number).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// Class selector n is 8n (RFC 2474 section 4.2.2); AFxy is 8x + 2y (RFC 2597 section 6).
    #[test]
    fn names_follow_from_the_bits() {
        for class in 0..8_u8 {
            assert_eq!(parse(&alloc::format!("cs{class}")), Some(8 * class));
        }
        for class in 1..=4_u8 {
            for precedence in 1..=3_u8 {
                assert_eq!(parse(&alloc::format!("af{class}{precedence}")), Some(8 * class + 2 * precedence));
            }
        }
        for (name, number) in
            [("be", 0), ("df", 0), ("le", 1), ("llt", 0b00_0101), ("va", 44), ("nqb", 45), ("ef", 0b10_1110)]
        {
            assert_eq!(parse(name), Some(number), "{name}");
        }
        assert_eq!(parse("AF41"), Some(34));
    }

    #[test]
    fn names_and_numbers_convert_both_ways() {
        for number in 0..64_u8 {
            assert_eq!(parse(&number.to_string()), Some(number));
            assert!(name(number).is_none_or(|name| parse(name) == Some(number)));
        }
        assert_eq!((name(0), name(46), name(2), name(64)), (Some("be"), Some("ef"), None, None));
    }

    #[test]
    fn unknown_names_and_numbers_give_none() {
        for text in ["", "64", "256", "+5", "-1", "4 6", "ef ", "af44", "af14", "cs8", "rest", "1.0"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
