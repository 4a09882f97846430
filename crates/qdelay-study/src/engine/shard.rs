//! Shards: parts of a study that are run separately, for example on different machines, and merged.
//!
//! Cases are dealt in rounds, one case for each shard, so that the sizes of shards differ by at most one. Each round starts at
//! another shard, drawn by a hash of the round's number. With a fixed start, a shard would get a single point of any axis that
//! has as many points as there are shards, and one shard could get all the long cases.

use std::fmt;
use std::str::FromStr;

/// One of several shards of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Number of this shard, from 1 to the number of shards.
    index: u64,
    total: u64,
}

impl Shard {
    /// The single shard of an undivided study.
    pub const WHOLE: Shard = Shard { index: 1, total: 1 };

    /// The shard `index` of `of`; `None` unless `index` is 1 to `of`.
    pub fn new(index: u64, of: u64) -> Option<Shard> {
        (1..=of).contains(&index).then_some(Shard { index, total: of })
    }

    /// The shard, among `of`, that contains the case; `None` if `of` is 0.
    pub fn containing(case: u64, of: u64) -> Option<Shard> {
        Some(Shard { index: case.checked_rem(of)?.wrapping_add(first(case / of, of)) % of + 1, total: of })
    }

    /// Number of this shard, from 1.
    pub fn index(self) -> u64 {
        self.index
    }

    /// Number of shards.
    pub fn total(self) -> u64 {
        self.total
    }

    /// True if the shard contains the case.
    pub fn has(self, case: u64) -> bool {
        Shard::containing(case, self.total) == Some(self)
    }

    /// The shard's cases in a study of `count` cases, in order.
    pub fn cases(self, count: u64) -> impl Iterator<Item = u64> + Send {
        let rounds = count.div_ceil(self.total);
        (0..rounds).map(move |round| self.case_in_round(round)).filter(move |case| *case < count)
    }

    /// Number of the shard's cases in a study of `count` cases.
    pub fn count(self, count: u64) -> u64 {
        let rounds = count / self.total;
        // The last, incomplete round may end before this shard's turn.
        rounds + u64::from(self.case_in_round(rounds) < count)
    }

    /// The shard's case in the given round.
    fn case_in_round(self, round: u64) -> u64 {
        let place = (self.index - 1 + self.total - first(round, self.total)) % self.total;
        round.saturating_mul(self.total).saturating_add(place)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.total)
    }
}

/// Largest number of shards; more are taken for a mistake.
const SHARDS_MAX: u64 = 1_000_000;

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let expected = "expected the number of the shard and of all shards, such as 3/8";
        let Some((index, of)) = text.split_once('/') else { return Err(expected.to_string()) };
        let (Ok(index), Ok(of)) = (index.parse::<u64>(), of.parse::<u64>()) else {
            return Err(expected.to_string());
        };
        match of {
            0 => Err("there are no shards; expected at least one, such as 1/8".to_string()),
            1..=SHARDS_MAX => Shard::new(index, of)
                .ok_or_else(|| format!("there is no shard {index} of {of}; expected 1/{of} to {of}/{of}")),
            _ => Err(format!("out of range; expected at most {SHARDS_MAX} shards")),
        }
    }
}

/// Index, from 0, of the shard that gets the first case of a round: the last step of SplitMix64 (Steele et al., OOPSLA 2014) as a
/// hash of the round's number.
fn first(round: u64, of: u64) -> u64 {
    let mixed = (round ^ (round >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_belongs_to_one_shard() {
        for of in 1..=24 {
            for count in 0..=100 {
                let shards: Vec<Shard> = (1..=of).filter_map(|index| Shard::new(index, of)).collect();
                let mut all = Vec::new();
                for shard in &shards {
                    let cases: Vec<u64> = shard.cases(count).collect();
                    assert!(cases.windows(2).all(|pair| pair[0] < pair[1]));
                    assert!(cases.iter().all(|case| shard.has(*case)));
                    assert_eq!(cases.len() as u64, shard.count(count), "{shard} of {count}");
                    assert!((count / of..=count.div_ceil(of)).contains(&(cases.len() as u64)));
                    all.extend(cases);
                }
                all.sort_unstable();
                assert_eq!(all, (0..count).collect::<Vec<u64>>());
            }
        }
    }

    /// The points of each axis are spread over the shards, whatever the axes. With a fixed start of each round, one shard would
    /// have all 1250 cases of a point whenever the innermost axis has as many points as there are shards.
    #[test]
    fn points_of_an_axis_spread_over_all_shards() {
        const CASES: u64 = 10_000;
        for of in 2..=16 {
            for points in 2..=16 {
                for stride in [1, points, 5 * points] {
                    for shard in (1..=of).filter_map(|index| Shard::new(index, of)) {
                        let of_first =
                            shard.cases(CASES).filter(|case| case / stride % points == 0).count() as f64;
                        let fair = (CASES / of / points) as f64;
                        // The bound is five standard deviations of independent draws.
                        let most = 5.0 * fair.sqrt() + 2.0;
                        assert!(
                            (of_first - fair).abs() < most,
                            "{shard}, 1 of {points} each {stride}: {of_first}, not {fair}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn shards_are_parsed_and_bad_ones_refused() {
        assert_eq!("3/8".parse::<Shard>().map(|shard| shard.to_string()), Ok("3/8".to_string()));
        for (text, part) in [
            ("0/8", "there is no shard 0 of 8; expected 1/8 to 8/8"),
            ("9/8", "there is no shard 9 of 8"),
            ("1/0", "there are no shards"),
            ("0/0", "there are no shards"),
            ("1/9999999", "at most 1000000"),
            ("3", "such as 3/8"),
            ("a/8", "such as 3/8"),
            ("-1/8", "such as 3/8"),
            ("1/8/2", "such as 3/8"),
        ] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
