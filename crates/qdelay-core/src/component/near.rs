//! Suggestions for words that are not known.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The end of a message about the word `wrong`: `; did you mean 'codel'?` if one of `known` is close to it, and nothing otherwise.
pub fn suggestion<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    near(wrong, known).map_or(String::new(), |near| format!("; did you mean '{near}'?"))
}

/// The word of `known` with the smallest edit distance to `wrong`, if that distance is small; otherwise the
/// only word that begins as `wrong` does, as `gaming` for `game`.
pub fn near<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = wrong.chars().take(NEAR_MAX + 1).map(|c| c.to_ascii_lowercase()).collect();
    if wrong.len() > NEAR_MAX {
        return None;
    }
    let allowed = 1 + wrong.len() / 5;
    let (mut alike, mut is_only) = (None, true);
    let distances = known.map(|word| {
        let lower: Vec<char> = word.chars().map(|c| c.to_ascii_lowercase()).collect();
        if lower.len() >= BEGINNING && wrong.get(..BEGINNING) == lower.get(..BEGINNING) {
            is_only &= alike.is_none_or(|other| other == word);
            alike = Some(word);
        }
        // Initials of the parts, as `pf` for `proportional_fair`.
        let initials = word.split('_').filter_map(|part| part.chars().next());
        let is_short = wrong.len() > 1 && initials.eq(wrong.iter().copied());
        (if is_short { 0 } else { distance(&wrong, &lower) }, word)
    });
    let least = distances.filter(|(distance, word)| *distance <= allowed && *distance < word.len()).min();
    least.map(|(_, word)| word).or_else(|| alike.filter(|_| is_only))
}

/// Number of letters that two words must share at their beginning to count as beginning alike.
const BEGINNING: usize = 3;

/// Length of the longest word that is compared, in characters.
const NEAR_MAX: usize = 80;

/// Edit distance: insertions, removals, replacements and swaps of neighbours that make `b` of `a` (optimal
/// string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = core::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_are_answered_with_the_nearest() {
        let known = ["qdisc", "rtt", "limit", "trace_format"];
        let near = |wrong| near(wrong, known.into_iter());
        assert_eq!(
            (near("qdics"), near("qdsc"), near("Qdisc")),
            (Some("qdisc"), Some("qdisc"), Some("qdisc"))
        );
        assert_eq!(
            (near("rt"), near("tracefmt"), near("trace-format")),
            (Some("rtt"), Some("trace_format"), Some("trace_format"))
        );
        assert_eq!((near("RTT"), near("tf"), near("t")), (Some("rtt"), Some("trace_format"), None));
        assert_eq!((near(""), near("x"), near("bandwidth")), (None, None, None));
        assert_eq!(near(&"q".repeat(1_000_000)), None);
        let transports = ["gaming", "vegas", "verus", "ledbat", "webrtc", "web"];
        let among = |wrong| super::near(wrong, transports.into_iter());
        assert_eq!((among("game"), among("games")), (Some("gaming"), Some("gaming")));
        assert_eq!(
            (among("led"), among("website"), among("ve"), among("gaa")),
            (Some("ledbat"), None, None, None)
        );
    }
}
