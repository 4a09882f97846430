//! The lines of `docs/one-line.md`: each is accepted and runs its command. Their effects are tested in `link_changes.rs`.

use crate::common::{command, folder};
use crate::link_support::{machine, output};
use std::path::Path;

#[test]
fn every_line_of_the_page_runs() {
    let machine = machine();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/one-line.md");
    let text = std::fs::read_to_string(page).unwrap();
    let lines = text.lines().filter_map(|line| line.split('`').nth(1));
    let folder = folder("link-lines");
    let mut count = 0;
    for line in lines.filter(|line| line.starts_with("qdelay link ") && line.ends_with(" COMMAND")) {
        count += 1;
        let program = command(&[]).get_program().to_string_lossy().into_owned();
        let words: Vec<String> = line
            .split(' ')
            .skip(1)
            .map(|word| match word {
                "COMMAND" => "true".to_string(),
                // A link within a link.
                "qdelay" => program.clone(),
                file if file.starts_with("link.") => folder.join(file).display().to_string(),
                other => other.to_string(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // What the machine is too busy for is not the line's.
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "coarse" { "60min" } else { word }).collect();
        let output = output(&machine, command(&words));
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        // A link without a packet has no verdict that could be required.
        let is_required = words.contains(&"--require");
        assert!(
            output.status.success() || is_required && complaint.contains("no packet was released"),
            "{line}: {complaint}"
        );
    }
    assert!(count >= 12, "{count} lines");
}
