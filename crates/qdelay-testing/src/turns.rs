//! How many tests run at once, whichever programs they are of: who runs one holds the lock of one of so many files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the folder of these files. The suite sets it.
pub const TURNS: &str = "QDELAY_TURNS";

/// How long to wait before the files are tried again: little beside a test that is worth waiting for.
const PAUSE: Duration = Duration::from_millis(5);

/// Files for so many at once, in an empty folder.
pub(crate) fn lay_out(folder: &Path, count: usize) -> io::Result<()> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)?;
    (0..count).try_for_each(|number| File::create(folder.join(number.to_string())).map(drop))
}

/// Waits for a lock in this folder. It is held until the file is dropped, and no longer than this process lives.
pub(crate) fn wait_in(folder: &Path) -> io::Result<File> {
    let paths = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    let files = paths.iter().map(File::open).collect::<io::Result<Vec<File>>>()?;
    loop {
        if let Some(free) = files.iter().position(|file| file.try_lock().is_ok()) {
            return Ok(files.into_iter().nth(free).expect("it is there"));
        }
        #[allow(clippy::disallowed_methods, reason = "nothing but time tells when another process is done")]
        std::thread::sleep(PAUSE);
    }
}

/// Waits for a turn where a suite runs. Where its files are missing, nothing holds a test back.
pub(crate) fn wait() -> Option<File> {
    wait_in(Path::new(&std::env::var_os(TURNS)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_there_are_files() {
        let folder = std::env::temp_dir().join(format!("qdelay-turns-{}", std::process::id()));
        lay_out(&folder, 2).unwrap();
        let first = wait_in(&folder).unwrap();
        let _second = wait_in(&folder).unwrap();
        let third = std::thread::spawn({
            let folder = folder.clone();
            move || wait_in(&folder).is_ok()
        });
        assert!(!third.is_finished());
        drop(first);
        assert!(third.join().unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
