//! Counts of values by bucket, with buckets as wide as three digits need.
//!
//! The buckets are those of an HdrHistogram of three digits (Tene, 2012): one for each value below 2048, then 1024 for each doubling.
//! Its own counts reach from the first to the last value that it could be asked for; here a doubling has some once a value is in it,
//! and the one to count in is found with fewer instructions, because that is done for each packet. The tests compare the two.

/// Buckets of a doubling, as a power of two.
const BITS: u32 = 10;
const DOUBLING: usize = 1 << BITS;

/// The counts of a doubling.
type Page = [u64; DOUBLING];

/// Counts that are looked at together in the search for filled buckets.
const STRIDE: usize = 16;

/// Counts of whole values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    /// By doubling, as far as the largest recorded value; those with a value have a page.
    pages: Vec<Option<Box<Page>>>,
    total: u64,
}

impl Buckets {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket_of(value);
        let page = match self.pages.get_mut(bucket >> BITS) {
            Some(Some(page)) => page,
            _ => self.begin(bucket >> BITS),
        };
        page[bucket % DOUBLING] += 1;
        self.total += 1;
    }

    /// The page of a doubling without one.
    #[cold]
    fn begin(&mut self, doubling: usize) -> &mut Page {
        if doubling >= self.pages.len() {
            self.pages.resize(doubling + 1, None);
        }
        self.pages[doubling].get_or_insert_with(|| Box::new([0; DOUBLING]))
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Buckets) {
        for (doubling, theirs) in other.pages.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            let ours = self.begin(doubling);
            ours.iter_mut().zip(theirs.iter()).for_each(|(count, more)| *count += more);
        }
        self.total += other.total;
    }

    /// Number of values counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The buckets with values, in ascending order.
    pub fn filled(&self) -> impl Iterator<Item = Bucket> + '_ {
        let pages = self.pages.iter().enumerate();
        let strides = pages.flat_map(|(doubling, page)| {
            page.iter().flat_map(move |page| (doubling * DOUBLING..).step_by(STRIDE).zip(page.chunks(STRIDE)))
        });
        let filled = strides.filter(|(_, counts)| counts.iter().fold(0, |any, count| any | count) != 0);
        let buckets =
            filled.flat_map(|(first, counts)| (first..).zip(counts).filter(|(_, count)| **count > 0));
        buckets.map(|(bucket, &count)| Bucket { count, ..Bucket::at(bucket) })
    }

    /// The standard deviation, with each value in the middle of its bucket; zero where nothing was counted.
    pub fn deviation(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let total = self.total as f64;
        let mean =
            self.filled().map(|bucket| bucket.count as f64 * bucket.middle as f64).sum::<f64>() / total;
        let squares = self.filled().map(|bucket| bucket.count as f64 * (bucket.middle as f64 - mean).powi(2));
        (squares.sum::<f64>() / total).sqrt()
    }
}

/// A bucket and how many values fell into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Number of values in the bucket.
    pub count: u64,
    /// The value in its middle, rounded up.
    pub middle: u64,
    /// Largest value of the bucket.
    pub highest: u64,
}

impl Bucket {
    fn at(bucket: usize) -> Bucket {
        let shift = (bucket >> BITS).saturating_sub(1);
        let lowest = ((bucket - shift * DOUBLING) as u64) << shift;
        let width = 1_u64 << shift;
        Bucket { count: 0, middle: lowest + width / 2, highest: lowest + (width - 1) }
    }
}

/// Values keep eleven binary digits.
#[inline]
fn bucket_of(value: u64) -> usize {
    let shift = u64::BITS - (value | (2 * DOUBLING as u64 - 1)).leading_zeros() - (BITS + 1);
    ((shift as usize) << BITS) + (value >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        let near = (0..63).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in (0..10_000).chain(near) {
            let bucket = Bucket::at(bucket_of(value));
            assert!(
                value <= bucket.highest && value + value / 1000 + 1 >= bucket.highest,
                "{value}: {bucket:?}"
            );
            assert!(bucket.middle <= bucket.highest + 1, "{value}");
        }
        assert_eq!(bucket_of(2047) + 1, bucket_of(2048));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_library(
            values in prop::collection::vec((0_u32..37, 0_u64..1 << 36).prop_map(|(shift, value)| value >> shift), 1..300),
        ) {
            let mut theirs = Histogram::<u64>::new_with_bounds(1, 1 << 37, 3).unwrap();
            let mut ours = Buckets::default();
            for &value in &values {
                theirs.record(value).unwrap();
                ours.record(value);
            }
            let expected: Vec<Bucket> = theirs
                .iter_recorded()
                .map(|cell| Bucket {
                    count: cell.count_since_last_iteration(),
                    middle: theirs.median_equivalent(cell.value_iterated_to()),
                    highest: theirs.highest_equivalent(cell.value_iterated_to()),
                })
                .collect();
            prop_assert_eq!(ours.filled().collect::<Vec<_>>(), expected);
            prop_assert_eq!(ours.total(), theirs.len());
            prop_assert!((ours.deviation() - theirs.stdev()).abs() <= 1e-9 * theirs.stdev());
        }
    }
}
