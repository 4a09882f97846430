//! Shared objects: what a file is, its digest, and the description that it exports.
#![allow(unsafe_code, reason = "code and data of a shared object")]

use crate::abi::{
    ABI, AQM, CONTROL, Calls, ControlCalls, Entry, OWNS_WINDOW, RANDOM, RawComponent, RawParameter, SIZE_MIN,
};
use crate::declaration::{Declared, DeclaredParameter, PARAMETERS_MAX, Role, Unit, one_line};
use crate::text::text;
use crate::{control, discipline};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A shared object that was opened. It stays open until the program ends.
#[derive(Clone, Debug)]
pub struct SharedObject {
    /// SHA-256 of the file, as `sha256sum` prints it.
    pub digest: String,
    pub declared: Declared,
    pub functions: Functions,
}

/// Functions of the component.
#[derive(Clone, Copy, Debug)]
pub enum Functions {
    /// Functions of a queue law.
    Queue(Calls),
    /// Functions of a congestion control.
    Control(ControlCalls),
}

/// Opens `path`, or finds it opened.
///
/// # Errors
/// The message says what is wrong with the file, and what was expected.
pub fn open(path: &Path) -> Result<SharedObject, String> {
    static KNOWN: Mutex<BTreeMap<PathBuf, SharedObject>> = Mutex::new(BTreeMap::new());
    let cannot_read = |error: io::Error| format!("cannot be read: {error}; expected a shared object");
    // The loader looks for a name without a folder elsewhere.
    let path = path.canonicalize().map_err(cannot_read)?;
    // Before it is opened: a pipe would keep this program waiting for its other end.
    if !path.metadata().map_err(cannot_read)?.is_file() {
        return Err("is no regular file; expected a shared object".to_string());
    }
    let mut file = File::open(&path).map_err(cannot_read)?;
    check_format(&mut file)?;
    let digest = digest(&mut file).map_err(cannot_read)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match known.get(&path) {
        Some(opened) if opened.digest == digest => return Ok(opened.clone()),
        // The loader would return the old code.
        Some(_) => return Err("has changed since this program opened it; expected a new start".to_string()),
        None => {}
    }
    let (declared, functions) = load(&path)?;
    let opened = SharedObject { digest, declared, functions };
    known.insert(path, opened.clone());
    Ok(opened)
}

fn digest(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hash.update(&buffer[..count]),
        }
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Machines by their number in ELF (gABI, `e_machine`).
const MACHINES: [(u16, &str); 6] =
    [(3, "x86"), (40, "arm"), (62, "x86_64"), (183, "aarch64"), (243, "riscv64"), (258, "loongarch64")];

/// Refuses files for which the loader has a message that is hard to understand, or crashes.
fn check_format(file: &mut File) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let mut head = [0; 20];
    if file.read_exact(&mut head).is_err() || head[..4] != *b"\x7fELF" {
        return Err("is not a shared object; expected one, such as 'cc -shared -fPIC -o my.so my.c' makes"
            .to_string());
    }
    let number = |at: usize| match head[5] {
        2 => u16::from_be_bytes([head[at], head[at + 1]]),
        _ => u16::from_le_bytes([head[at], head[at + 1]]),
    };
    let machine = number(18);
    let name = MACHINES.iter().find(|(known, _)| *known == machine).map(|(_, name)| *name);
    let bits = if head[4] == 1 { 32 } else { 64 };
    if name != Some(std::env::consts::ARCH) || bits != usize::BITS {
        let name = name.map_or(format!("machine number {machine}"), str::to_string);
        let ours = format!("{} ({} bits)", std::env::consts::ARCH, usize::BITS);
        return Err(format!(
            "is for {name} ({bits} bits), and this program for {ours}; expected it compiled for the latter"
        ));
    }
    match number(16) {
        3 => check_segments(file),
        1 => Err("is an object file that is not linked; expected a shared object ('cc -shared')".to_string()),
        _ => Err("is a program or something else; expected a shared object ('cc -shared -fPIC')".to_string()),
    }
}

