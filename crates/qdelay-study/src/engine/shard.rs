//! A shard: one of several parts of a study that are run apart, on other machines for example, and merged.
//!
//! Cases are dealt out in rounds of as many cases as there are shards, each shard one of each round, so that shards differ by one case at
//! most. Each round begins at another shard, which a hash of its number draws: dealt out always alike, the cases of a shard would have the
//! same point on an axis with as many points as there are shards, and one shard would have all the long ones.

use std::fmt;
use std::str::FromStr;

/// Which part of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// From 1 to `of`.
    index: u64,
    of: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { index: 1, of: 1 };

    /// The shard `index` of `of`; `None` where `index` is not within 1 to `of`.
    pub fn new(index: u64, of: u64) -> Option<Shard> {
        (1..=of).contains(&index).then_some(Shard { index, of })
    }

    /// The shard of `of` that has this case; `None` for no shards.
    pub fn of_case(case: u64, of: u64) -> Option<Shard> {
        Some(Shard { index: case.checked_rem(of)?.wrapping_add(first(case / of, of)) % of + 1, of })
    }

    /// Which one, from 1.
    pub fn index(self) -> u64 {
        self.index
    }

    /// How many there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// Whether it has this case.
    pub fn has(self, case: u64) -> bool {
        Shard::of_case(case, self.of) == Some(self)
    }

    /// Its cases of a study of `count`, in their order.
    pub fn cases(self, count: u64) -> impl Iterator<Item = u64> + Send {
        let rounds = count.div_ceil(self.of);
        (0..rounds).map(move |round| self.of_round(round)).filter(move |case| *case < count)
    }

    /// How many cases it has of a study of `count`.
    pub fn count(self, count: u64) -> u64 {
        let rounds = count / self.of;
        // The last round may end before its turn.
        rounds + u64::from(self.of_round(rounds) < count)
    }

    /// Its case of the round of this number.
    fn of_round(self, round: u64) -> u64 {
        let place = (self.index - 1 + self.of - first(round, self.of)) % self.of;
        round.saturating_mul(self.of).saturating_add(place)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// More shards than that are a mistake.
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

/// The shard, from 0, that has the first case of a round: the last step of SplitMix64 (Steele et al., OOPSLA 2014) as hash of its number.
fn first(round: u64, of: u64) -> u64 {
    let mixed = (round ^ (round >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_of_one_shard() {
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

    /// Whatever the axes: the points of each are spread over the shards. Dealt out always alike, one shard has all 1250 cases of one point
    /// where the innermost axis has as many points as there are shards.
    #[test]
    fn no_axis_is_dealt_to_one_shard() {
        const CASES: u64 = 10_000;
        for of in 2..=16 {
            for points in 2..=16 {
                for stride in [1, points, 5 * points] {
                    for shard in (1..=of).filter_map(|index| Shard::new(index, of)) {
                        let of_first =
                            shard.cases(CASES).filter(|case| case / stride % points == 0).count() as f64;
                        let fair = (CASES / of / points) as f64;
                        // Five standard deviations of independent draws.
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
    fn as_users_write_them() {
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
