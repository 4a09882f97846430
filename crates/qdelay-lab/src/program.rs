//! This program as a part of a job: its executable, its libraries, and the script that the machine runs.

use crate::archive::Writer;
use crate::elf;
use std::path::Path;

/// Folder of the job in the machine.
const JOB: &str = "job";
/// Folder of this program in the machine.
const PROGRAM: &str = "job/program";

/// Archive entries of this program, and of the script that runs it.
#[derive(Clone, Debug)]
pub struct Program {
    entries: Vec<(String, Vec<u8>)>,
}

impl Program {
    /// Reads this program, which the machine runs with `arguments`.
    ///
    /// # Errors
    /// The executable or one of its libraries cannot be read; the message is one line.
    pub fn running(arguments: &str) -> Result<Program, String> {
        let path =
            std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))
        };
        let elf = read(&path)?;
        let mut entries = vec![(format!("{PROGRAM}/qdelay"), elf::trimmed(&elf))];
        let mut command = format!("/{PROGRAM}/qdelay {arguments}");
        if let Some(loader) = elf::loader(&elf) {
            // The program needs this machine's libraries, which differ from those of the image.
            for library in elf::libraries(&loader, None, &path)? {
                let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
                entries.push((format!("{PROGRAM}/{name}"), elf::trimmed(&read(&library)?)));
            }
            entries.push((format!("{PROGRAM}/loader"), read(&loader)?));
            command = format!("/{PROGRAM}/loader --library-path /{PROGRAM} {command}");
        }
        entries.push((format!("{JOB}/run"), format!("{command}\n").into_bytes()));
        Ok(Program { entries })
    }

    /// Adds the entries and the folders that contain them.
    pub fn add_to(&self, archive: &mut Writer) {
        for folder in [JOB, PROGRAM] {
            archive.folder(folder);
        }
        for (name, contents) in &self.entries {
            archive.program(name, contents);
        }
    }
}
