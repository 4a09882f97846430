//! Repeated results: from the scenario in their folder, and from an archive of `qdelay pack`.

use crate::common::{assert_equal, command, file, folder, refused, succeed, tree};
use qdelay_study::shipped;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const TWO: &str = "title = \"Two\"\n[path]\nlink = \"5mbit\"\n[[flow]]\ntransport = \"cubic\"\n[run]\nduration = \"2s\"\nseeds = \"1..2\"\n[matrix]\npath.qdisc = [\"codel\", \"bode\"]\n";

/// The command in a folder.
fn within(folder: &Path, arguments: &[&str]) -> Output {
    command(arguments).current_dir(folder).output().expect("the command runs")
}

fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = within(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn failed(folder: &Path, arguments: &[&str], status: i32, parts: &[&str]) {
    let output = within(folder, arguments);
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), line.lines().count()), (Some(status), 1), "{line}");
    parts.iter().for_each(|part| assert!(line.contains(part), "'{part}' is not in: {line}"));
}

/// Repeats runs of a file and of a shipped scenario, with and without options of the command line; and of the copy of a copy.
#[test]
fn scenario_of_a_folder_gives_its_bytes() {
    let folder = folder("again-scenario");
    file(&folder, "my.toml", TWO);
    let options: [&[&str]; 5] = [
        &["my.toml"],
        &["my.toml", "--seeds", "1..3", "--duration", "1s"],
        &["my.toml", "--seeds", "3,1", "--packets", "--series"],
        &["my.toml", "--starts", "random", "--seeds", "7"],
        &["demo/first", "--duration", "2s"],
    ];
    for (number, given) in options.into_iter().enumerate() {
        let [one, two, three] = ["one", "two", "three"].map(|name| format!("{number}/{name}"));
        fs::create_dir(folder.join(number.to_string())).unwrap();
        done(&folder, &[&["run"], given, &["--out", &one]].concat());
        let copy = |of: &str| format!("{of}/scenario.toml");
        done(&folder, &["run", &copy(&one), "--out", &two]);
        done(&folder, &["run", &copy(&two), "--out", &three]);
        assert_equal(&folder.join(&one), &folder.join(&two));
        assert_equal(&folder.join(&one), &folder.join(&three));
        // The folder that holds the copy continues too.
        done(&folder, &["run", &copy(&one), "--out", &one]);
    }
    let kept = fs::read_to_string(folder.join("0/one/scenario.toml")).unwrap();
    assert!(kept.starts_with(TWO) && kept.ends_with("[origin]\nname = \"my\"\n"), "{kept}");
}

/// Added seeds are in the folder's scenario; the command line overrides the file.
#[test]
fn scenario_of_a_folder_knows_later_seeds() {
    let folder = folder("again-extended");
    file(&folder, "my.toml", TWO);
    done(&folder, &["run", "my.toml", "--out", "one", "--seeds", "1..2"]);
    done(&folder, &["run", "my.toml", "--out", "one", "--seeds", "1..4"]);
    done(&folder, &["run", "one/scenario.toml", "--out", "two"]);
    assert_equal(&folder.join("one"), &folder.join("two"));
    done(&folder, &["run", "one/scenario.toml", "--out", "three", "--seeds", "1..2"]);
    done(&folder, &["run", "my.toml", "--out", "four", "--seeds", "1..2"]);
    assert_equal(&folder.join("three"), &folder.join("four"));
}

#[test]
fn origin_is_read_strictly() {
    let folder = folder("again-origin");
    let told = |table: &str, parts: &[&str]| {
        let scenario = file(&folder, "told.toml", format!("[[flow]]\n{table}"));
        refused(
            &["run", &scenario, "--out", folder.join("out").to_str().unwrap()],
            &[&["told.toml"], parts].concat(),
        );
    };
    told("[origin]\nname = 7\n", &["line 3: origin.name", "the study's name"]);
    told("[origin]\nseeds = \"5..1\"\n", &["line 3: origin.seeds", "smaller seed first"]);
    told("[origin]\nduration = \"0s\"\n", &["origin.duration", "above 0"]);
    told("[origin]\nstarts = \"no\"\n", &["origin.starts", "auto, random, fixed"]);
    told("[origin]\nrecords = [\"all\"]\n", &["origin.records", "\"packets\" and \"series\""]);
    told("[origin]\nnmae = \"a\"\n", &["origin.nmae", "did you mean 'name'?"]);
    told("[origin]\nname = \"a\"\n[run]\nduration = \"1s\"\n", &["origin: is not the last table"]);
    // The name of a study determines the folder below another one.
    let scenario = file(&folder, "named.toml", format!("{TWO}\n[origin]\nname = \"../../b\"\n"));
    let value = crate::common::json(&[
        "run",
        &scenario,
        "--json",
        "--no-report",
        "--duration",
        "1s",
        "--out",
        folder.join("b").to_str().unwrap(),
    ]);
    assert_eq!(value["summary"]["scenario"], "b");
}

