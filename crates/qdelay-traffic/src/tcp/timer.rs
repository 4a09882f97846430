//! Expiry times of kernel timers.

use qdelay_core::{Span, Time};

/// Expiry of a timer set at `now` for `span` on a kernel whose jiffy is `tick`: the wheel rounds up to whole jiffies,
/// and beyond 63 jiffies to multiples of eight (Linux `calc_wheel_index`). Exact for a tick of zero.
pub fn deadline(now: Time, span: Span, tick: Span) -> Time {
    match tick.as_nanos() {
        0 => now + span,
        // The default tick is a constant divisor, which avoids a division: every acknowledgement sets a timer.
        TICK_AT_250_HZ => on_wheel(now, span, TICK_AT_250_HZ),
        tick => on_wheel(now, span, tick),
    }
}

/// A jiffy of a kernel with `CONFIG_HZ` 250, in ns.
const TICK_AT_250_HZ: u64 = 4_000_000;

#[inline(always)]
fn on_wheel(now: Time, span: Span, tick: u64) -> Time {
    let wait = span.as_nanos().div_ceil(tick);
    let expiry = now.as_nanos() / tick + wait;
    let fires = if wait < 63 { expiry + 1 } else { (expiry + 8) / 8 * 8 };
    Time::from_nanos(fires.saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_early_and_at_most_nine_jiffies_late() {
        let tick = Span::from_millis(4);
        for (now_us, span_us) in [(0, 1), (3_999, 40_000), (12_345, 251_000), (777_777, 1_000_000)] {
            let now = Time::from_nanos(now_us * 1000);
            let span = Span::from_micros(span_us);
            let at = deadline(now, span, tick);
            assert!(at >= now + span, "{span_us}");
            assert!(at <= now + span + tick * 9, "{span_us}");
        }
        assert_eq!(deadline(Time::ZERO, Span::from_micros(7), Span::ZERO), Time::from_nanos(7000));
    }
}
