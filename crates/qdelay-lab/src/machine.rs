//! The emulated machine: QEMU with one processor that executes an instruction in each nanosecond of its own time.
//!
//! The machine's time depends on nothing but the instructions that it executes: while its processor is idle, time goes on to the next
//! timer at once. Nothing of it depends on this machine's clocks, so equal contents and seeds give equal runs, however busy this machine is.
//! For that, the emulator's two threads, of the processor and of timers, must not run at once: when the processor became idle while the
//! other thread was awake, the next timer was seen to come up to a microsecond late, in one run of five. With a recording (`rr=record`,
//! which is thrown away) they exclude each other. And no device may finish work at a time of its own: there is no disk and no network
//! card. The job comes with the initial file system, and results leave by a serial device of virtio, which takes what is written to it
//! at once.
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

/// The emulator.
const QEMU: &str = "qemu-system-x86_64";
/// The processor: all that QEMU emulates, but for page tables of five levels, which cost a tenth of all time, and `cmpxchg16b`: with it
/// the kernel's allocator was seen to end in a double fault with flags that are part of a pointer, once in 20 runs (QEMU 7.2).
const CPU: &str = "max,la57=off,cx16=off,erms=off,fsrm=off";
/// Memory of the machine, MiB.
const MEMORY_MIB: u32 = 1024;
/// Of the kernel: without the counter-measures against side channels, which take most of the instructions of a system call; with
/// preemption of system calls, so that the emulator is not late while another program starts; and after an error off at once.
const COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off preempt=full";
/// Interval of looks at a running machine.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// What the machine prints of its progress begins so.
pub const MARK: &str = "lab: ";
/// Lines of the machine's console in an error.
const LAST_LINES: usize = 3;

/// The version of the emulator.
///
/// # Errors
/// One line: there is none.
pub fn version() -> Result<String, String> {
    let output = Command::new(QEMU).arg("--version").stdin(Stdio::null()).output();
    let missing =
        |error: String| format!("{QEMU} {error}; the laboratory needs it (package qemu-system-x86)");
    let output = output.map_err(|error| missing(format!("cannot be started: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next().filter(|_| output.status.success());
    line.map(str::to_string).ok_or_else(|| missing("does not say its version".to_string()))
}

/// Runs a machine of `image` with the archive `job` in its file system, until it powers off; returns what it wrote to its result
/// device. `limit_s` bounds the run in seconds of this machine, and `hear` is passed the machine's messages.
///
/// # Errors
/// One line: it cannot be started, its kernel panicked, or it did not end in time.
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
        let _ = poll(&mut [], Some(&LOOK));
    };
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

/// The initial file system of a run: that of the image, and the job's, from a multiple of 4 bytes.
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

/// A path in an option of QEMU, where a comma is written twice.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// What the machine prints.
struct Console {
    file: Option<File>,
    text: Vec<u8>,
    /// Bytes of it that have been heard.
    heard: usize,
}

impl Console {
    /// Reads what is new, and passes messages on.
    fn read(&mut self, path: &Path, hear: &dyn Fn(&str)) {
        if self.file.is_none() {
            self.file = File::open(path).ok();
        }
        let Some(file) = &mut self.file else { return };
        // What cannot be read now is read later.
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
    /// The last lines, in one.
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
    fn messages_of_the_machine() {
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
    fn commas_of_paths() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }
}
