//! Components in C, compiled by the tests and used through the command.

use crate::architecture::root;
use crate::common::{file, folder, json, read, refused, run, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles `source` as the shared object `folder/name`; returns its full path.
fn compile(source: &Path, folder: &Path, name: &str) -> String {
    let object = folder.join(name);
    let output = Command::new("cc")
        .args([
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-override-init",
            "-Wno-unused-function",
            "-fPIC",
            "-shared",
            "-I",
        ])
        .arg(root().join("crates/qdelay-native/include"))
        .arg("-o")
        .args([&object, source])
        .arg("-lm")
        .output()
        .expect("the C compiler runs, which Rust needs as well");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    object.to_str().unwrap().to_string()
}

pub fn example(name: &str, folder: &Path) -> String {
    compile(&root().join(format!("examples/own-c/{name}.c")), folder, &format!("{name}.so"))
}

/// Law with these fields of its description; `before` holds definitions for them.
fn law(folder: &Path, name: &str, before: &str, fields: &str) -> String {
    let text = format!(
        "#include \"qdelay_component.h\"\n{before}\n\
         static const qdelay_component description = {{ .abi = QDELAY_ABI, .size = sizeof description, .kind = QDELAY_AQM,\n\
         .name = \"own\", .meaning = \"a law\", {fields} }};\n\
         QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) {{ return &description; }}\n"
    );
    let source = file(folder, &format!("{name}.c"), text);
    compile(Path::new(&source), folder, &format!("{name}.so"))
}

const PASSES: &str =
    "static uint32_t admit(void *s, const qdelay_call *c) { (void)s; (void)c; return QDELAY_PASS; }";

/// Figures of a case without its name and cost.
fn figures(case: &Value) -> Value {
    let mut figures = case.clone();
    let fields = figures.as_object_mut().unwrap();
    for name in ["axes", "labels", "id", "cpu_seconds", "wall_seconds", "cost", "max_rss_mb"] {
        fields.remove(name);
    }
    for flow in fields.get_mut("flows").and_then(Value::as_array_mut).into_iter().flatten() {
        flow.as_object_mut().unwrap().remove("transport");
    }
    figures
}

#[test]
fn codel_in_c_decides_as_the_built_in_one() {
    let object = example("codel", &folder("native-codel"));
    for (parameters, link) in [
        ("", "--trace synth-lte-driving"),
        (":target=20ms:interval=200ms", "--trace synth-subway"),
        (":limit=60", "--link 10mbit"),
    ] {
        let qdiscs = format!("{object}{parameters},codel{parameters}");
        let options = format!("--seed 1..3 --transport cubic,bbr --flows 2 --duration 20s {link}");
        let mut arguments = vec!["compare", "--json", "--qdisc", &qdiscs];
        arguments.extend(options.split_whitespace());
        let report = json(&arguments);
        let of = |name: String| -> Vec<Value> {
            let cases = report["cases"].as_array().unwrap().iter();
            cases.filter(|case| case["axes"]["qdisc"] == name.as_str()).map(figures).collect()
        };
        let (ours, theirs) = (of(format!("{object}{parameters}")), of(format!("codel{parameters}")));
        assert_eq!((ours.len(), theirs.len()), (6, 6));
        assert!(ours == theirs, "{parameters} {link}");
        let drops: f64 =
            ours.iter().map(|case| case["drops_by_reason"]["codel"].as_f64().unwrap_or_default()).sum();
        assert!(drops > 100.0, "{drops}: {}", ours[0]);
    }
}

/// Description with the length of a header without congestion controls.
#[test]
fn a_description_of_the_first_header_is_taken() {
    let object = law(&folder("native-first"), "first", PASSES, ".size = 104, .admit = admit");
    let options =
        ["compare", "--json", "--link", "10mbit", "--transport", "cubic", "--duration", "6s", "--qdisc"];
    let report = json(&[&options[..], &[&format!("{object},taildrop")]].concat());
    let [ours, theirs] = [0, 1].map(|case| figures(&report["cases"][case]));
    assert_eq!(ours, theirs);
}

#[test]
fn reno_in_c_decides_as_the_built_in_one() {
    let object = example("reno", &folder("native-reno"));
    for (parameters, link) in [
        ("", "--trace synth-lte-driving --qdisc codel,bode"),
        (":ecn=on:iw=4", "--trace synth-subway --qdisc codel:ecn=on,taildrop"),
        (":ack_every=4:loss=dupack", "--link 10mbit --qdisc pie,codel --flows 3"),
    ] {
        let transports = format!("{object}{parameters},reno{parameters}");
        let options = format!("--seed 1..3 --duration 30s {link}");
        let mut arguments = vec!["compare", "--json", "--transport", &transports];
        arguments.extend(options.split_whitespace());
        let report = json(&arguments);
        let of = |name: String| -> Vec<Value> {
            let cases = report["cases"].as_array().unwrap().iter();
            cases.filter(|case| case["axes"]["transport"] == name.as_str()).map(figures).collect()
        };
        let (ours, theirs) = (of(format!("{object}{parameters}")), of(format!("reno{parameters}")));
        assert_eq!((ours.len(), theirs.len()), (6, 6));
        assert!(ours == theirs, "{parameters} {link}");
    }
}

/// Expected throughput over a link with spare capacity: a window of W segments carries W segments a round trip, a pace of R bit/s carries
/// R.
#[test]
fn a_window_and_a_pace_of_its_own_carry_what_they_must() {
    let text = "#include \"qdelay_component.h\"\n\
        typedef struct { uint64_t window, rate; } state;\n\
        static const qdelay_parameter parameters[] = {\n\
        {.name = \"window\", .unit = QDELAY_COUNT, .words = \"segments\", .default_value = \"20\", .min = \"1\"},\n\
        {.name = \"rate\", .unit = QDELAY_RATE}};\n\
        static const char *init(void *s, const qdelay_value *v) {\n\
        ((state *)s)->window = v[0].whole; ((state *)s)->rate = v[1].is_set ? v[1].whole : 0; return 0; }\n\
        static void ack(void *s, const qdelay_connection *c, qdelay_window *w) {\n\
        (void)c; w->cwnd = (uint32_t)((state *)s)->window; w->pacing_rate = ((state *)s)->rate; }\n\
        static const qdelay_component description = { .abi = QDELAY_ABI, .size = sizeof description, .kind = QDELAY_CONTROL,\n\
        .flags = QDELAY_OWNS_WINDOW, .name = \"fixed\", .meaning = \"a window that stays\", .parameters = parameters,\n\
        .parameter_count = 2, .state_size = sizeof(state), .init = init, .start = ack, .ack = ack };\n\
        QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) { return &description; }\n";
    let folder = folder("native-fixed");
    let source = file(&folder, "fixed.c", text);
    let object = compile(Path::new(&source), &folder, "fixed.so");
    let transports = format!("{object}:window=10,{object}:window=40,{object}:window=1000:rate=6mbit");
    let report = json(&[
        "compare",
        "--json",
        "--link",
        "100mbit",
        "--rtt",
        "100ms",
        "--duration",
        "20s",
        "--warmup",
        "5s",
        "--qdisc",
        "taildrop",
        "--transport",
        &transports,
    ]);
    let mbps = |case: usize| report["cases"][case]["throughput_mbps"].as_f64().unwrap();
    // 1448 bytes of data are 1500 bytes at the link, and the pace counts data; the round trip is 100 ms plus one or two packet times.
    let of_window = |segments: f64| segments * 1500.0 * 8.0 / 0.1 / 1e6;
    for (case, expected) in [(0, of_window(10.0)), (1, of_window(40.0)), (2, 6.0 * 1500.0 / 1448.0)] {
        assert!((mbps(case) / expected - 1.0).abs() < 0.05, "{case}: {} beside {expected}", mbps(case));
    }
}

#[test]
fn a_control_is_listed_and_is_no_discipline() {
    let folder = folder("native-kinds");
    let (control, queue) = (example("reno", &folder), example("codel", &folder));
    let listed = succeed(&["list", &control]);
    for part in ["RFC 5681", "delayed_ack", "rcvbuf"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let told = |option: &str, object: &str, part: &str| {
        refused(&["compare", "--link", "10mbit", option, object], &[part]);
    };
    told("--qdisc", &control, "is a congestion control; expected a queue discipline here");
    told("--transport", &queue, "is a queue discipline; expected a congestion control here");
    told("--transport", &format!("{control}:mss=1"), "mss=1: out of range");
    let scenario = file(
        &folder,
        "own.toml",
        "[path]\nlink = \"10mbit\"\nrtt = \"40ms\"\n[[flow]]\ntransport = \"./reno.so\"\n[run]\nduration = \"6s\"\nwarmup = \"1s\"\n",
    );
    let out = folder.join("out");
    let arguments = ["run", &scenario, "--out", out.to_str().unwrap(), "--no-report"];
    refused(&arguments, &["transport", "'./reno.so'", "--allow-native"]);
    succeed(&[&arguments[..], &["--allow-native"]].concat());
    assert!(read(&out.join("study.json"))["component_files"]["./reno.so"].is_string());
}

/// PDCP ciphers packets, so a law that distinguishes packets by their contents is refused behind it.
#[test]
fn a_law_says_what_it_tells_packets_apart_by() {
    let folder = folder("native-classifies");
    law(&folder, "plain", PASSES, ".admit = admit");
    law(&folder, "apart", PASSES, ".admit = admit, .classifies = \"flow\"");
    let scenario = |name: &str| {
        let text = format!(
            "[cell]\npdcp = \"standard\"\nrlc_qdisc = \"./{name}.so\"\n[[cell.ue]]\n[[flow]]\ntransport = \"cubic\"\n[run]\nduration = \"3s\"\nwarmup = \"1s\"\n"
        );
        file(&folder, &format!("{name}.toml"), text)
    };
    let run = |name: &str| {
        let out = folder.join(format!("out-{name}"));
        let out = out.to_str().unwrap().to_string();
        [
            "run".to_string(),
            scenario(name),
            "--out".to_string(),
            out,
            "--no-report".to_string(),
            "--allow-native".to_string(),
        ]
    };
    let as_str = |words: &[String; 6]| words.each_ref().map(|word| word.as_str().to_string());
    let (plain, apart) = (as_str(&run("plain")), as_str(&run("apart")));
    succeed(&plain.each_ref().map(String::as_str));
    refused(
        &apart.each_ref().map(String::as_str),
        &["the discipline classifies packets by flow", "ciphered"],
    );
}

#[test]
fn it_is_listed_and_its_parameters_are_checked() {
    let folder = folder("native-list");
    let object = example("codel", &folder);
    let listed = succeed(&["list", &object]);
    for part in ["RFC 8289 section 5", "target", "1us to 100s", "limit_bytes"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let header = succeed(&["list", "--header"]);
    assert!(header.contains("qdelay_component_v1"));
    let told = |parameters: &str, parts: &[&str]| {
        refused(&["compare", "--link", "10mbit", "--qdisc", &format!("{object}:{parameters}")], parts);
    };
    told("target=0ms", &["target=0ms: out of range; expected 1us to 100s"]);
    told("tarjet=5ms", &["has no key 'tarjet'", "did you mean 'target'?"]);
    told("target=nan", &["target=nan"]);
    told("target=200ms:interval=100ms", &["target is longer than interval"]);
}

#[test]
fn the_example_drops_as_the_one_in_rust() {
    let object = example("random_early", &folder("native-early"));
    let qdisc = format!("priority:ef@bode+rest@[{object}:full=40]");
    let report = json(&["compare", "--json", "--link", "10mbit", "--duration", "10s", "--qdisc", &qdisc]);
    let case = &report["cases"][0];
    assert!(case["drops_by_reason"]["early"].as_f64().unwrap() > 10.0, "{case}");
}

#[test]
fn a_file_names_code_only_if_the_user_allows_it() {
    let folder = folder("native-scenario");
    example("random_early", &folder);
    example("codel", &folder);
    fs::copy(root().join("examples/own-c/scenario.toml"), folder.join("scenario.toml")).unwrap();
    let (scenario, out) = (folder.join("scenario.toml"), folder.join("out"));
    let (scenario, out) = (scenario.to_str().unwrap(), out.to_str().unwrap());
    let arguments = ["run", scenario, "--duration", "6s", "--seeds", "1", "--out", out, "--no-report"];
    refused(
        &arguments,
        &["matrix.path.qdisc", "'./random_early.so:full=50'", "all rights", "--allow-native"],
    );
    let allowed = [&arguments[..], &["--allow-native"]].concat();
    succeed(&allowed);
    let study = read(&folder.join("out/study.json"));
    let digest = study["component_files"]["./codel.so"].as_str().unwrap();
    let sum = Command::new("sha256sum").arg(folder.join("codel.so")).output().unwrap();
    assert!(String::from_utf8_lossy(&sum.stdout).starts_with(digest), "{digest}");
    // All cases are done; afterwards the file changes.
    succeed(&allowed);
    law(&folder, "codel", PASSES, ".admit = admit");
    refused(&allowed, &["another file './codel.so'", "--fresh"]);
    // A configuration of the gateway follows the same rule.
    let gateway =
        "[gateway]\noutside = \"lo\"\ninside = \"lo1\"\n[down]\nlink = \"10mbit\"\nqdisc = \"./codel.so\"\n";
    let config = file(&folder, "gateway.toml", gateway);
    let output = run(&["gateway", "--check", &config]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-native"), "{output:?}");
}

/// Shards with a shared object are merged if the user allows it as for the run, with the file in the current folder or beside the
/// copy of the scenario and with the same bytes.
#[test]
fn merge_native_takes_the_word_of_the_user() {
    let folder = folder("native-merge");
    example("codel", &folder);
    let text = "[path]\nlink = \"5mbit\"\nqdisc = \"./codel.so:target=7ms\"\n[[flow]]\n[run]\nduration = \"1s\"\nseeds = \"1..4\"\n";
    file(&folder, "own.toml", text);
    let within = |place: &Path, arguments: &[&str]| {
        crate::common::command(arguments).current_dir(place).output().expect("the command runs")
    };
    let done = |place: &Path, arguments: &[&str]| {
        let output = within(place, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let failed = |place: &Path, arguments: &[&str], parts: &[&str]| {
        let output = within(place, arguments);
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        parts.iter().for_each(|part| assert!(line.contains(part), "'{part}' is not in: {line}"));
    };
    for shard in ["1", "2"] {
        let of = format!("{shard}/2");
        done(&folder, &["run", "own.toml", "--allow-native", "--shard", &of, "--out", &format!("s{shard}")]);
    }
    done(&folder, &["run", "own.toml", "--allow-native", "--out", "whole/all"]);
    failed(
        &folder,
        &["merge", "s1", "s2", "-o", "all"],
        &["s1/scenario.toml", "all rights", "--allow-native"],
    );
    let merge = ["merge", "s1", "s2", "-o", "merged/all", "--allow-native"];
    fs::create_dir(folder.join("merged")).unwrap();
    done(&folder, &merge);
    crate::common::assert_equal(&folder.join("whole/all"), &folder.join("merged/all"));
    // From another folder the file is neither beside the copy nor here, until it is copied.
    fs::create_dir(folder.join("elsewhere")).unwrap();
    let elsewhere = folder.join("elsewhere");
    let from_there = ["merge", "../s1", "../s2", "-o", "all", "--allow-native"];
    failed(
        &elsewhere,
        &from_there,
        &["'./codel.so:target=7ms'", "is neither in ../s1 nor in the current folder"],
    );
    fs::copy(folder.join("codel.so"), folder.join("s1/codel.so")).unwrap();
    done(&elsewhere, &from_there);
    fs::remove_file(folder.join("s1/codel.so")).unwrap();
    // Another file of the same name.
    let mut bytes = fs::read(folder.join("codel.so")).unwrap();
    bytes.push(0);
    fs::remove_file(folder.join("codel.so")).unwrap();
    fs::write(folder.join("codel.so"), bytes).unwrap();
    failed(
        &folder,
        &["merge", "s1", "s2", "-o", "other", "--allow-native"],
        &["s1: holds results of another file './codel.so' (its SHA-256 differs)"],
    );
}

#[test]
fn mistakes_are_told_in_one_line() {
    let folder = folder("native-mistakes");
    let told = |object: &str, parts: &[&str]| {
        refused(&["compare", "--link", "10mbit", "--duration", "6s", "--qdisc", object], parts);
        if !parts[0].starts_with("case") {
            refused(&["list", object], parts);
        }
    };
    told("./there-is-none.so", &["cannot be read: No such file"]);
    told(folder.to_str().unwrap(), &["is no regular file"]);
    let pipe = folder.join("fifo.so");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    told(pipe.to_str().unwrap(), &["is no regular file; expected a shared object"]);
    told(&file(&folder, "text.so", "no code"), &["is not a shared object; expected one"]);
    let good = fs::read(law(&folder, "good", PASSES, ".admit = admit")).unwrap();
    let mut other = good.clone();
    other[18..20].copy_from_slice(&8_u16.to_le_bytes());
    told(&file(&folder, "other.so", &other), &["is for machine number 8 (64 bits), and this program for"]);
    told(&file(&folder, "half.so", &good[..good.len() / 2]), &["half.so", "ends too early"]);
    told(env!("CARGO_BIN_EXE_qdelay"), &["qdelay", "expected"]);

    let plain = |name: &str, text: &str| {
        let source = file(&folder, &format!("{name}.c"), text);
        compile(Path::new(&source), &folder, &format!("{name}.so"))
    };
    told(&plain("empty", "int nothing;"), &["exports no qdelay_component_v1"]);
    told(
        &plain("later", "int qdelay_component_v2(void) { return 0; }"),
        &["is made for version 2", "has version 1"],
    );
    told(&plain("null", "void *qdelay_component_v1(void) { return 0; }"), &["returned no description"]);
    told(
        &plain("lacks", "int other(void); int qdelay_component_v1(void) { return other(); }"),
        &["undefined symbol: other"],
    );

    let declared =
        |name: &str, fields: &str, parts: &[&str]| told(&law(&folder, name, PASSES, fields), parts);
    declared("abi", ".abi = 7, .admit = admit", &["is made for version 7 of the interface"]);
    declared("size", ".size = 8, .admit = admit", &["its description has 8 bytes"]);
    declared(
        "kind",
        ".kind = 9, .admit = admit",
        &["is of kind 9; expected QDELAY_AQM (1) or QDELAY_CONTROL (2)"],
    );
    declared("control", ".kind = QDELAY_CONTROL, .admit = admit", &["has no ack; expected"]);
    declared(
        "short",
        ".kind = QDELAY_CONTROL, .size = 104",
        &["its description has 104 bytes; expected .size = sizeof(qdelay_component)"],
    );
    declared("flags", ".flags = 6, .admit = admit", &["has flags 0x6"]);
    declared("name", ".name = \"A law\", .admit = admit", &["its name is 'A law'"]);
    declared("nothing", ".emptied = 0", &["has neither admit nor dequeue"]);
    declared("align", ".admit = admit, .state_align = 3", &["is aligned to 3"]);
    declared("huge", ".admit = admit, .state_size = 1ull << 40", &["its state has 1099511627776 bytes"]);
    declared(
        "count",
        ".admit = admit, .parameter_count = 3",
        &["has 3 parameters; expected at most 64, and their address"],
    );
    let parameter = |name: &str, fields: &str, parts: &[&str]| {
        let before = format!("{PASSES}\nstatic const qdelay_parameter parameters[] = {{{{ {fields} }}}};");
        told(
            &law(&folder, name, &before, ".admit = admit, .parameters = parameters, .parameter_count = 1"),
            parts,
        );
    };
    parameter(
        "nan",
        ".name = \"x\", .unit = QDELAY_NUMBER, .default_value = \"nan\"",
        &["'x' is declared with nan"],
    );
    parameter("unit", ".name = \"x\", .unit = 99", &["'x' has unit 99"]);
    parameter(
        "range",
        ".name = \"x\", .unit = QDELAY_COUNT, .default_value = \"5\", .max = \"4\"",
        &["'x' is declared with 5: out of range"],
    );

    let nonsense = "static uint32_t dequeue(void *s, const qdelay_call *c) { (void)s; return c->now > 1000000000 ? 99 : 0; }";
    let object = law(&folder, "nonsense", nonsense, ".dequeue = dequeue");
    told(&object, &["case 0", "nonsense.so: dequeue returned 99; expected QDELAY_PASS (0)"]);
}

/// Takes ten seconds, the time limit of a call.
#[test(waits)]
fn a_call_that_does_not_return_ends_the_program() {
    let folder = folder("native-stuck");
    let endless = "static uint32_t admit(void *s, const qdelay_call *c) { (void)s; \
                   volatile int more = c->now > 1000000000; while (more) {} return 0; }";
    let object = law(&folder, "stuck", endless, ".admit = admit");
    let qdisc = format!("{object},codel");
    refused(
        &["compare", "--link", "10mbit", "--duration", "6s", "--qdisc", &qdisc],
        &["case ", "stuck.so: a call has not returned for 10 s"],
    );
}
