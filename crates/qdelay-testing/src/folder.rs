//! Temporary folders of tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An empty temporary folder, deleted when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates one among the machine's temporary files. `name` is for readers of paths.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn new(name: &str) -> Folder {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("qdelay-test-{}-{number}-{name}", std::process::id()));
        // Left by a process that died and had the same ID.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Folder(path)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it, and creates the folders in its name.
    ///
    /// # Panics
    /// If it cannot be written.
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
