//! Components in C: compiled here, and used by the command as users would.

use crate::architecture::root;
use crate::common::{file, folder, json, read, refused, run, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles `source` as the shared object `folder/name`; returns its whole name.
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

fn example(name: &str, folder: &Path) -> String {
    compile(&root().join(format!("examples/own-c/{name}.c")), folder, &format!("{name}.so"))
}

/// A law with these fields of its description, which may use what `before` defines.
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

/// What is a figure of a case, and not its name or its cost.
fn figures(case: &Value) -> Value {
    let mut figures = case.clone();
    let fields = figures.as_object_mut().unwrap();
    for name in ["axes", "labels", "id", "cpu_seconds", "wall_seconds", "cost", "max_rss_mb"] {
        fields.remove(name);
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
    // Nothing is left to do; then the file is another one.
    succeed(&allowed);
    law(&folder, "codel", PASSES, ".admit = admit");
    refused(&allowed, &["another file './codel.so'", "--fresh"]);
    // It is the same in a configuration.
    let gateway =
        "[gateway]\noutside = \"lo\"\ninside = \"lo1\"\n[down]\nlink = \"10mbit\"\nqdisc = \"./codel.so\"\n";
    let config = file(&folder, "gateway.toml", gateway);
    let output = run(&["gateway", "--check", &config]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-native"), "{output:?}");
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
    declared("kind", ".kind = 2, .admit = admit", &["is of kind 2; expected QDELAY_AQM"]);
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

/// Ten seconds long, because so long a call may take.
#[test]
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
