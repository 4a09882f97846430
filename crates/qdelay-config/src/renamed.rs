//! Keys with a new name. The old name is refused, and the error names the new one.

/// A key with a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedKey {
    /// Name that is refused.
    pub old: &'static str,
    /// Name of the key.
    pub new: &'static str,
    /// True if the key is a boolean that now has the opposite meaning.
    pub is_inverted: bool,
}

/// Every renamed key, of scenarios, claims, gateways and Python.
pub static RENAMED: [RenamedKey; 17] = [
    RenamedKey { is_inverted: true, ..renamed("once", "repeat") },
    renamed("reorder_by", "reorder_delay"),
    renamed("spread", "start_spread"),
    renamed("other_dscp", "second_dscp"),
    renamed("other_share", "second_share"),
    renamed("access", "access_rate"),
    renamed("discard_after", "discard_delay"),
    renamed("upf", "upf_qdisc"),
    renamed("usp", "upf_pacer"),
    renamed("sdap", "sdap_qdisc"),
    renamed("rlc_queue", "rlc_qdisc"),
    renamed("feedback", "feedback_delay"),
    renamed("polling", "pacer_interval"),
    renamed("air", "decoding_delay"),
    renamed("control", "control_ttis"),
    renamed("over", "aggregate"),
    renamed("versus", "alternatives"),
];

const fn renamed(old: &'static str, new: &'static str) -> RenamedKey {
    RenamedKey { old, new, is_inverted: false }
}

impl RenamedKey {
    /// The key with the old name `old`, if its new name is among `known`.
    pub fn find(old: &str, known: &[&str]) -> Option<&'static RenamedKey> {
        RENAMED.iter().find(|key| key.old == old && known.contains(&key.new))
    }

    /// Mistake and expected input, for the error of a file.
    pub fn message(&self) -> String {
        let RenamedKey { old, new, is_inverted } = self;
        if *is_inverted {
            return format!(
                "was renamed to '{new}' and inverted; expected {new} = false instead of {old} = true"
            );
        }
        format!("was renamed; expected {new}")
    }

    /// Mistake and expected input, for the error of a keyword in Python.
    pub fn keyword_message(&self) -> String {
        let RenamedKey { old, new, is_inverted } = self;
        if *is_inverted {
            return format!(
                "was renamed to '{new}' and inverted; expected {new}=False instead of {old}=True"
            );
        }
        format!("was renamed; expected {new}=")
    }

    /// The option of the command line with this name.
    pub fn option(&self) -> String {
        format!("--{}{}", if self.is_inverted { "no-" } else { "" }, self.new.replace('_', "-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_name_leads_to_the_new_one_where_it_is_known() {
        let find = |old| RenamedKey::find(old, &["repeat", "start_spread"]);
        assert_eq!(
            find("spread").map(RenamedKey::message).as_deref(),
            Some("was renamed; expected start_spread")
        );
        assert_eq!((find("access"), find("repeat")), (None, None));
        let once = find("once").unwrap();
        assert_eq!(
            (once.message().as_str(), once.option().as_str()),
            (
                "was renamed to 'repeat' and inverted; expected repeat = false instead of once = true",
                "--no-repeat"
            )
        );
    }

    #[test]
    fn no_name_is_both_old_and_new() {
        assert!(RENAMED.iter().all(|key| RENAMED.iter().all(|other| other.old != key.new)));
    }
}
