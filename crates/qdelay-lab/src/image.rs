//! Images of the machine: a kernel and its initial file system, built from Debian packages and cached by the packages' exact versions.
//!
//! ```text
//! CACHE/bookworm-backports-0123456789ab/vmlinuz
//! CACHE/bookworm-backports-0123456789ab/initrd
//! CACHE/bookworm-backports-0123456789ab/image.json    its packages and modules
//! CACHE/bookworm-backports-0123456789ab/SHA256SUMS    digests of these files, checked before an image is used
//! ```
//!
//! The initial file system is not compressed, because decompressing it in the emulated machine would take longer than reading it.

use crate::archive::Writer;
use crate::elf;
use crate::kernels::{self, CONTROLS, CONTROLS_BUILT_IN, Kernel, MODULES, PROGRAMS, PROGRAMS_SUITE};
use crate::modules::Modules;
use crate::packages::{self, PackageFile, Suite};
use qdelay_study::engine::digests;
use qdelay_study::files::{self, Partial, Scratch};
use qdelay_study::results::text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Environment variable with the folder of images.
pub const VARIABLE: &str = "QDELAY_LAB";
/// Version of `image.json` and of the files that an image has besides packages.
const VERSION: u32 = 1;
/// Number of digits of the digest in a folder's name.
const DIGITS: usize = 12;
const ABOUT: &str = "image.json";
const INIT: &str = include_str!("init.sh");
/// Folder of the libraries of Debian's programs in the machine.
const LIBRARIES: &str = "lib/x86_64-linux-gnu";
/// Path of Debian's dynamic loader.
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
/// Programs of the machine besides busybox, by their paths in the packages.
const BINARIES: &[&str] = &["bin/ip", "sbin/tc", "bin/ping", "usr/bin/iperf3", "usr/bin/irtt"];
/// Names by which `init.sh` calls busybox.
const APPLETS: &[&str] = &["sh", "mount", "mkdir", "mknod", "insmod", "uname", "poweroff", "cat", "sleep"];

/// Contents of `image.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFile {
    /// Version of this file.
    pub schema_version: u32,
    /// Debian suite of the kernel.
    pub suite: String,
    /// Release of the kernel (`uname -r`).
    pub kernel: String,
    /// Digest of the packages, as in the folder's name.
    pub digest: String,
    /// Names of the package files.
    pub packages: Vec<String>,
    /// Names of the modules that are loaded.
    pub modules: Vec<String>,
    /// Congestion controls that the kernel has.
    pub controls: Vec<String>,
}

/// A built image.
#[derive(Clone, Debug)]
pub struct Image {
    /// Folder of the image.
    pub folder: PathBuf,
    /// Packages and modules of the image.
    pub about: ImageFile,
}

impl Image {
    /// Path of the kernel.
    pub fn kernel(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }
    /// Path of the initial file system.
    pub fn initrd(&self) -> PathBuf {
        self.folder.join("initrd")
    }
    /// True if the files match their digests. A full disk, a truncated copy or another program may have changed them since the build.
    pub fn is_whole(&self) -> bool {
        digests::are_right(&self.folder, &["vmlinuz", "initrd", ABOUT])
    }
}

/// Folder of images: the value of `QDELAY_LAB`, or a folder in the user's cache.
///
/// # Errors
/// The user has no home folder.
pub fn cache() -> Result<PathBuf, String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable(VARIABLE)
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("qdelay/lab")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/qdelay/lab")))
        .ok_or_else(|| {
            format!(
                "there is no home folder for the laboratory; expected the variable {VARIABLE} with a folder"
            )
        })
}

