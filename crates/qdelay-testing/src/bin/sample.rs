//! Program in which one test passes, one fails and others are not run: for `tests/outcomes.rs`.

use qdelay_testing::{helper, test};

#[test]
fn passes() {}

#[test]
fn fails() {
    panic!("on purpose");
}

#[test]
#[ignore = "for a reason"]
fn on_request() {}

#[test(Lab)]
fn of_a_part() {}

mod inner {
    use qdelay_testing::{Need, skip, test};

    #[test]
    fn skipped() {
        skip(Need::Traces, "none\nhere");
    }
}

#[helper]
fn answers() {
    println!("the helper");
}

#[helper]
fn breaks_off() {
    panic!("as a helper may");
}

qdelay_testing::main!();
