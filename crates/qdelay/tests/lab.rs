//! `qdelay lab` and `qdelay run --clock lab`: equal bytes on a busy machine, and refusals. Without QEMU or Debian packages the
//! tests that start a machine are skipped.

use crate::common::lab::{images, needs_lab, with_images};
use crate::common::{command, file, folder, read, refused, succeed};
use qdelay_testing::{Need, eventually, skip};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
[path]
link = "8mbit"
rtt = "20ms"
qdisc = "bode"
[[flow]]
name = "file"
transport = "cubic"
[[flow]]
name = "video"
transport = "udp:1mbit"
start = "300ms"
[run]
duration = "5s"
warmup = "1s"
"#;

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test(Lab, waits)]
fn equal_bytes_beside_a_busy_machine() {
    needs_lab();
    let folder = folder("lab");
    let scenario = file(&folder, "small.toml", SCENARIO);
    let [first, second] = ["first", "second"].map(|name| folder.join(name));
    let run = |out: &Path| {
        let out = out.to_str().unwrap();
        let output =
            with_images(&["run", &scenario, "--clock", "lab", "--strict", "--out", out]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    let printed = run(&first);
    assert!(printed.contains("laboratory: 1 of 1 cases are trustworthy"), "{printed}");
    let mut busy: Vec<_> =
        (0..2).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()).collect();
    run(&second);
    for process in &mut busy {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let case = |folder: &Path| folder.join("cases/0");
    for name in ["run.json", "summary.json"] {
        let [one, other] = [&first, &second].map(|folder| std::fs::read(case(folder).join(name)).unwrap());
        assert!(one == other, "{name} differs");
    }
    assert_eq!(
        std::fs::read(first.join("summary.json")).unwrap(),
        std::fs::read(second.join("summary.json")).unwrap()
    );

    let run_file = read(&case(&first).join("run.json"));
    assert_eq!(
        (&run_file["clock"], &run_file["laboratory"]["bottleneck"]),
        (&"lab".into(), &"qdelay".into())
    );
    let starts: Vec<f64> = serde_json::from_value(run_file["laboratory"]["starts_s"].clone()).unwrap();
    assert!(starts[0] < 0.1 && (0.3..0.4).contains(&starts[1]), "{starts:?}");
    let summary = read(&case(&first).join("summary.json"));
    // BoDe's bound is 20 ms of sojourn, and the packet itself takes 1.5 ms. Cubic fills the rest of the link.
    let most = summary["queue_delay_ms"]["max"].as_f64().unwrap();
    assert!((5.0..21.6).contains(&most), "{most}");
    assert!(summary["utilization"].as_f64().unwrap() > 0.8, "{summary}");

    // Another seed gives another run. Recorded packets leave the machine too.
    let other = folder.join("other");
    let out = other.to_str().unwrap();
    let output = with_images(&[
        "run",
        &scenario,
        "--clock",
        "lab",
        "--seeds",
        "2",
        "--no-report",
        "--packets",
        "--out",
        out,
    ])
    .output()
    .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_ne!(
        read(&case(&other).join("run.json"))["laboratory"]["starts_s"],
        run_file["laboratory"]["starts_s"]
    );
    let packets = std::fs::read(case(&other).join("packets.parquet")).unwrap();
    assert!(
        packets.starts_with(b"PAR1") && packets.ends_with(b"PAR1") && packets.len() > 10_000,
        "{} bytes",
        packets.len()
    );
}

/// Upload beside a download, with a ping through both queues.
const BOTH_WAYS: &str = r#"
[path]
link = "8mbit"
uplink = "3mbit"
rtt = "20ms"
qdisc = "bode"
uplink_qdisc = "codel"
[[flow]]
name = "down"
[[flow]]
name = "up"
direction = "up"
[[flow]]
name = "ping"
transport = "udp:13440bit:size=84b:echo=on"
[run]
duration = "4s"
warmup = "1s"
"#;

#[test(Lab, waits)]
fn uploads_and_pings_are_equal_too() {
    needs_lab();
    let folder = folder("lab-up");
    let scenario = file(&folder, "both.toml", BOTH_WAYS);
    let run = |name: &str| {
        let out = folder.join(name);
        let output =
            with_images(&["run", &scenario, "--clock", "lab", "--no-report", "--out", out.to_str().unwrap()])
                .output()
                .unwrap();
        assert!(output.status.success(), "{}", text(&output));
        ["run.json", "summary.json"]
            .map(|file| std::fs::read_to_string(out.join("cases/0").join(file)).unwrap())
    };
    let (first, second) = (run("first"), run("second"));
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(
            first.lines().zip(second.lines()).find(|(one, other)| one != other),
            None,
            "two runs differ"
        );
        assert_eq!(first.lines().count(), second.lines().count());
    }
    let summary = read(&folder.join("first/cases/0/summary.json"));
    let group = |name: &str| summary["groups"][name]["goodput_mbps"].as_f64().unwrap();
    // CPU time of the machine is counted in instructions, qdelay's included, so the download changes with them: 3.9 and more were seen.
    assert!(group("down") > 3.0 && (1.0..3.0).contains(&group("up")), "{summary}");
    let pings = &summary["groups"]["ping"]["round_trip_ms"];
    assert!(pings["count"].as_u64().unwrap() > 40 && pings["mean"].as_f64().unwrap() >= 20.0, "{pings}");
    // The kernel's own queue only records packets in the down direction.
    let htb = BOTH_WAYS.replace("8mbit", "htb:8mbit:overhead=14").replace("uplink_qdisc = \"codel\"\n", "");
    let htb = file(&folder, "htb.toml", htb.replace("\"bode\"", "\"codel\""));
    let out = folder.join("refused").display().to_string();
    let refused = with_images(&["run", &htb, "--clock", "lab", "--bottleneck", "linux", "--out", &out])
        .output()
        .unwrap();
    let line = text(&refused);
    assert_eq!((refused.status.code(), line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.contains("direction = \"up\": expected down where the kernel is the bottleneck"), "{line}");
}

#[test(Lab, waits)]
fn nothing_is_left_running() {
    needs_lab();
    let folder = folder("lab-killed");
    let scenario = file(&folder, "small.toml", SCENARIO);
    let out = folder.join("out").display().to_string();
    let mut running = with_images(&["run", &scenario, "--clock", "lab", "--out", &out])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let parent = format!(" {} ", running.id());
    let machine = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes.into_iter().find(|process| {
            let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
            // Name of the process, and its parent after its state.
            stat.contains("(qemu-system")
                && stat
                    .split(')')
                    .nth(1)
                    .is_some_and(|rest| rest.get(2..).is_some_and(|rest| rest.starts_with(&parent)))
        })
    };
    eventually("the machine starts", || machine().is_some());
    let machine = machine().unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    eventually("the machine ends", || {
        let state = std::fs::read_to_string(machine.join("stat")).unwrap_or_default();
        !state.contains("(qemu-system") || state.contains(") Z ")
    });
}

#[test]
fn unsupported_scenarios_are_refused_in_the_laboratory() {
    let folder = folder("lab-refused");
    let scenario = file(&folder, "small.toml", SCENARIO);
    let out = folder.join("out").display().to_string();
    let empty = folder.join("empty").display().to_string();
    let refused_with = |arguments: &[&str], variables: &[(&str, &str)], parts: &[&str]| {
        let mut command = command(arguments);
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        parts.iter().for_each(|part| assert!(line.contains(part), "'{part}' is not in: {line}"));
    };
    let run = ["run", &scenario, "--clock", "lab", "--out", &out];
    refused_with(
        &run,
        &[("QDELAY_LAB", &empty)],
        &["--clock lab: there is no image", "expected 'qdelay lab build' first"],
    );
    let named = [&run[..], &["--image", "trixie-backports"]].concat();
    refused_with(
        &named,
        &[("QDELAY_LAB", &empty)],
        &["'trixie-backports'", "'qdelay lab build --kernel trixie-backports' first"],
    );
    refused(
        &["lab", "build", "--kernel", "woody"],
        &["--kernel: no suite 'woody'; expected bookworm-backports, bookworm"],
    );
    refused_with(
        &["lab", "build"],
        &[("QDELAY_LAB", &empty), ("PATH", "/nowhere")],
        &["apt-get cannot be started", "needs Debian's apt"],
    );
    refused(
        &["run", &scenario, "--image", "bookworm", "--out", &out],
        &["--image: is an option of the laboratory; expected it with --clock lab"],
    );
    refused(
        &["run", &scenario, "--bottleneck", "linux", "--out", &out],
        &["--bottleneck: is an option of the laboratory; expected it with --clock lab"],
    );
    refused(&["lab", "guest"], &["/job/job.json: cannot be read", "qdelay run --clock lab"]);
    assert!(!Path::new(&out).exists(), "nothing is written");
    assert!(succeed(&["help", "lab"]).contains("docs/lab.md"));
}

#[test(Lab, waits)]
fn unsupported_jobs_are_refused_before_the_machine_starts() {
    needs_lab();
    let folder = folder("lab-impossible");
    let scenario = SCENARIO.replace("\"cubic\"", "\"cubic:bytes=1mb\"");
    let scenario = file(&folder, "bytes.toml", scenario);
    let out = folder.join("out").display().to_string();
    let refused_by = |command: &mut Command, status: i32, part: &str| {
        let output = command.output().unwrap();
        let line = text(&output);
        assert_eq!((output.status.code(), line.lines().count()), (Some(status), 1), "{line}");
        assert!(line.contains(part), "{line}");
    };
    let run = |scenario: &str| with_images(&["run", scenario, "--clock", "lab", "--out", &out]);
    refused_by(&mut run(&scenario), 2, "remove bytes with real programs");
    let scenario = file(&folder, "small.toml", SCENARIO);
    refused_by(run(&scenario).env("PATH", "/nowhere"), 2, "qemu-system-x86_64 cannot be started");
    if rustix::process::geteuid().is_root() {
        // A disk of 1 MB.
        let small = folder.join("small");
        std::fs::create_dir(&small).unwrap();
        let script =
            format!("mount -t tmpfs -o size=1m small {0} && TMPDIR={0} exec \"$@\"", small.display());
        let run = run(&scenario);
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh"]).arg(run.get_program()).args(run.get_args());
        command.env("QDELAY_LAB", images());
        refused_by(&mut command, 1, "cannot be written: No space left on device");
    }
}

/// Scenario whose bottleneck the kernel supports itself.
const OF_THE_KERNEL: &str = r#"
[path]
link = "htb:10mbit:overhead=14"
rtt = "20ms"
qdisc = "codel:variant=linux"
[[flow]]
name = "file"
transport = "cubic"
[[flow]]
name = "call"
transport = "udp:500kbit"
[run]
duration = "6s"
warmup = "1s"
"#;

#[test(Lab, waits)]
fn the_kernel_s_own_queue_is_a_bottleneck() {
    needs_lab();
    let folder = folder("lab-kernel");
    let scenario = file(&folder, "kernel.toml", OF_THE_KERNEL);
    let [real, simulated] = ["real", "simulated"].map(|name| folder.join(name).display().to_string());
    let output =
        with_images(&["run", &scenario, "--clock", "lab", "--strict", "--no-report", "--out", &real])
            .output()
            .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    succeed(&["run", &scenario, "--no-report", "--out", &simulated]);
    let laboratory = &read(&Path::new(&real).join("cases/0/run.json"))["laboratory"];
    assert_eq!(laboratory["bottleneck"], "linux");
    let summary = |out: &str| read(&Path::new(out).join("cases/0/summary.json"));
    let [real, simulated] = [&real, &simulated].map(|out| summary(out));
    // Recorded packets equal the kernel's counts, except for the last quarter of a second.
    let (seen, counted) = (&real["drops_by_reason"]["kernel_drop"], &laboratory["counters"]["drops"]);
    let (seen, counted) = (seen.as_u64().unwrap(), counted.as_u64().unwrap());
    assert!(seen > 0 && (seen..seen + 5).contains(&counted), "{seen} of {counted}");
    // One run of each, so the bounds are wide: the comparison with narrow ones is `qdelay-dev validate lab`.
    for (figure, bound) in
        [("/throughput_mbps", 0.02), ("/queue_delay_ms/mean", 0.25), ("/one_way_delay_ms/mean", 0.1)]
    {
        let [real, simulated] =
            [&real, &simulated].map(|summary| summary.pointer(figure).unwrap().as_f64().unwrap());
        assert!((real / simulated - 1.0).abs() < bound, "{figure}: {real} and {simulated}");
    }

    let bode = file(&folder, "bode.toml", SCENARIO);
    let out = folder.join("refused").display().to_string();
    let refused = with_images(&["run", &bode, "--clock", "lab", "--bottleneck", "linux", "--out", &out])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused).contains("expected overhead=14 where the kernel is the bottleneck"),
        "{}",
        text(&refused)
    );
}