/// A file that ends before its segments, as one that is still being written, would end the program when it is loaded.
fn check_segments(file: &mut File) -> Result<(), String> {
    const LOAD: u32 = 1;
    // Of the few values of another width or byte order nothing was let pass.
    let is_wide = usize::BITS == 64;
    let length = file.metadata().map(|found| found.len()).unwrap_or_default();
    let mut header = [0; 64];
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut header)).map_err(|_| INCOMPLETE)?;
    let (table, size, count) = if is_wide { (32, 54, 56) } else { (28, 42, 44) };
    let (table, size) = (word(&header, table, is_wide), u64::from(half(&header, size)));
    for index in 0..u64::from(half(&header, count)) {
        let mut segment = [0; 56];
        let used = if is_wide { 56 } else { 32 };
        let start = table.saturating_add(index * size);
        file.seek(SeekFrom::Start(start))
            .and_then(|_| file.read_exact(&mut segment[..used]))
            .map_err(|_| INCOMPLETE)?;
        let (offset, bytes) = if is_wide { (8, 32) } else { (4, 16) };
        let end = word(&segment, offset, is_wide).saturating_add(word(&segment, bytes, is_wide));
        if word(&segment, 0, false) as u32 == LOAD && end > length {
            return Err(INCOMPLETE.to_string());
        }
    }
    Ok(())
}

const INCOMPLETE: &str =
    "ends too early: it is no whole shared object; expected one that was written to its end";

/// Two bytes of a header of this machine.
fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Four or eight bytes of a header of this machine.
fn word(bytes: &[u8], at: usize, is_wide: bool) -> u64 {
    let low = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    match (is_wide, cfg!(target_endian = "little")) {
        (false, _) => u64::from(low(at)),
        (true, true) => u64::from(low(at)) | u64::from(low(at + 4)) << 32,
        (true, false) => u64::from(low(at)) << 32 | u64::from(low(at + 4)),
    }
}

fn load(path: &Path) -> Result<(Declared, Functions), String> {
    // SAFETY: constructors of the file run, which the user has asked for: see the crate's documentation.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let reason = reason.replace(&format!("{}: ", path.display()), "");
        format!("cannot be loaded: {}; expected a shared object with all that it needs", one_line(&reason))
    })?;
    // SAFETY: the symbol is only called below, and the header says what it is.
    let entry = unsafe { library.get::<Entry>(b"qdelay_component_v1\0") }.map(|symbol| *symbol);
    let Ok(entry) = entry else {
        let other = (2..=9).find(|version| {
            let name = format!("qdelay_component_v{version}\0");
            // SAFETY: as above; it is not called.
            unsafe { library.get::<Entry>(name.as_bytes()) }.is_ok()
        });
        return Err(match other {
            Some(version) => wrong_version(version),
            None => {
                "exports no qdelay_component_v1; expected that of qdelay_component.h ('qdelay list --header')"
                    .to_string()
            }
        });
    };
    // SAFETY: the header says that it takes nothing and returns a description or NULL.
    let raw = unsafe { entry() };
    // Its code is used from now on until the program ends.
    std::mem::forget(library);
    // SAFETY: the header says that a description is valid for ever.
    unsafe { read(raw) }
}

fn wrong_version(version: u32) -> String {
    format!(
        "is made for version {version} of the interface, and this program has version {ABI}; expected it compiled with the header of \
             'qdelay list --header'"
    )
}

