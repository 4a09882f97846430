//! The laboratory, for tests that start its machines.

use qdelay_testing::{Need, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Folder of the images of these tests, kept so that packages are downloaded once.
pub fn images() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-images")
}

/// The command with these arguments and the images of these tests.
pub fn with_images(arguments: &[&str]) -> Command {
    let mut command = super::command(arguments);
    command.env("QDELAY_LAB", images());
    command
}

/// Skips the test without QEMU, or if no image can be built.
pub fn needs_lab() {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let qemu = Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status();
        if !qemu.is_ok_and(|status| status.success()) {
            return Err("no qemu-system-x86_64 command".to_string());
        }
        let output = with_images(&["lab", "build"]).output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        // Without the network, an earlier image suffices.
        let has_image = !qdelay_lab::image::list(&images()).is_empty();
        if has_image { Ok(()) } else { Err(complaint.lines().last().unwrap_or_default().to_string()) }
    });
    if let Err(reason) = built {
        skip(Need::Lab, reason);
    }
}