#[test(Lab, waits)]
fn a_machine_that_panics_or_hangs_is_ended() {
    needs_lab();
    let image = qdelay_lab::image::find(&images(), None).unwrap();
    let outcome = |script: &str, limit_s: f64| {
        let mut job = qdelay_lab::archive::Writer::default();
        job.folder("job");
        job.file("job/run", script.as_bytes());
        qdelay_lab::machine::run(&image, &job.finish(), 1, limit_s, &|_| ()).unwrap_err()
    };
    let panicked = outcome("echo c > /proc/sysrq-trigger", 300.0);
    assert!(panicked.starts_with("the kernel of the machine panicked: "), "{panicked}");
    assert!(panicked.contains("sysrq triggered crash"), "{panicked}");
    let hung = outcome("echo on we go; while :; do :; done", 40.0);
    assert!(hung.starts_with("the machine did not end within 40 s: its last messages are: "), "{hung}");
    assert!(hung.ends_with("on we go"), "{hung}");
    let silent = outcome("exit 0", 300.0);
    assert!(silent.starts_with("the machine ended without a result: "), "{silent}");
}

/// An image whose files changed since the build is refused, and listed as damaged.
#[test]
fn lab_damaged_image() {
    let cache = folder("lab-image-cache");
    let image = cache.join("bookworm-backports-0123456789ab");
    std::fs::create_dir(&image).unwrap();
    let about = r#"{"schema_version": 1, "suite": "bookworm-backports", "kernel": "6.0", "digest": "0123456789ab",
        "packages": [], "modules": [], "controls": []}"#;
    let scenario = file(&folder("lab-image-study"), "l.toml", SCENARIO);
    let with_cache = |arguments: &[&str]| command(arguments).env("QDELAY_LAB", &cache).output().unwrap();
    let listed = || String::from_utf8(with_cache(&["lab", "list"]).stdout).unwrap();
    let is_refused = || {
        let output =
            with_cache(&["run", &scenario, "--clock", "lab", "--out", cache.join("out").to_str().unwrap()]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        complaint.contains("the image is damaged") && complaint.contains("'qdelay lab build' builds it again")
    };
    for (name, contents) in [("vmlinuz", "kernel"), ("initrd", "programs"), ("image.json", about)] {
        std::fs::write(image.join(name), contents).unwrap();
    }
    // An image of a version that wrote no digests.
    assert!(listed().contains("damaged") && is_refused());
    qdelay_study::engine::digests::write(&image).unwrap();
    assert!(listed().contains("6.0") && !listed().contains("damaged"), "{}", listed());
    std::fs::write(image.join("initrd"), "other programs").unwrap();
    assert!(listed().contains("damaged") && is_refused());
}

