//! Traces of a scenario: places, windows, files, and a library that threads share.

use crate::scenario::{link, study};
use qdelay_core::Span;
use qdelay_path::LinkModel;
use qdelay_study::InputError;
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use serde_json::json;

/// With several seeds, each begins at its own place on every trace and starts flows at its own times; with a single seed, runs
/// begin at the start.
#[test]
fn seeds_have_places_of_their_own() {
    const TEXT: &str = r#"
        [path]
        trace = "synth-subway"
        uplink = "none"
        [[flow]]
        [[flow]]
        start = "1s"
        start_spread = "1ms"
        [run]
        duration = "10s"
        [matrix]
        path.qdisc = ["taildrop", "codel"]
    "#;
    let cases = |more: &str| -> Vec<Case> {
        let study = study(&TEXT.replace("[run]", &format!("[run]\n{more}")));
        (0..study.case_count()).map(|index| study.case(index, &Library::new()).unwrap()).collect()
    };
    let place = |case: &Case| case.settings["run"]["places"]["synth-subway"].clone();
    let starts = |case: &Case| case.scenario.flows.iter().map(|flow| flow.start).collect::<Vec<Span>>();
    let [one, other] = cases("").try_into().unwrap();
    assert_eq!((place(&one), starts(&one)), (json!(null), starts(&other)));
    assert_eq!(starts(&one)[0], Span::ZERO);
    let several = cases("seeds = \"1..3\"");
    for (first, second) in several[..3].iter().zip(&several[3..]) {
        assert_eq!(place(first), place(second), "the same for every discipline");
        assert_eq!(starts(first), starts(second));
        assert!(starts(first)[0] <= Span::from_millis(200));
        assert!((Span::from_secs(1)..=Span::from_millis(1001)).contains(&starts(first)[1]));
    }
    let mut places: Vec<String> = several[..3].iter().map(|case| place(case).to_string()).collect();
    places.dedup();
    assert_eq!(places.len(), 3);
    let fixed = cases("seeds = \"1..3\"\nstarts = \"fixed\"");
    assert!(fixed.iter().all(|case| place(case) == json!(null) && starts(case)[0].is_zero()));
    assert_eq!(fixed[0].settings["run"]["starts"], json!("fixed"));
    let random = cases("starts = \"random\"");
    assert_eq!(place(&random[0]), place(&several[0]), "by the seed, however many there are");
}

/// A window of a trace is used like a trace.
#[test]
fn windows_of_traces_have_their_length() {
    let text = |trace: &str| format!("[path]\ntrace = \"{trace}\"\n[[flow]]\n");
    let length = |trace: &str| {
        let case = study(&text(trace)).case(0, &Library::new()).unwrap();
        (link(&case).length(), case.traces.keys().next().cloned())
    };
    let window = "synth-subway:from=5s:for=7s:scale=0.5";
    assert_eq!(length(window), (Some(Span::from_secs(7)), Some(window.to_string())));
    for (trace, error) in [
        ("synth-subway:from=5000s", "expected a window of a length above 0 that ends within the trace"),
        ("synth-subway:form=5s", "has no key 'form'; known: from, for, scale"),
        ("nowhere:from=5s", "no trace 'nowhere'"),
    ] {
        let found = study(&text(trace)).check(&Library::new()).unwrap_err().to_string();
        assert!(found.contains("my.toml: line 2: path.trace: ") && found.contains(error), "{found}");
    }
}

fn on_trace(library: &Library, name: &str) -> Result<Case, InputError> {
    let text = format!("[path]\ntrace = \"{name}\"\n[[flow]]\n[fallback]\n\"gone\" = \"synth-subway\"\n");
    Study::parse("s.toml", &text, &Overrides::default())?.case(0, library)
}

