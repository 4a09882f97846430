//! The name of a study, which is also the path of its folder below the folder of results.

/// The name of a study: `my` for the file `dir/my.toml`; a shipped scenario keeps its name. The name leads to a folder below the
/// folder of results.
pub(super) fn study_name(name: &str) -> String {
    let last = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_string();
    let name = match name.strip_suffix(".toml") {
        Some(stem) => last(stem),
        None => return name_below(name),
    };
    name_below(&name)
}

/// `name`, or only its last part if the whole would lead out of the folder of results.
pub(super) fn name_below(name: &str) -> String {
    let name = match name.split(['/', '\\']).any(|part| ["", ".", ".."].contains(&part)) {
        true => name.rsplit(['/', '\\']).next().unwrap_or_default(),
        false => name,
    };
    match name {
        "" | "." | ".." => "scenario".to_string(),
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::study_name;

    #[test]
    fn a_study_name_stays_below_the_results_folder() {
        let names = [
            ("demo/first", "demo/first"),
            ("my.toml", "my"),
            ("../dir/my.toml", "my"),
            ("/dev/fd/63", "63"),
            ("../my", "my"),
            ("./my", "my"),
            ("...toml", "scenario"),
            ("dir/.toml", "scenario"),
            ("", "scenario"),
        ];
        for (given, called) in names {
            assert_eq!(study_name(given), called, "{given}");
        }
    }
}
