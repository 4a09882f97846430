//! `qdelay lab`: images of the laboratory, and the job inside its emulated machine.

use crate::cli::{LabBuild, LabCommand, LabList};
use qdelay_core::component::Registry;
use qdelay_lab::image::{self, Image, ImageFile};
use qdelay_lab::{guest, kernels};
use qdelay_study::results::{SCHEMA_VERSION, pretty};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output::{self, eprintln_line};
use serde_json::json;

/// Runs the command.
///
/// # Errors
/// Bad input, or a missing program or package that an image needs.
pub fn run(command: &LabCommand, registry: &Registry) -> Result<(), Failure> {
    match command {
        LabCommand::Build(options) => build(options),
        LabCommand::List(options) => list(options),
        LabCommand::Guest => guest::run(registry).map_err(|error| Failure::input("lab guest", error)),
    }
}

fn build(options: &LabBuild) -> Result<(), Failure> {
    let failed = |error: String| Failure::input("lab build", error);
    let Some(kernel) = kernels::find(&options.kernel) else {
        let suites: Vec<&str> = kernels::KERNELS.iter().map(|kernel| kernel.suite).collect();
        let message = format!("no suite '{}'; expected {}", options.kernel, suites.join(", "));
        return Err(Failure::input("--kernel", message));
    };
    let cache = image::cache().map_err(failed)?;
    let say = |message: &str| eprintln_line(&format!("{message}..."));
    let (image, is_new) = image::build(&cache, kernel, options.mirror.as_deref(), &say).map_err(failed)?;
    let what = if is_new { "built" } else { "is there already, of the current versions" };
    output::print(&format!("{}{what}\n", described(&image)))
}

fn list(options: &LabList) -> Result<(), Failure> {
    let cache = image::cache().map_err(|error| Failure::input("lab list", error))?;
    let images = image::list(&cache);
    if options.json {
        let images: Vec<_> = images
            .iter()
            .map(|image| json!({ "name": name(image), "folder": image.folder, "whole": image.is_whole(), "image": image.about }))
            .collect();
        return output::print(&pretty(&json!({ "schema_version": SCHEMA_VERSION, "images": images })));
    }
    if images.is_empty() {
        return output::print(&format!("no images in {}; 'qdelay lab build' makes one\n", cache.display()));
    }
    let all: Vec<String> = images.iter().map(described).collect();
    output::print(&all.join("\n"))
}

fn name(image: &Image) -> String {
    image.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn described(image: &Image) -> String {
    let ImageFile { kernel, packages, controls, .. } = &image.about;
    let bytes = |path: std::path::PathBuf| path.metadata().map_or(0, |file| file.len());
    let size = (bytes(image.kernel()) + bytes(image.initrd())) as f64 / 1e6;
    let damage = if image.is_whole() { "" } else { "  damaged   'qdelay lab build' makes it anew\n" };
    format!(
        "{}\n  kernel    {kernel}\n  TCP       {}\n  packages  {}\n  folder    {} ({size:.1} MB)\n{damage}",
        name(image),
        controls.join(", "),
        packages.len(),
        image.folder.display(),
    )
}
