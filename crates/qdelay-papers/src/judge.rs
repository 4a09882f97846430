//! The verdict of a claim, from the figures of its runs.

use super::checks::{Check, Side};
use super::claims::{Claim, Paper};
use super::settings::{Setting, SettingFile};
use super::{Row, Verdict};
use qdelay_study::results::round;

/// The result of a run of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimResult {
    /// Not run.
    Nothing,
    /// The reason why this machine cannot judge it.
    Skipped(Option<String>),
    /// Figure of the claim; none where the results do not have it.
    Figure(Option<f64>),
}

impl ClaimResult {
    fn figure(&self) -> Option<f64> {
        match self {
            ClaimResult::Figure(figure) => *figure,
            _ => None,
        }
    }
}

/// A figure that is further off than this many times the paper's is missed, whichever the side.
const FAR: f64 = 2.0;

/// Whether `figure` is within the bounds, better, or neither.
fn place(check: &Check, figure: f64) -> Verdict {
    if check.expect.accepts(figure) {
        return if check.fitted.is_some() { Verdict::Fitted } else { Verdict::Match };
    }
    let Some(paper) = check.expect.paper else { return Verdict::Miss };
    let is_better = match (check.better, check.expect.low, check.expect.high) {
        (Some(Side::Below), Some(low), _) => (paper / FAR..low).contains(&figure),
        (Some(Side::Above), _, Some(high)) => high < figure && figure <= paper * FAR,
        _ => false,
    };
    if is_better { Verdict::Better } else { Verdict::Miss }
}

/// The effect of `setting` on all rows of its section.
pub fn served<'a>(
    paper: &'a Paper,
    setting: &'a Setting,
    found: impl Fn(&'a Claim, Option<&'a Setting>) -> &'a ClaimResult,
) -> SettingFile {
    let mut file = SettingFile {
        name: setting.name.clone(),
        section: setting.section.clone(),
        cause: setting.cause.clone(),
        rows: 0,
        without: 0,
        with: 0,
        lost: Vec::new(),
    };
    for claim in paper.claims.iter().filter(|claim| claim.section == setting.section) {
        let Ok(check) = &claim.check else { continue };
        let (ClaimResult::Figure(without), ClaimResult::Figure(with)) =
            (found(claim, None), found(claim, Some(setting)))
        else {
            continue;
        };
        let holds = |figure: &Option<f64>| figure.is_some_and(|figure| place(check, figure) != Verdict::Miss);
        file.rows += 1;
        file.without += u64::from(holds(without));
        file.with += u64::from(holds(with));
        if holds(without) && !holds(with) {
            file.lost.push(claim.claim.clone());
        }
    }
    file
}

/// Distance of `figure` to the nearer bound, as a share of that bound: negative out of bounds. `None` without a bound other than 0.
fn margin(check: &Check, figure: f64) -> Option<f64> {
    let to = |bound: f64, side: f64| (bound != 0.0).then(|| side * (figure - bound) / bound.abs());
    let low = check.expect.low.and_then(|low| to(low, 1.0));
    let high = check.expect.high.and_then(|high| to(high, -1.0));
    match (low, high) {
        (Some(low), Some(high)) => Some(round(low.min(high))),
        (one, other) => one.or(other).map(round),
    }
}

/// A row that was not judged.
fn blank(claim: &Claim) -> Row {
    let check = claim.check.as_ref();
    Row {
        figure: claim.figure.clone(),
        section: claim.section.clone(),
        claim: claim.claim.clone(),
        unit: claim.unit.clone(),
        paper: claim.paper,
        value: None,
        low: check.ok().and_then(|check| check.expect.low),
        high: check.ok().and_then(|check| check.expect.high),
        bound: claim.bound.clone(),
        verdict: Verdict::Skipped,
        factor: None,
        margin: None,
        source: claim.source,
        cause: check.err().cloned(),
        setting: None,
        with_setting: None,
        scenario: check.ok().and_then(|check| check.scenario().map(str::to_string)),
    }
}

/// The row of `claim`. `setting` is what came of the setting that is to explain it, and its own figure with that.
pub fn judge(claim: &Claim, found: &ClaimResult, setting: Option<(&SettingFile, &ClaimResult)>) -> Row {
    let row = blank(claim);
    let Ok(check) = &claim.check else { return row };
    let value = match found {
        ClaimResult::Nothing => return row,
        ClaimResult::Skipped(cause) => return Row { cause: cause.clone(), ..row },
        ClaimResult::Figure(None) => {
            let cause = Some("the results do not have this figure".to_string());
            return Row { verdict: Verdict::Miss, cause, ..row };
        }
        ClaimResult::Figure(Some(value)) => *value,
    };
    let row = Row { value: Some(value), verdict: place(check, value), margin: margin(check, value), ..row };
    match (row.verdict, setting) {
        (Verdict::Fitted, _) => Row { cause: check.fitted.clone(), ..row },
        (Verdict::Better, _) => Row { factor: claim.paper.map(|paper| round(value / paper)), ..row },
        (Verdict::Miss, Some((served, with))) => explained(row, check, served, with.figure()),
        _ => row,
    }
}