#[test]
fn traces_are_searched_in_order() {
    let (beside, extra) = (Folder::new("beside"), Folder::new("extra"));
    beside.write("both.down", "1\n2\n");
    extra.write("both.down", "1\n2\n3\n");
    extra.write("deep/only.down", "5\n");
    extra.write("synth-subway", "7\n");
    extra.write("bad", "5\nx\n");
    extra.write("table.csv", "a,b\n1,2\n");
    let library = Library::new().beside(beside.path()).folder(extra.path());
    let digest = |name: &str| on_trace(&library, name).unwrap().traces[name].digest.clone();
    let alone = Library::new().beside(extra.path());
    let other = on_trace(&alone, "both.down").unwrap().traces["both.down"].digest.clone();
    assert_ne!(digest("both.down"), other, "beside the scenario comes first");
    assert_eq!(digest("deep/only.down").len(), 16);
    assert_eq!(
        digest("synth-subway"),
        on_trace(&Library::new(), "synth-subway").unwrap().traces["synth-subway"].digest
    );
    let stands_in = on_trace(&library, "gone").unwrap();
    assert_eq!(stands_in.traces["synth-subway"].substitute_for.as_deref(), Some("gone"));
    assert_eq!(stands_in.settings["path"]["trace"], "gone");
    extra.write("gone", "9\n");
    let found = Library::new().folder(extra.path());
    assert_eq!(on_trace(&found, "gone").unwrap().traces["gone"].substitute_for, None);
    let error = |name: &str| on_trace(&library, name).unwrap_err().to_string();
    assert!(
        error("bad").starts_with("s.toml: line 2: path.trace: ") && error("bad").contains("bad: line 2: ")
    );
    assert!(error("table.csv").contains("as in FILE:format=[csv:column=NAME]"));
    assert!(error("deep").contains("is a folder"));
    assert!(error("nowhere").contains("no trace 'nowhere'"));
}

/// A table is read wherever a trace is: on the path, a hop, the uplink and as a channel of a cell.
#[test]
fn the_name_of_a_trace_has_its_format() {
    let library = || {
        Library::new()
            .with_contents("table.csv", &b"t,r\n0,10\n1,20\n2,30\n"[..])
            .with_contents("a", &b"0\n5\n"[..])
    };
    let case = |text: String| study(&text).case(0, &library()).map_err(|error| error.to_string());
    let name = "table.csv:format=[csv:r:time=t]:for=2s";
    let path = |keys: &str| format!("[path]\n{keys}\n[[flow]]\n[run]\nduration = \"1s\"\n");
    let by_name = case(path(&format!("trace = \"{name}\"\nuplink = \"{name}\""))).unwrap();
    let by_key =
        case(path("trace = \"table.csv:for=2s\"\ntrace_format = \"csv:r:time=t\"\nuplink = \"none\""))
            .unwrap();
    let length = |case: &Case| link(case).length();
    assert_eq!((length(&by_name), length(&by_key)), (Some(Span::from_secs(2)), Some(Span::from_secs(2))));
    assert_eq!(by_name.traces[name].digest, by_key.traces["table.csv:for=2s"].digest);
    let hop = format!(
        "[path]\ntrace = \"a\"\n[[path.hop]]\nname = \"far\"\ntrace = \"{name}\"\n[[flow]]\n[run]\nduration = \"1s\"\n"
    );
    assert!(case(hop).unwrap().traces.contains_key(name));
    let cell = |channel: &str| {
        case(format!(
            "[cell]\ntechnology = \"lte\"\nprbs = 25\nchannel = \"{channel}\"\nrlc = \"um\"\n[[cell.ue]]\nname = \"phone\"\n\
             [[cell.ue.bearer]]\n[path]\nrtt = \"20ms\"\n[[flow]]\nname = \"d\"\n[run]\nduration = \"1s\"\n"
        ))
    };
    assert!(cell("trace:table.csv:format=[csv:r:time=t]").unwrap().traces.contains_key("table.csv"));
    let refused = cell("trace:table.csv").unwrap_err();
    assert!(refused.contains("as in FILE:format=[csv:column=NAME]"), "{refused}");
    let twice = path(&format!("trace = \"{name}\"\ntrace_format = \"csv:r\""));
    let twice = case(twice).unwrap_err();
    assert!(twice.contains("the name has a format and trace_format gives another"), "{twice}");
}

#[test]
fn threads_share_a_library() {
    let text = "[path]\ntrace = \"synth-subway\"\n[[flow]]\n[run]\nseeds = \"1..40\"\n";
    let (study, library) = (study(text), Library::new());
    let ids: Vec<String> = std::thread::scope(|scope| {
        let (study, library) = (&study, &library);
        let parts: Vec<_> = (0..4)
            .map(|part| {
                scope.spawn(move || {
                    (part * 10..part * 10 + 10)
                        .map(|index| study.case(index, library).unwrap().id)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert_eq!((ids.len(), ids[0].as_str(), ids[39].as_str()), (40, "00-1", "39-40"));
}