/// Messages of apt about a mirror: an unsigned mirror is refused even if `apt.conf` permits it, and an unreachable one is not reported as a
/// missing package.
#[test]
fn lab_unsigned() {
    let has_apt = Command::new("apt-get").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_apt || !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").is_file() {
        skip(Need::Lab, "no apt with the keyring of Debian");
    }
    let place = folder("lab-unsigned");
    let mirror = place.join("mirror/dists/bookworm-backports");
    std::fs::create_dir_all(mirror.join("main/binary-amd64")).unwrap();
    let packages =
        "Package: linux-image-cloud-amd64\nVersion: 1\nArchitecture: amd64\nDepends: linux-image-6.0-x\n\n";
    std::fs::write(mirror.join("main/binary-amd64/Packages"), packages).unwrap();
    let release = "Origin: Debian\nSuite: bookworm-backports\nCodename: bookworm-backports\nArchitectures: amd64\nComponents: main\n";
    std::fs::write(mirror.join("Release"), release).unwrap();
    let lax = "Acquire::AllowInsecureRepositories \"true\";\nAPT::Get::AllowUnauthenticated \"true\";\n\
               Acquire::http::Proxy \"DIRECT\";\nAcquire::Retries \"0\";\n";
    let lax = file(&place, "lax.conf", lax);
    let build = |mirror: &str| {
        let mut command = command(&["lab", "build", "--mirror", mirror]);
        command.env("QDELAY_LAB", place.join("cache")).env("APT_CONFIG", &lax).env_remove("http_proxy");
        let output = command.output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        complaint.lines().last().unwrap().to_string()
    };
    let unsigned = build(&format!("file:{}", place.join("mirror").display()));
    assert!(unsigned.contains("cannot be read") && unsigned.contains("is not signed"), "{unsigned}");
    let unreachable = build("http://127.0.0.1:1/debian");
    assert!(unreachable.contains("the index of Debian bookworm-backports cannot be read"), "{unreachable}");
}
