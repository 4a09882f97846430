//! Losses over time: a constant one is a percentage, files begin with the capacity's trace, and errors name their place.

use crate::common::study;
use crate::delays::{figures, run};
use qdelay_path::{LossModel, OverTime};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_trace::{LossRate, LossStep, LossSteps};
use serde_json::json;

fn scenario(path: &str) -> String {
    format!(
        "[path]\nlink = \"20mbit\"\nuplink = \"5mbit\"\nqdisc = \"codel\"\n{path}\n[[flow]]\ntransport = \"cubic\"\n[[flow]]\n\
         transport = \"udp:2mbit\"\n[run]\nduration = \"4s\"\n"
    )
}

#[test]
fn a_constant_loss_over_time_is_a_percentage() {
    let slots = "2\n".repeat(50);
    let files = [("slots.txt", slots.as_str()), ("columns.txt", "5 1\n6 1\n7.5 1\n")];
    for key in ["loss", "uplink_loss"] {
        let with = |loss: &str| figures(&run(&scenario(&format!("{key} = \"{loss}\"")), &files));
        let constant = with("2%");
        assert_ne!(constant, figures(&run(&scenario(""), &[])));
        for loss in [
            "random:2%",
            "steps:0s@2%",
            "steps:0s@2%+1s@2%:repeat=3s",
            "trace:slots.txt",
            "trace:slots.txt:every=1s:repeat=off",
            "trace:columns.txt:scale=2",
        ] {
            assert_eq!(with(loss), constant, "{key} {loss}");
        }
        let as_table = "{ steps = { profile = \"0s@2%\" } }";
        assert_eq!(figures(&run(&scenario(&format!("{key} = {as_table}")), &[])), constant);
        assert_eq!(with("steps:0s@0%+1s@0%"), figures(&run(&scenario(""), &[])));
    }
}

/// All packets of the second second are lost, and no others.
#[test]
fn packets_are_lost_while_the_step_holds() {
    let text = |loss: &str| {
        format!(
            "[path]\nlink = \"1gbit\"\nloss = \"{loss}\"\n[[flow]]\ntransport = \"udp:1mbit:size=125b\"\n\
             [run]\nduration = \"4s\"\nwarmup = \"0s\"\nstarts = \"fixed\"\n"
        )
    };
    let table = "s,lost\n100,0\n101,1\n102,0\n103,x\n104,0\n";
    let files = [("outage.txt", "100 0\n101 100\n102 0\n104 0\n"), ("outage.csv", table)];
    for loss in [
        "steps:0s@0%+1s@100%+2s@0%",
        "trace:outage.txt",
        "trace:outage.txt:from=0s:for=3s",
        "trace:outage.csv:format=[csv:lost:time=s:unit=ratio:missing=hold]",
        "trace:outage.csv:for=3s:format=[csv:lost:unit=ratio:missing=zero]",
    ] {
        let summary = run(&text(loss), &files);
        let lost = summary.cases[0].groups["flow-1"].packets_lost;
        // A packet each ms; the last window starts over with its first second.
        assert!(lost.abs_diff(1000) <= 1, "{loss} {lost}");
    }
}

/// With several seeds a file of losses begins at the share of its length at which the trace of the capacity does.
#[test]
fn files_begin_with_the_trace_of_the_capacity() {
    let minutes = (0..60).map(|n| format!("{}\n", n % 7)).collect::<String>();
    let capacity = (0..60_000).step_by(5).map(|ms| format!("{}\n", ms + 5)).collect::<String>();
    let library = Library::new()
        .with_contents("capacity", capacity.into_bytes())
        .with_contents("loss.txt", minutes.clone().into_bytes())
        .with_contents("delay.txt", minutes.replace('0', "9").into_bytes());
    let text = "[path]\ntrace = \"capacity\"\nloss = \"trace:loss.txt:every=1s\"\nrtt = \"trace:delay.txt:every=1s\"\n\
                [[flow]]\n[run]\nseeds = [1, 2]\nduration = \"4s\"\n";
    let case = study(text).case(1, &library).unwrap();
    let places = &case.settings["run"]["places"];
    assert!(places["capacity"] != json!(null) && places["capacity"] != json!("0s"), "{places}");
    assert_eq!((&places["loss.txt"], &places["delay.txt"]), (&places["capacity"], &places["capacity"]));
    let place = qdelay_core::units::parse_span(places["capacity"].as_str().unwrap()).unwrap();
    // What the file says, written out by hand.
    let steps = (0..60).map(|n| LossStep {
        start: qdelay_core::Time::ZERO + qdelay_core::Span::from_secs(n),
        value: LossRate((n % 7) as f64 / 100.0),
    });
    let steps = LossSteps::new(steps.collect(), qdelay_core::Span::from_secs(60)).unwrap();
    let expected = LossModel::over_time(OverTime::new(steps, true).starting_from(place));
    assert_eq!(case.scenario.impairments.down.loss, expected);
    let traces: Vec<_> = case.traces.keys().map(String::as_str).collect();
    assert_eq!(traces, ["capacity", "delay.txt", "loss.txt"]);
}

#[test]
fn mistakes_name_their_place() {
    let error = |key: &str, loss: &str| {
        let text = scenario(&format!("{key} = \"{loss}\""));
        match Study::parse("my.toml", &text, &Overrides::default()) {
            Err(error) => error.to_string(),
            Ok(study) => {
                let library = Library::new()
                    .with_contents("bad.txt", b"1\nx\n".to_vec())
                    .with_contents("bad.csv", b"t,p\n0,1\n1,x\n".to_vec())
                    .with_contents("much.txt", b"1\n60\n".to_vec());
                study.case(0, &library).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
            }
        }
    };
    for key in ["loss", "uplink_loss"] {
        for (loss, expected) in [
            ("often", "'often': unknown loss 'often'"),
            ("steps:0s@101%", "expected at most 100%"),
            ("steps:0s@0.5", "in step '0s@0.5'"),
            ("steps:1s@1%", "time 0"),
            ("steps:0s@1%:repeat=0s", "repeat"),
            ("steps", "no profile; expected one, as in steps:0s@0%+14.9s@30%:repeat=15s"),
            ("trace", "no file; expected one, such as trace:loss.txt"),
            ("trace:none.txt", "no trace 'none.txt'"),
            ("trace:bad.txt", "line 2: expected a loss in percent"),
            (
                "trace:bad.csv:format=[csv:p:time=t]",
                "line 3: expected a loss in percent, 0 to 100, found 'x'; missing=hold, zero or skip",
            ),
            ("trace:bad.csv", "format=[csv:column=NAME] reads a table"),
            ("trace:bad.csv:format=irtt", "format: 'irtt' has no losses; expected csv:column=NAME"),
            ("trace:bad.csv:format=[csv:p:unit=ms]", "format: 'csv:p:unit=ms': unit=ms"),
            (
                "trace:bad.csv:format=csv",
                "no column; expected csv:column=NAME; a format with keys stands in brackets",
            ),
            ("trace:much.txt:scale=2", "scale: '120%' is too large; expected at most 100%"),
            ("trace:much.txt:from=1m", "from"),
        ] {
            let found = error(key, loss);
            assert!(found.starts_with(&format!("my.toml: line 5: path.{key}: ")), "{found}");
            assert!(found.contains(expected), "{found}");
        }
    }
}
