//! Labels of axes, as the files of papers give them.

use qdelay_study::expect::Selection;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Labels of an axis, as files give them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Labels {
    One(String),
    Several(Vec<String>),
}

pub(crate) fn selection(given: &BTreeMap<String, Labels>) -> Selection {
    let labels = |labels: &Labels| match labels {
        Labels::One(label) => vec![label.clone()],
        Labels::Several(labels) => labels.clone(),
    };
    given.iter().map(|(axis, given)| (axis.clone(), labels(given))).collect()
}
