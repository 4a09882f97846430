//! The comment with which a capture of a link marks a packet that the path dropped.

/// Comment of a packet that `node` dropped for `reason`.
pub fn drop_comment(node: &str, reason: &str) -> String {
    format!("{DROPPED}{node}: {reason}")
}

/// Whether a comment is one of [`drop_comment`].
pub fn is_drop_comment(comment: &str) -> bool {
    comment
        .strip_prefix(DROPPED)
        .and_then(|rest| rest.split_once(": "))
        .is_some_and(|(node, _)| !node.is_empty())
}

const DROPPED: &str = "dropped by ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_drops_are_told_from_others() {
        for (node, reason) in [("down", "sojourn_bound"), ("down-delay", "loss"), ("up", "")] {
            assert!(is_drop_comment(&drop_comment(node, reason)));
        }
        for other in [
            "dropped",
            "look at this one!",
            "dropped by accident?",
            "Dropped by down: x",
            "was dropped by down: x",
        ] {
            assert!(!is_drop_comment(other), "{other}");
        }
    }
}
