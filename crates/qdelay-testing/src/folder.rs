//! Temporary folders of tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Empty temporary folder, deleted on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder among the machine's temporary files. `name` helps readers of paths.
    ///
    /// # Panics
    /// A folder that cannot be created.
    pub fn new(name: &str) -> Folder {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("qdelay-test-{}-{number}-{name}", std::process::id()));
        // A process that died may have had the same ID and left its folder.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Folder(path)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in the folder, and creates the folders in the file's name.
    ///
    /// # Panics
    /// A file that cannot be written.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        let folder = path.parent().expect("a folder");
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, contents));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