/// # Safety
/// `raw` is NULL, or a description whose pointers are valid for ever.
unsafe fn read(raw: *const RawComponent) -> Result<(Declared, Functions), String> {
    if raw.is_null() || !raw.is_aligned() {
        return Err("qdelay_component_v1 returned no description; expected the address of one".to_string());
    }
    // SAFETY: version and size stand first in the descriptions of all versions.
    let (abi, size, kind) = unsafe { ((*raw).abi, (*raw).size as usize, (*raw).kind) };
    if abi != ABI {
        return Err(wrong_version(abi));
    }
    let expected = size_of::<RawComponent>();
    if size < SIZE_MIN || (kind == CONTROL && size < expected) {
        return Err(format!(
            "its description has {size} bytes; expected .size = sizeof(qdelay_component), which is {expected}"
        ));
    }
    // SAFETY: all fields may be zero: numbers, addresses and optional functions.
    let mut whole: RawComponent = unsafe { core::mem::zeroed() };
    // SAFETY: it has so many bytes, and what it lacks of the fields stays zero.
    unsafe {
        let from = raw.cast::<u8>();
        (&raw mut whole).cast::<u8>().copy_from_nonoverlapping(from, size.min(expected));
    }
    let raw = &whole;
    let (role, flags) = match kind {
        AQM => (Role::Queue, RANDOM),
        CONTROL => (Role::Control, RANDOM | OWNS_WINDOW),
        other => {
            return Err(format!(
                "is of kind {other}; expected QDELAY_AQM ({AQM}) or QDELAY_CONTROL ({CONTROL})"
            ));
        }
    };
    if raw.flags & !flags != 0 {
        let more = if role == Role::Control { ", QDELAY_OWNS_WINDOW (2), both" } else { "" };
        return Err(format!("has flags {:#x}; expected QDELAY_RANDOM ({RANDOM}){more} or 0", raw.flags));
    }
    if raw.parameter_count > PARAMETERS_MAX || (raw.parameters.is_null() && raw.parameter_count > 0) {
        let count = raw.parameter_count;
        return Err(format!(
            "its description has {count} parameters; expected at most {PARAMETERS_MAX}, and their address"
        ));
    }
    let mut declared = Declared {
        role,
        // SAFETY: texts of the description.
        name: unsafe { text(raw.name, "name") }?,
        // SAFETY: as above.
        meaning: unsafe { text(raw.meaning, "meaning") }?,
        // SAFETY: as above.
        source: unsafe { text(raw.source, "source") }?,
        // SAFETY: as above.
        classifies: unsafe { text(raw.classifies, "classifies") }?,
        parameters: Vec::new(),
    };
    for index in 0..raw.parameter_count as usize {
        // SAFETY: there are so many.
        declared.parameters.push(unsafe { parameter(&*raw.parameters.add(index)) }?);
    }
    let functions = match role {
        Role::Queue => Functions::Queue(queue(raw)?),
        Role::Control => Functions::Control(window(raw)?),
    };
    Ok((declared, functions))
}

fn queue(raw: &RawComponent) -> Result<Calls, String> {
    let calls = Calls {
        init: raw.init,
        admit: raw.admit,
        dequeue: raw.dequeue,
        emptied: raw.emptied,
        state_size: raw.state_size,
        state_align: raw.state_align,
        is_random: raw.flags & RANDOM != 0,
        begins_with_values: false,
    };
    discipline::check(&calls)?;
    Ok(calls)
}

fn window(raw: &RawComponent) -> Result<ControlCalls, String> {
    let calls = ControlCalls {
        init: raw.init,
        start: raw.start,
        ssthresh: raw.ssthresh,
        ack: raw.ack.ok_or("has no ack; expected the function that sets the window")?,
        sampled: raw.sampled,
        event: raw.event,
        state_size: raw.state_size,
        state_align: raw.state_align,
        is_random: raw.flags & RANDOM != 0,
        owns_window: raw.flags & OWNS_WINDOW != 0,
    };
    control::check(&calls)?;
    Ok(calls)
}

/// # Safety
/// The texts of `raw` are valid.
unsafe fn parameter(raw: &RawParameter) -> Result<DeclaredParameter, String> {
    // SAFETY: as the caller says.
    let name = unsafe { text(raw.name, "name of a parameter") }?;
    // SAFETY: as above.
    let of = |pointer| unsafe { text(pointer, &format!("parameter '{}'", one_line(&name))) };
    let words = of(raw.words)?;
    let unit = match raw.unit {
        1 => Unit::Duration,
        2 => Unit::Rate,
        3 => Unit::Bytes,
        4 => Unit::Count(words),
        5 => Unit::Number,
        6 => Unit::Percent,
        7 => Unit::Switch,
        8 => Unit::Choice(words.split('|').filter(|word| !word.is_empty()).map(str::to_string).collect()),
        other => {
            return Err(format!(
                "its parameter '{}' has unit {other}; expected QDELAY_DURATION (1) to QDELAY_CHOICE (8)",
                one_line(&name)
            ));
        }
    };
    let (default, min, max) = (of(raw.default_value)?, of(raw.min)?, of(raw.max)?);
    let (meaning, source) = (of(raw.meaning)?, of(raw.source)?);
    Ok(DeclaredParameter { name, unit, default, min, max, meaning, source })
}