/// Folder with components of Python, as its package writes it: the command names the missing one and the remedy.
#[test]
fn missing_component_of_a_folder_is_named() {
    let folder = folder("again-missing");
    fs::create_dir(folder.join("a")).unwrap();
    file(&folder, "my.toml", TWO);
    done(&folder, &["run", "my.toml", "--out", "b"]);
    let study = fs::read_to_string(folder.join("b/study.json")).unwrap();
    let parts = "\"components\": { \"every_tenth\": { \"own.EveryTenth\": \"00\", \"own.EveryTenth.admit\": \"00\", \"python\": \"3.12.1\" } },\n  \"axes\"";
    fs::write(folder.join("a/study.json"), study.replacen("\"axes\"", parts, 1)).unwrap();
    fs::write(folder.join("a/scenario.toml"), TWO.replace("codel", "every_tenth:every=3")).unwrap();
    failed(
        &folder,
        &["run", "a/scenario.toml", "--out", "c"],
        2,
        &[
            "a/scenario.toml: line 10: matrix.path.qdisc",
            "'every_tenth' is a Python component (own.EveryTenth)",
            "qdelay.Scenario('a/scenario.toml')",
        ],
    );
    // Without a folder of a run the name is unknown.
    fs::write(folder.join("c.toml"), TWO.replace("codel", "every_tenth")).unwrap();
    failed(&folder, &["run", "c.toml", "--out", "c"], 2, &["unknown qdisc 'every_tenth'"]);
}

