//! Marks at one place and lines along one way: none of them hides another. `assets/js/together.js` has the same rules for the report's
//! page, in pixels.

/// The largest growth of a pile's marks, over that of its second mark.
const PILE: f64 = 4.0;
/// The most marks of a pile that are named; the others are counted.
const NAMED: usize = 3;
/// Length of a section of a line that belongs to one of those that coincide, points.
const SLOT: f64 = 11.0;
/// Lines that are nowhere farther apart are seen as one; points.
const SAME_LINE: f64 = 0.75;
/// Stretches of a line to either side that may be the nearest ones.
const NEAR: usize = 3;

/// Places in piles, each by the numbers of its places: those nearer than `apart` to its first, which lies on top.
pub fn piles(places: &[(f64, f64)], apart: f64) -> Vec<Vec<usize>> {
    let mut piles: Vec<Vec<usize>> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let near = |first: (f64, f64)| {
            let (x, y) = (first.0 - place.0, first.1 - place.1);
            x * x + y * y < apart * apart
        };
        let known = piles.iter_mut().find(|pile| pile.first().is_some_and(|&first| near(places[first])));
        match known {
            Some(pile) => pile.push(at),
            None => piles.push(vec![at]),
        }
    }
    piles
}

/// Growth of the radius of the mark at this depth of a pile, of which the second grows by `step`.
pub fn ring(depth: usize, pile: usize, step: f64) -> f64 {
    depth as f64 * step.min(step * PILE / pile.saturating_sub(1).max(1) as f64)
}