/// A row outside of its bounds; `served` should remove the cause.
fn explained(row: Row, check: &Check, served: &SettingFile, with: Option<f64>) -> Row {
    let holds = with.is_some_and(|figure| check.expect.accepts(figure));
    let (verdict, cause) = match (holds, served.lost.is_empty()) {
        (true, true) => (Verdict::Explained, format!("{}: {}", served.name, served.cause)),
        (true, false) => {
            let lost = served.lost.join("; ");
            (
                Verdict::Miss,
                format!("not explained by '{}', with which these are out of bounds: {lost}", served.name),
            )
        }
        (false, _) => (Verdict::Miss, format!("not explained by '{}'", served.name)),
    };
    Row { verdict, cause: Some(cause), setting: Some(served.name.clone()), with_setting: with, ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(rest: &str) -> Claim {
        let text = format!(
            "title = \"t\"\nauthors = \"a\"\n[[claim]]\nsection = \"I\"\nclaim = \"c\"\nbound = \"b\"\nscenario = \"s\"\n\
             measure = \"m\"\n{rest}\n[[setting]]\nname = \"x\"\nsection = \"I\"\ncause = \"why\"\n"
        );
        Paper::parse("p", &text)
            .map(|mut paper| paper.claims.remove(0))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn verdict(claim: &Claim, figure: f64) -> Verdict {
        judge(claim, &ClaimResult::Figure(Some(figure)), None).verdict
    }

    #[test]
    fn better_is_out_of_bounds_on_the_declared_side_only() {
        let below = claim("low = 1.5\nhigh = 2.5\npaper = 2\nbetter = \"below\"");
        for (figure, wanted) in [
            (1.4999, Verdict::Better),
            (1.5, Verdict::Match),
            (2.5, Verdict::Match),
            (2.5001, Verdict::Miss),
            (1.0, Verdict::Better),
            (0.9999, Verdict::Miss),
            (0.0, Verdict::Miss),
        ] {
            assert_eq!(verdict(&below, figure), wanted, "{figure}");
        }
        let row = judge(&below, &ClaimResult::Figure(Some(1.25)), None);
        assert_eq!((row.factor, row.value), (Some(0.625), Some(1.25)));
        assert_eq!(judge(&below, &ClaimResult::Figure(Some(2.0)), None).factor, None);
        let above = claim("low = 1.5\nhigh = 2.5\npaper = 2\nbetter = \"above\"");
        assert_eq!((verdict(&above, 1.4), verdict(&above, 2.6)), (Verdict::Miss, Verdict::Better));
        assert_eq!((verdict(&above, 4.0), verdict(&above, 4.1)), (Verdict::Better, Verdict::Miss));
        assert_eq!(judge(&above, &ClaimResult::Figure(Some(3.0)), None).factor, Some(1.5));
        let neither = claim("low = 1.5\nhigh = 2.5\npaper = 2");
        assert_eq!((verdict(&neither, 1.4), verdict(&neither, 2.6)), (Verdict::Miss, Verdict::Miss));
    }

    #[test]
    fn margins_are_shares_of_the_nearer_bound() {
        let margin = |bounds: &str, figure: f64| {
            judge(&claim(bounds), &ClaimResult::Figure(Some(figure)), None).margin
        };
        assert_eq!(margin("low = 2", 3.0), Some(0.5));
        assert_eq!(margin("low = 2", 1.0), Some(-0.5));
        assert_eq!(margin("low = 2\nhigh = 4", 3.8), Some(0.05));
        assert_eq!(margin("low = -2", -1.0), Some(0.5));
        assert_eq!(margin("high = 0", -1.0), None);
        assert_eq!(margin("low = 0\nhigh = 4", 5.0), Some(-0.25));
    }

    #[test]
    fn what_was_fitted_is_no_match() {
        let fitted = claim("low = 1\nhigh = 2\nfitted = \"chosen by it\"");
        let row = judge(&fitted, &ClaimResult::Figure(Some(1.5)), None);
        assert_eq!((row.verdict, row.cause.as_deref()), (Verdict::Fitted, Some("chosen by it")));
        assert_eq!(verdict(&fitted, 2.5), Verdict::Miss);
    }

    #[test]
    fn a_row_is_explained_by_a_run_that_loses_no_other() {
        let claim = claim("low = 1\nhigh = 2\nexplained = \"x\"");
        let served = |lost: &[&str]| SettingFile {
            name: "x".into(),
            section: "I".into(),
            cause: "why".into(),
            rows: 2,
            without: 1,
            with: 2,
            lost: lost.iter().map(|&lost| lost.to_string()).collect(),
        };
        let row = |with: Option<f64>, lost: &[&str]| {
            judge(&claim, &ClaimResult::Figure(Some(3.0)), Some((&served(lost), &ClaimResult::Figure(with))))
        };
        let explained = row(Some(1.5), &[]);
        assert_eq!((explained.verdict, explained.cause.as_deref()), (Verdict::Explained, Some("x: why")));
        assert_eq!((explained.setting.as_deref(), explained.with_setting), (Some("x"), Some(1.5)));
        for (with, lost) in [(Some(2.5), &[][..]), (None, &[][..]), (Some(1.5), &["another row"][..])] {
            let missed = row(with, lost);
            assert_eq!(missed.verdict, Verdict::Miss, "{with:?} {lost:?}");
            assert!(missed.cause.is_some_and(|cause| lost.iter().all(|lost| cause.contains(lost))));
        }
        let inside = judge(
            &claim,
            &ClaimResult::Figure(Some(1.0)),
            Some((&served(&[]), &ClaimResult::Figure(Some(9.0)))),
        );
        assert_eq!((inside.verdict, inside.setting), (Verdict::Match, None));
    }

    #[test]
    fn what_was_not_run_is_skipped_and_a_figure_that_is_not_there_is_missed() {
        let claim = claim("low = 1");
        assert_eq!(judge(&claim, &ClaimResult::Nothing, None).verdict, Verdict::Skipped);
        let skipped = judge(&claim, &ClaimResult::Skipped(Some("no trace".into())), None);
        assert_eq!((skipped.verdict, skipped.cause.as_deref()), (Verdict::Skipped, Some("no trace")));
        let missing = judge(&claim, &ClaimResult::Figure(None), None);
        assert!(
            missing.verdict == Verdict::Miss && missing.cause.is_some_and(|cause| cause.contains("figure"))
        );
    }
}