/// On another machine only the archive exists.
#[test]
fn pack_runs_again_to_the_same_bytes() {
    let folder = folder("pack");
    fs::create_dir(folder.join("traces")).unwrap();
    fs::create_dir(folder.join("elsewhere")).unwrap();
    let trace: String = (0..2000).map(|number| format!("{}\n", number * 2 + number % 2)).collect();
    file(&folder, "traces/mine.down", trace);
    let scenario = TWO.replace("link = \"5mbit\"", "trace = \"mine.down\"");
    file(&folder, "my.toml", scenario);
    done(&folder, &["run", "my.toml", "--traces", "traces", "--seeds", "1..3", "--packets", "--out", "one"]);
    done(&folder, &["pack", "one", "-o", "one.tar", "--traces", "traces"]);
    fs::copy(folder.join("one.tar"), folder.join("elsewhere/moved.tar")).unwrap();
    let elsewhere = folder.join("elsewhere");
    let told = done(&elsewhere, &["run", "moved.tar", "--out", "two"]);
    assert!(told.contains("the results equal the packed ones byte for byte"), "{told}");
    assert_equal(&folder.join("one"), &elsewhere.join("two"));
    // A second archive, of the second folder, is the same file.
    fs::copy(folder.join("traces/mine.down"), elsewhere.join("mine.down")).unwrap();
    done(&elsewhere, &["pack", "two", "-o", "again.tar"]);
    assert!(fs::read(folder.join("one.tar")).unwrap() == fs::read(elsewhere.join("again.tar")).unwrap());
    // Options make another study, with other figures.
    let told = done(&elsewhere, &["run", "moved.tar", "--seeds", "9", "--out", "three"]);
    assert!(!told.contains("bytes"), "{told}");
    let left: Vec<_> =
        tree(&elsewhere).into_keys().filter(|name| name.to_string_lossy().contains("unpacked")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// An archive holds the inputs, which run again. Its digests are of result files in the other schema.
#[test]
fn pack_of_another_schema_runs_without_a_comparison() {
    let folder = folder("pack-schema");
    file(&folder, "my.toml", TWO);
    done(&folder, &["run", "my.toml", "--out", "one"]);
    done(&folder, &["pack", "one", "-o", "one.tar"]);
    let archive = String::from_utf8(fs::read(folder.join("one.tar")).unwrap()).unwrap();
    assert_eq!(archive.matches("\"schema_version\": 2").count(), 1);
    file(&folder, "one.tar", archive.replace("\"schema_version\": 2", "\"schema_version\": 1"));
    let told = done(&folder, &["run", "one.tar", "--out", "two"]);
    assert!(
        told.contains(
            "one.tar: packed with schema_version 1, and this writes 2: the results are not compared"
        ),
        "{told}"
    );
    assert_equal(&folder.join("one"), &folder.join("two"));
}

#[test]
fn pack_takes_shared_objects_along() {
    let folder = folder("pack-native");
    let made = crate::native::example("codel", &folder);
    file(&folder, "my.toml", TWO.replace("\"codel\"", "\"./codel.so:target=7ms\""));
    let allowed = ["run", "my.toml", "--out", "one", "--allow-native"];
    done(&folder, &allowed);
    failed(&folder, &["pack", "one", "-o", "one.tar"], 2, &["'./codel.so:target=7ms'", "--allow-native"]);
    done(&folder, &["pack", "one", "-o", "one.tar", "--allow-native"]);
    fs::create_dir(folder.join("elsewhere")).unwrap();
    fs::rename(folder.join("one.tar"), folder.join("elsewhere/one.tar")).unwrap();
    fs::remove_file(made).unwrap();
    failed(
        &folder,
        &["pack", "one", "-o", "two.tar", "--allow-native"],
        2,
        &["is neither in one nor in the current folder"],
    );
    let elsewhere = folder.join("elsewhere");
    failed(&elsewhere, &["run", "one.tar", "--out", "two"], 2, &["names a shared object", "--allow-native"]);
    done(&elsewhere, &["run", "one.tar", "--out", "two", "--allow-native"]);
    assert_equal(&folder.join("one"), &elsewhere.join("two"));
}

#[test]
fn pack_says_what_cannot_be_packed() {
    let folder = folder("pack-refused");
    file(&folder, "my.toml", TWO);
    failed(&folder, &["pack", "none", "-o", "a.tar"], 2, &["none: does not exist"]);
    done(&folder, &["run", "my.toml", "--shard", "1/2", "--out", "part"]);
    failed(
        &folder,
        &["pack", "part", "-o", "a.tar"],
        2,
        &["part: has no summary.json; expected a run that has ended"],
    );
    let trace = folder.join("elsewhere.down");
    fs::write(&trace, "0\n10\n").unwrap();
    let absolute = format!("trace = \"{}\"", trace.display());
    file(&folder, "absolute.toml", TWO.replace("link = \"5mbit\"", &absolute));
    done(&folder, &["run", "absolute.toml", "--out", "absolute"]);
    failed(
        &folder,
        &["pack", "absolute", "-o", "a.tar"],
        2,
        &["elsewhere.down', whose name leads out of the scenario's folder"],
    );
    file(&folder, "near.toml", TWO.replace("link = \"5mbit\"", "trace = \"elsewhere.down\""));
    done(&folder, &["run", "near.toml", "--out", "near"]);
    fs::write(&trace, "0\n12\n").unwrap();
    failed(
        &folder,
        &["pack", "near", "-o", "a.tar"],
        2,
        &["near: holds results on another trace 'elsewhere.down'"],
    );
    fs::remove_file(&trace).unwrap();
    failed(&folder, &["pack", "near", "-o", "a.tar"], 2, &["elsewhere.down"]);
    done(&folder, &["run", "my.toml", "--out", "whole"]);
    let study = folder.join("whole/study.json");
    let text = fs::read_to_string(&study).unwrap();
    let python =
        text.replacen("\"axes\"", "\"components\": { \"own\": { \"a.Own\": \"00\" } },\n  \"axes\"", 1);
    fs::write(&study, python).unwrap();
    failed(
        &folder,
        &["pack", "whole", "-o", "a.tar"],
        2,
        &["results of 'own', a Python component; expected qdelay.pack"],
    );
    assert!(!folder.join("a.tar").exists());
    // A result that was changed since differs from the result run from the archive.
    fs::write(&study, text).unwrap();
    let summary = folder.join("whole/summary.json");
    let changed = fs::read_to_string(&summary).unwrap() + "\n";
    fs::write(&summary, changed).unwrap();
    done(&folder, &["pack", "whole", "-o", "a.tar"]);
    let output = within(&folder, &["run", "a.tar", "--out", "again"]);
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1)
            && line.contains("1 files of the results differ from the packed ones"),
        "{line}"
    );
    // Archives of other programs, and damaged ones.
    let whole = fs::read(folder.join("a.tar")).unwrap();
    fs::write(folder.join("half.tar"), &whole[..1000]).unwrap();
    failed(&folder, &["run", "half.tar", "--out", "b"], 2, &["half.tar: ends too early"]);
    if Command::new("tar")
        .args(["-cf", "foreign.tar", "my.toml"])
        .current_dir(&folder)
        .status()
        .is_ok_and(|status| status.success())
    {
        failed(
            &folder,
            &["run", "foreign.tar", "--out", "b"],
            2,
            &["foreign.tar", "expected an archive of 'qdelay pack'"],
        );
    }
    assert!(shipped::find("demo/first").is_some() && !succeed(&["help", "pack"]).is_empty());
}