/// Images in `cache`: those of the default suite first, and the latest of each suite first.
pub fn list(cache: &Path) -> Vec<Image> {
    let Ok(entries) = fs::read_dir(cache) else { return Vec::new() };
    let image = |folder: PathBuf| {
        let about = files::read_text(&folder.join(ABOUT)).ok()?;
        let about: ImageFile =
            serde_json::from_str(&about).ok().filter(|about: &ImageFile| about.schema_version == VERSION)?;
        let image = Image { folder, about };
        (image.kernel().is_file() && image.initrd().is_file()).then_some(image)
    };
    let mut images: Vec<Image> = entries.flatten().filter_map(|entry| image(entry.path())).collect();
    let made = |image: &Image| image.folder.join(ABOUT).metadata().and_then(|about| about.modified()).ok();
    let place = |image: &Image| kernels::KERNELS.iter().position(|kernel| kernel.suite == image.about.suite);
    images.sort_by(|a, b| {
        place(a).cmp(&place(b)).then_with(|| made(b).cmp(&made(a))).then(a.folder.cmp(&b.folder))
    });
    images
}

/// Finds the image called `name`: the latest of a suite, or the image of a folder; without a name the first of [`list`].
///
/// # Errors
/// There is no such image.
pub fn find(cache: &Path, name: Option<&str>) -> Result<Image, String> {
    let is_meant = |image: &Image| match name {
        None => true,
        Some(name) => {
            image.about.suite == name || image.folder.file_name().is_some_and(|folder| folder == name)
        }
    };
    list(cache).into_iter().find(is_meant).ok_or_else(|| {
        let built = match name.and_then(kernels::find) {
            Some(kernel) => format!("'qdelay lab build --kernel {}' first", kernel.suite),
            None if name.is_none() => "'qdelay lab build' first".to_string(),
            None => "one that 'qdelay lab list' shows".to_string(),
        };
        let which = name.map_or_else(String::new, |name| format!(" '{name}'"));
        format!("there is no image{which} of the laboratory in {}; expected {built}", cache.display())
    })
}

/// Function that receives the messages about the progress of a build, one line each.
pub type Say<'a> = &'a dyn Fn(&str);

/// Builds the image of `kernel` in `cache`, unless the cache has it in the suites' current versions. Returns true if it was built.
///
/// # Errors
/// No packages, no network, or no disk space; the message is one line.
pub fn build(
    cache: &Path,
    kernel: &Kernel,
    mirror: Option<&str>,
    say: Say<'_>,
) -> Result<(Image, bool), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err(
            "the laboratory's machine has an x86-64 processor; expected this machine to have one, too, because both run this program"
                .to_string(),
        );
    }
    let mirror = mirror.map_or_else(packages::system_mirror, |mirror| Ok(mirror.to_string()))?;
    let scratch =
        Scratch::new("qdelay-lab").map_err(|error| format!("no folder for temporary files: {error}"))?;
    say(&format!("reading the index of Debian {}", kernel.suite));
    let kernels = Suite::open(scratch.path().join("kernel"), &mirror, kernel.suite)?;
    let kernel_package = kernels.dependency(kernels::KERNEL_PACKAGE)?;
    let kernel_files = kernels.alone(&kernel_package)?;
    say(&format!("reading the index of Debian {PROGRAMS_SUITE}"));
    let programs = Suite::open(scratch.path().join("programs"), &mirror, PROGRAMS_SUITE)?;
    let program_files = programs.with_dependencies(PROGRAMS)?;
    let all: Vec<PackageFile> = kernel_files.into_iter().chain(program_files).collect();
    let digest = digest(&all);
    let folder = cache.join(format!("{}-{digest}", kernel.suite));
    if let Ok(image) = find(cache, folder.file_name().and_then(|name| name.to_str())) {
        if image.is_whole() {
            return Ok((image, false));
        }
        say("the image is damaged, or of a version without digests: building it again");
    }
    say(&format!("downloading {} packages", all.len()));
    let [unpacked_kernel, unpacked] = ["kernel-files", "files"].map(|name| scratch.path().join(name));
    kernels.unpack(&[&kernel_package], true, &unpacked_kernel)?;
    programs.unpack(PROGRAMS, false, &unpacked)?;
    say("building the image");
    let (release, modules_folder) = release(&unpacked_kernel)?;
    let modules = Modules::find(&modules_folder, unpacked.join("bin/busybox"))
        .map_err(|error| format!("{}: cannot be read: {error}", modules_folder.display()))?;
    let controls: Vec<String> = CONTROLS.iter().map(|name| format!("tcp_{name}")).collect();
    let loaded =
        modules.with_dependencies(MODULES.iter().copied().chain(controls.iter().map(String::as_str)))?;
    let has = |name: &&str| loaded.iter().any(|module| module.name.strip_prefix("tcp_") == Some(*name));
    let about = ImageFile {
        schema_version: VERSION,
        suite: kernel.suite.to_string(),
        kernel: release.clone(),
        digest,
        packages: all.into_iter().map(|file| file.name).collect(),
        modules: loaded.iter().map(|module| module.name.clone()).collect(),
        controls: CONTROLS_BUILT_IN
            .iter()
            .copied()
            .chain(CONTROLS.iter().copied().filter(has))
            .map(str::to_string)
            .collect(),
    };
    let mut archive = Writer::default();
    for name in [
        "bin", "dev", "etc", "job", "lib", LIBRARIES, "lib64", "modules", "proc", "root", "run", "sys", "tmp",
    ] {
        archive.folder(name);
    }
    archive.program("init", INIT.as_bytes());
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n");
    add_programs(&mut archive, &unpacked)?;
    for module in &loaded {
        archive.file(&format!("modules/{}.ko", module.name), &module.bytes);
    }
    let order: String = loaded.iter().map(|module| format!("{}.ko\n", module.name)).collect();
    archive.file("modules/order", order.as_bytes());
    let vmlinuz =
        [unpacked_kernel.join("boot").join(format!("vmlinuz-{release}")), modules_folder.join("vmlinuz")];
    let vmlinuz = vmlinuz
        .iter()
        .find(|path| path.is_file())
        .ok_or_else(|| format!("the package {kernel_package} has no kernel"))?;
    let cannot_write = |error: io::Error| format!("{}: cannot be written: {error}", folder.display());
    let write = || {
        fs::create_dir_all(cache)?;
        let partial = Partial::folder(&folder)?;
        fs::copy(vmlinuz, partial.path().join("vmlinuz"))?;
        fs::write(partial.path().join("initrd"), archive.finish())?;
        fs::write(partial.path().join(ABOUT), text(&about))?;
        digests::write(partial.path()).map_err(io::Error::other)?;
        // A folder of this name without a valid image belongs to another version, or to an interrupted build.
        files::remove(&folder)?;
        partial.finish()
    };
    write().map_err(cannot_write)?;
    Ok((Image { folder, about }, true))
}

