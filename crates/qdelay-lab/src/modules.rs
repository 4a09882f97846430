//! Modules of an unpacked kernel: found by name, with the modules that they depend on, in the order in which they are loaded.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All modules of a kernel.
#[derive(Debug)]
pub struct Modules {
    /// Paths of the modules by name; a file may be compressed.
    files: BTreeMap<String, PathBuf>,
    /// Path of busybox, which decompresses modules.
    busybox: PathBuf,
}

/// A module to be loaded.
#[derive(Debug)]
pub struct Module {
    /// Name of the module.
    pub name: String,
    /// Decompressed contents of the module.
    pub bytes: Vec<u8>,
}

impl Modules {
    /// Finds the modules below `folder`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn find(folder: &Path, busybox: PathBuf) -> io::Result<Modules> {
        let mut files = BTreeMap::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else if let Some((name, "ko" | "ko.xz")) =
                    entry.file_name().to_string_lossy().split_once('.')
                {
                    files.insert(name.replace('-', "_"), entry.path());
                }
            }
        }
        Ok(Modules { files, busybox })
    }

    /// Reads the modules of `names` that this kernel has, each after the modules that it depends on.
    ///
    /// # Errors
    /// A module cannot be read; the message is one line.
    pub fn with_dependencies<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<Vec<Module>, String> {
        let mut loaded = Vec::new();
        for name in names.filter(|name| self.files.contains_key(*name)) {
            self.add(name, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn add(&self, name: &str, loaded: &mut Vec<Module>) -> Result<(), String> {
        if loaded.iter().any(|module| module.name == name) {
            return Ok(());
        }
        let Some(path) = self.files.get(name) else {
            return Err(format!("the kernel's module {name} is missing"));
        };
        let unreadable = |error: io::Error| format!("{}: cannot be read: {error}", path.display());
        let bytes = if path.extension().is_some_and(|ending| ending == "xz") {
            let output =
                Command::new(&self.busybox).args(["xz", "-dc"]).arg(path).output().map_err(unreadable)?;
            if !output.status.success() {
                return Err(unreadable(io::Error::other("it cannot be decompressed")));
            }
            output.stdout
        } else {
            fs::read(path).map_err(unreadable)?
        };
        for needed in dependencies(&bytes) {
            self.add(&needed, loaded)?;
        }
        loaded.push(Module { name: name.to_string(), bytes });
        Ok(())
    }
}

/// Names of the modules that a module depends on (`depends=a,b`, in its section `.modinfo`).
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else { return Vec::new() };
    let value = module.get(at + KEY.len()..).unwrap_or(&[]);
    let value = value.split(|byte| *byte == 0).next().unwrap_or(&[]);
    let names = String::from_utf8_lossy(value);
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_follow_their_dependencies() {
        let folder = qdelay_study::files::Scratch::new("modules").unwrap();
        let write = |name: &str, depends: &str| {
            let text = format!("\x7fELF..\0license=GPL\0depends={depends}\0intree=Y\0");
            fs::write(folder.path().join(name), text).unwrap();
        };
        write("sch_a.ko", "lib-c,sch_b");
        write("sch_b.ko", "lib-c");
        write("lib-c.ko", "");
        write("other.ko", "");
        let modules = Modules::find(folder.path(), PathBuf::from("/nowhere")).unwrap();
        let names = |wanted: &[&str]| -> Vec<String> {
            let loaded = modules.with_dependencies(wanted.iter().copied()).unwrap();
            loaded.into_iter().map(|module| module.name).collect()
        };
        assert_eq!(names(&["sch_a", "missing", "sch_b"]), ["lib_c", "sch_b", "sch_a"]);
        write("sch_b.ko", "gone");
        let error = modules.with_dependencies(["sch_b"].into_iter()).unwrap_err();
        assert_eq!(error, "the kernel's module gone is missing");
    }
}