/// The name of marks that overlap.
pub fn name_of_pile(labels: &[String]) -> String {
    let shown = labels.iter().take(NAMED).cloned().collect::<Vec<String>>().join(", ");
    match labels.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Left, top, right and bottom.
pub type Rectangle = [f64; 4];

/// The upper left corner for a text of this size beside a mark with this radius at `place`: right, left, above, below or
/// diagonal, with the least overlap with `taken` and within `inside`.
pub fn place_beside(
    place: (f64, f64),
    radius: f64,
    (width, height): (f64, f64),
    inside: Rectangle,
    taken: &[Rectangle],
) -> (f64, f64) {
    let (x, y) = place;
    let (right, left, middle) = (x + radius, x - radius - width, x - width / 2.0);
    let (above, below) = (y - radius - height, y + radius);
    let (slightly_above, slightly_below) = (y - 0.5 * radius - height, y + 0.5 * radius);
    let candidates = [
        (right, y - height / 2.0),
        (left, y - height / 2.0),
        (middle, above),
        (middle, below),
        (right, slightly_above),
        (right, slightly_below),
        (left, slightly_above),
        (left, slightly_below),
        (middle, above - height),
        (middle, below + height),
    ];
    let cost = |(left, top): (f64, f64)| {
        let (right, bottom) = (left + width, top + height);
        let meets =
            |other: &&Rectangle| left < other[2] && right > other[0] && top < other[3] && bottom > other[1];
        let leaves = left < inside[0] || top < inside[1] || right > inside[2] || bottom > inside[3];
        taken.iter().filter(meets).count() + if leaves { 100 } else { 0 }
    };
    candidates.into_iter().min_by_key(|at| cost(*at)).unwrap_or(candidates[0])
}

/// Number of each line among those along the same way, and how many there are; points stand from left to right.
pub(super) fn turns(lines: &[&[(f64, f64)]]) -> Vec<(usize, usize)> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let same = |other: usize| runs_along(line, lines[other]) && runs_along(lines[other], line);
        let known = groups.iter_mut().find(|group| group.first().is_some_and(|&first| same(first)));
        match known {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let mut found = vec![(0, 1); lines.len()];
    for group in &groups {
        for (number, &at) in group.iter().enumerate() {
            found[at] = (number, group.len());
        }
    }
    found
}

/// Whether every point of `line` lies on `other`.
fn runs_along(line: &[(f64, f64)], other: &[(f64, f64)]) -> bool {
    let ends = other.len().saturating_sub(1);
    line.iter().enumerate().all(|(at, point)| {
        // Lines of about as many points: the same share of the way.
        let middle = at * ends / line.len().max(1);
        let near = other.windows(2).skip(middle.saturating_sub(NEAR)).take(2 * NEAR + 1);
        near.map(|ends| square_distance(*point, ends[0], ends[1]))
            .any(|square| square <= SAME_LINE * SAME_LINE)
    })
}

/// The square of the distance of a point from a stretch.
fn square_distance(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx * dx + dy * dy;
    let along = ((point.0 - from.0) * dx + (point.1 - from.1) * dy) / length;
    let share = if length > 0.0 { along.clamp(0.0, 1.0) } else { 0.0 };
    let (x, y) = (point.0 - from.0 - share * dx, point.1 - from.1 - share * dy);
    x * x + y * y
}

/// The part of `dashes` (lengths of strokes and gaps; empty for a line without gaps) for line `number` of `count` overlapping
/// lines: each line gets every `count`-th section, so that all colours are visible in turn.
pub(super) fn shared_dash(dashes: &[f64], (number, count): (usize, usize)) -> Vec<f64> {
    if count < 2 {
        return dashes.to_vec();
    }
    let (mut own, mut left, mut part) = (Vec::new(), SLOT, 0);
    while left > 0.0 {
        let length = if dashes.is_empty() { left } else { dashes[part % dashes.len()].min(left) };
        own.push(length);
        left -= length;
        part += 1;
    }
    let after = SLOT * (count - 1 - number) as f64;
    match own.last_mut() {
        Some(gap) if part % 2 == 0 => *gap += after,
        _ => own.push(after),
    }
    if number > 0 {
        own.splice(0..0, [0.0, SLOT * number as f64]);
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_at_one_place_are_a_pile() {
        let found = piles(&[(10.0, 10.0), (50.0, 50.0), (12.0, 11.0), (14.0, 10.0), (50.0, 50.0)], 4.0);
        assert_eq!(found, [vec![0, 2], vec![1, 4], vec![3]]);
        assert_eq!((ring(0, 2, 4.0), ring(1, 2, 4.0), ring(16, 17, 4.0)), (0.0, 4.0, 16.0));
        let labels = |count: usize| (1..=count).map(|n| n.to_string()).collect::<Vec<String>>();
        assert_eq!(
            (name_of_pile(&labels(2)), name_of_pile(&labels(5))),
            ("1, 2".into(), "1, 2, 3 and 2 more".into())
        );
    }

    #[test]
    fn a_name_avoids_marks_and_edges() {
        let inside = [0.0, 0.0, 200.0, 100.0];
        let at = |place, taken: &[Rectangle]| place_beside(place, 10.0, (40.0, 14.0), inside, taken);
        assert_eq!(at((50.0, 50.0), &[]), (60.0, 43.0));
        assert_eq!(at((50.0, 50.0), &[[70.0, 40.0, 80.0, 60.0]]), (0.0, 43.0));
        assert_eq!(at((180.0, 50.0), &[]), (130.0, 43.0));
    }

    #[test]
    fn lines_along_one_way() {
        let line =
            |dy: f64| (0..200).map(|x| (f64::from(x), dy + f64::from(x * x) / 100.0)).collect::<Vec<_>>();
        assert_eq!(turns(&[&line(0.0), &line(30.0), &line(0.4)]), [(0, 2), (0, 1), (1, 2)]);
        assert_eq!(turns(&[&[], &line(0.0)]).len(), 2);
        let mut bent = line(0.0);
        bent[150].1 += 9.0;
        assert_eq!(turns(&[&line(0.0), &bent]), [(0, 1), (0, 1)]);
    }

    /// Where in a period a pattern draws, in half points.
    fn drawn(pattern: &[f64]) -> Vec<bool> {
        let part = |(at, length): (usize, &f64)| vec![at % 2 == 0; (*length * 2.0) as usize];
        pattern.iter().enumerate().flat_map(part).collect()
    }

    #[test]
    fn each_line_has_stretches_of_its_own() {
        for dashes in [&[][..], &[3.5, 2.0], &[1.0, 1.5], &[4.5, 1.5, 1.0, 1.5]] {
            let all: Vec<Vec<bool>> = (0..3).map(|at| drawn(&shared_dash(dashes, (at, 3)))).collect();
            assert!(all.iter().all(|one| one.len() == 66 && one.iter().filter(|on| **on).count() > 8));
            assert!((0..66).all(|x| all.iter().filter(|one| one[x]).count() <= 1), "{dashes:?}");
        }
        assert_eq!(shared_dash(&[7.0, 4.0], (0, 1)), [7.0, 4.0]);
    }
}