fn digest(packages: &[PackageFile]) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{VERSION}\n{INIT}\n{MODULES:?}\n{CONTROLS:?}\n"));
    for PackageFile { name, digest } in packages {
        hash.update(format!("{name} {digest}\n"));
    }
    let all: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    all[..DIGITS].to_string()
}

/// Release of an unpacked kernel, and the folder of its modules.
fn release(unpacked: &Path) -> Result<(String, PathBuf), String> {
    let folders = ["lib/modules", "usr/lib/modules"].map(|name| unpacked.join(name));
    let found = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten().next();
    let found = found.ok_or("the kernel's package has no modules")?;
    Ok((found.file_name().to_string_lossy().into_owned(), found.path()))
}

/// Adds busybox, the programs, and the libraries that they need.
fn add_programs(archive: &mut Writer, unpacked: &Path) -> Result<(), String> {
    let read =
        |path: &Path| fs::read(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()));
    archive.program("bin/busybox", &read(&unpacked.join("bin/busybox"))?);
    for applet in APPLETS {
        archive.link(&format!("bin/{applet}"), "busybox");
    }
    let loader = unpacked.join(LOADER);
    archive.program(LOADER, &read(&loader)?);
    let mut libraries = BTreeSet::new();
    for binary in BINARIES {
        let path = unpacked.join(binary);
        let bytes = read(&path)?;
        // Static programs need no libraries.
        if elf::loader(&bytes).is_some() {
            libraries.extend(elf::libraries(&loader, Some(unpacked), &path)?);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.program(&format!("bin/{name}"), &elf::trimmed(&bytes));
    }
    let mut added = BTreeSet::new();
    for path in libraries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if added.insert(name.clone()) {
            archive.program(&format!("{LIBRARIES}/{name}"), &elf::trimmed(&read(&path)?));
        }
    }
    Ok(())
}
