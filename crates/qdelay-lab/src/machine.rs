//! Emulated machine: QEMU with one processor that executes an instruction in each nanosecond of the machine's own time.
//!
//! The machine's time depends only on the instructions that it executes: while its processor is idle, time advances to the next timer at
//! once. The machine does not use the host's clocks, so equal contents and seeds give equal runs, however busy the host is.
//! Therefore QEMU's two threads, of the processor and of timers, must not run at the same time: without this rule, in one run of five
//! a timer fired up to a microsecond late after the processor became idle. With a recording (`rr=record`, which is discarded) the
//! threads exclude each other. Devices must not finish work at a time of their own: there is no disk and no network card. The job
//! is a part of the initial file system, and results leave by a virtio serial device, which accepts data at once.
//!
//! Source: QEMU, `docs/devel/tcg-icount.rst`, `docs/devel/replay.rst`.

use crate::image::Image;
use qdelay_emu::netns::command::{self, Running};
use qdelay_study::cost::Stopwatch;
use qdelay_study::files::Scratch;
use rustix::event::{Timespec, poll};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Command of the emulator.
const QEMU: &str = "qemu-system-x86_64";
/// Processor model: all features that QEMU emulates, except page tables of five levels, which cost a tenth of all time, and
/// `cmpxchg16b`, with which the kernel's allocator ended in a double fault once in 20 runs (QEMU 7.2).
const CPU: &str = "max,la57=off,cx16=off,erms=off,fsrm=off";
/// Memory of the machine in MiB.
const MEMORY_MIB: u32 = 1024;
/// Kernel command line: without mitigations of side channels, which take most of the instructions of a system call; with preemption of
/// system calls, so that the emulator is not late while another program starts; and power-off after a panic.
const COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off preempt=full";
/// Interval between checks of a running machine.
const CHECK_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Prefix of the machine's progress messages on its console.
pub const MARK: &str = "lab: ";
/// Number of console lines in an error message.
const LAST_LINES: usize = 3;

/// Version of the emulator.
///
/// # Errors
/// There is no emulator; the message is one line.
pub fn version() -> Result<String, String> {
    let output = Command::new(QEMU).arg("--version").stdin(Stdio::null()).output();
    let missing =
        |error: String| format!("{QEMU} {error}; the laboratory needs it (package qemu-system-x86)");
    let output = output.map_err(|error| missing(format!("cannot be started: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next().filter(|_| output.status.success());
    line.map(str::to_string).ok_or_else(|| missing("does not print its version".to_string()))
}

/// Runs a machine of `image` with the archive `job` in its file system, until it powers off; returns the data of its result device.
/// `limit_s` limits the run in seconds of the host, and `hear` receives the machine's messages.
///
/// # Errors
/// The machine cannot be started, its kernel panicked, or it did not end in time; the message is one line.
pub fn run(
    image: &Image,
    job: &[u8],
    seed: u32,
    limit_s: f64,
    hear: &dyn Fn(&str),
) -> Result<Vec<u8>, String> {
    let scratch =
        Scratch::new("qdelay-lab").map_err(|error| format!("no folder for temporary files: {error}"))?;
    let [initrd, console, result, log] =
        ["initrd", "console", "result", "log"].map(|name| scratch.path().join(name));
    join(&image.initrd(), job, &initrd)
        .map_err(|error| format!("{}: cannot be written: {error}", initrd.display()))?;
    let mut machine = start(image, &initrd, [&console, &result, &log], seed)?;
    let watch = Stopwatch::start();
    let mut lines = Console { file: None, text: Vec::new(), heard: 0 };
    let status = loop {
        let ended = machine.try_wait().map_err(|error| format!("{QEMU} cannot be waited for: {error}"))?;
        lines.read(&console, hear);
        if let Some(status) = ended {
            break status;
        }
        if watch.seconds() > limit_s {
            return Err(format!("the machine did not end within {limit_s:.0} s: {}", lines.last()));
        }
        let _ = poll(&mut [], Some(&CHECK_INTERVAL));
    };
    // The panic explains every other failure, so it is reported first.
    if let Some(panic) = lines.panic() {
        return Err(format!("the kernel of the machine panicked: {panic}"));
    }
    if !status.success() {
        return Err(format!("{QEMU} ended with {status}: {}", lines.last()));
    }
    let bytes =
        fs::read(&result).map_err(|error| format!("{}: cannot be read: {error}", result.display()))?;
    if bytes.is_empty() {
        return Err(format!("the machine ended without a result: {}", lines.last()));
    }
    Ok(bytes)
}

/// Concatenates the image's initial file system and the job's archive, aligned to 4 bytes.
fn join(image: &Path, job: &[u8], initrd: &Path) -> io::Result<()> {
    let mut file = File::create_new(initrd)?;
    let bytes = io::copy(&mut File::open(image)?, &mut file)?;
    let padding = bytes.next_multiple_of(4) - bytes;
    file.write_all(&[0; 4][..padding as usize])?;
    file.write_all(job)
}

fn start(
    image: &Image,
    initrd: &Path,
    [console, result, log]: [&Path; 3],
    seed: u32,
) -> Result<Running, String> {
    let mut command = Command::new(QEMU);
    command.args(["-accel", "tcg", "-cpu", CPU, "-smp", "1", "-M", "q35"]);
    command.args(["-m", &MEMORY_MIB.to_string()]);
    command.arg("-icount").arg(format!("shift=0,sleep=off,rr=record,rrfile={}", escaped(log)));
    command.args(["-rtc", "base=2026-01-01,clock=vm", "-seed", &seed.to_string()]);
    command.args(["-display", "none", "-nodefaults", "-no-reboot", "-no-user-config"]);
    command.arg("-serial").arg(format!("file:{}", escaped(console)));
    command.args(["-device", "virtio-serial-pci,ioeventfd=off"]);
    command.arg("-chardev").arg(format!("file,id=result,path={}", escaped(result)));
    command.args(["-device", "virtserialport,chardev=result,name=result"]);
    command.arg("-kernel").arg(image.kernel()).arg("-initrd").arg(initrd);
    command.args(["-append", COMMAND_LINE]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command::spawn(command).map_err(|error| {
        format!("{QEMU} cannot be started: {error}; the laboratory needs it (package qemu-system-x86)")
    })
}

/// Escapes a path for an option of QEMU, where a comma is written twice.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Console output of the machine.
struct Console {
    file: Option<File>,
    text: Vec<u8>,
    /// Number of bytes whose messages have been passed on.
    heard: usize,
}

impl Console {
    /// Reads new output, and passes its messages on.
    fn read(&mut self, path: &Path, hear: &dyn Fn(&str)) {
        if self.file.is_none() {
            self.file = File::open(path).ok();
        }
        let Some(file) = &mut self.file else { return };
        // An output that cannot be read now is read at the next check.
        let _ = file.read_to_end(&mut self.text);
        while let Some(end) = self.text[self.heard..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.text[self.heard..self.heard + end]).into_owned();
            self.heard += end + 1;
            if let Some(message) = line.trim().strip_prefix(MARK) {
                hear(message);
            }
        }
    }
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.text).into_owned();
        text.lines().map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect()
    }
    fn panic(&self) -> Option<String> {
        self.lines().into_iter().find(|line| line.contains("Kernel panic"))
    }
    /// The last lines, joined into one.
    fn last(&self) -> String {
        let lines = self.lines();
        match lines.len() {
            0 => "it printed nothing".to_string(),
            count => {
                format!("its last messages are: {}", lines[count.saturating_sub(LAST_LINES)..].join(" / "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn console_messages_and_panics_are_found() {
        let scratch = Scratch::new("console").unwrap();
        let path = scratch.path().join("console");
        let heard = RefCell::new(Vec::new());
        let hear = |message: &str| heard.borrow_mut().push(message.to_string());
        let mut console = Console { file: None, text: Vec::new(), heard: 0 };
        console.read(&path, &hear);
        assert_eq!(console.last(), "it printed nothing");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"lab: one\r\n[    1.0] noise\r\nlab: tw").unwrap();
        console.read(&path, &hear);
        file.write_all(b"o\r\n[ 2.0] Kernel panic - not syncing: Attempted to kill init!\n").unwrap();
        console.read(&path, &hear);
        assert_eq!(*heard.borrow(), ["one", "two"]);
        assert_eq!(console.panic().unwrap(), "[ 2.0] Kernel panic - not syncing: Attempted to kill init!");
        assert!(console.last().starts_with("its last messages are: [    1.0] noise / lab: two / [ 2.0]"));
    }

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }
}
