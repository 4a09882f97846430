//! Queue disciplines and congestion controls out of shared objects: in C, C++ or another language, behind the interface of `qdelay_component.h`.
//!
//! [`Natives`] is an [`Opener`]: a [`Registry`] that has one reads `./my.so:target=20ms` as a discipline or as a transport, whose parameters
//! are declared in the file and checked as all others are. [`law`] makes a discipline of functions that are in this process already.
//!
//! | module | what |
//! | --- | --- |
//! | `abi` | the structures of the header |
//! | `object` | a file: what it is, its digest, its symbol |
//! | `declaration` | what a description says, checked, as a [`Component`](qdelay_core::component::Component) |
//! | `discipline` | the law over a queue: its calls, its faults |
//! | `control` | the congestion control of a connection: its calls |
//! | `state` | the memory that both keep their state in |
//! | `watch` | a call that does not return |
//!
//! # What is trusted
//!
//! Code of a shared object runs in this process, with all its rights, from the moment at which the file is opened: its constructors run
//! before anything can be checked. Nothing here protects from a file that means harm, or that writes where it should not. Therefore
//! only a name that the user typed is opened; what a file names (a scenario, a gateway's configuration) is opened only if
//! [`Source::File`] says that the user allows it.
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod control;
mod declaration;
mod discipline;
mod object;
mod state;
mod text;
mod watch;

pub use declaration::{Declared, DeclaredParameter, Role, Unit};
pub use discipline::Addresses;
pub use watch::Context;

use object::Functions;
use qdelay_core::component::{Custom, Kind, Opener, Registry};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The header that components are written against: `qdelay_component.h`.
pub const HEADER: &str = include_str!("../include/qdelay_component.h");

/// Origin of the names of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user, on the command line or in a program: names are relative to the current folder.
    User,
    /// A file: names are relative to its folder.
    File {
        /// The file.
        path: PathBuf,
        /// Whether the user allows it to name code.
        is_allowed: bool,
    },
}

/// Opens shared objects, and remembers which.
#[derive(Debug)]
pub struct Natives {
    source: Source,
    context: Context,
    opened: Mutex<Vec<(String, String)>>,
}

impl Natives {
    /// Opens what `source` names; `context` says where a call is made that does not return.
    pub fn new(source: Source, context: Context) -> Natives {
        Natives { source, context, opened: Mutex::new(Vec::new()) }
    }

    /// Returns a copy of `registry` in which names may also be those of shared objects.
    pub fn into_registry(self, registry: &Registry) -> Registry {
        registry.clone().opening(Arc::new(self))
    }

    fn path(&self, name: &str) -> Result<PathBuf, String> {
        match &self.source {
            Source::User => Ok(PathBuf::from(name)),
            Source::File { path, is_allowed: true } => beside(path.parent().unwrap_or(Path::new("")), name),
            Source::File { is_allowed: false, .. } => {
                Err("names a shared object, whose code would run with all rights of this program; expected a built-in name, or \
                     --allow-native (in Python allow_native=True) if you trust this file and that one"
                    .to_string())
            }
        }
    }

    fn open_file(&self, kind: Kind, name: &str) -> Result<Custom, String> {
        let opened = object::open(&self.path(name)?)?;
        match (kind, opened.declared.role) {
            (Kind::Qdisc, Role::Control) => return Err(WRONG_KIND[0].to_string()),
            (Kind::Transport, Role::Queue) => return Err(WRONG_KIND[1].to_string()),
            _ => {}
        }
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|(known, _)| known == name) {
            all.push((name.to_string(), opened.digest.clone()));
        }
        drop(all);
        let leaked = declaration::leak(&opened.declared, name)?;
        Ok(match opened.functions {
            Functions::Queue(calls) => discipline::custom(leaked, calls, self.context),
            Functions::Control(calls) => control::custom(leaked, calls, self.context),
        })
    }
}

impl Opener for Natives {
    fn open(&self, kind: Kind, name: &str) -> Option<Result<Custom, String>> {
        (matches!(kind, Kind::Qdisc | Kind::Transport) && is_file_name(name))
            .then(|| self.open_file(kind, name))
    }

    fn opened(&self) -> Vec<(String, String)> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The file `name` of a scenario in `folder`. A scenario that a run has copied into its results is not beside its files: these are looked
/// for in the current folder then.
fn beside(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    if path.exists() || !folder.join("study.json").exists() {
        return Ok(path);
    }
    match Path::new(name).exists() {
        true => Ok(PathBuf::from(name)),
        false => Err(format!(
            "is neither in {} nor in the current folder; expected the shared object of the run in one of them",
            folder.display()
        )),
    }
}

/// Errors for a control named as a discipline, and for a discipline named as a transport.
const WRONG_KIND: [&str; 2] = [
    "is a congestion control; expected a queue discipline here (.kind = QDELAY_AQM), or this file as a transport",
    "is a queue discipline; expected a congestion control here (.kind = QDELAY_CONTROL), or this file as a qdisc",
];

/// Whether `name` is that of a file: no component's name has a slash or a dot.
fn is_file_name(name: &str) -> bool {
    name.contains('/') || name.ends_with(".so")
}

/// A discipline whose law is functions of this process, for a [`Registry`].
///
/// # Safety
/// The addresses are those of functions that the header declares, which keep its rules, and stay there while a discipline of them exists.
///
/// # Errors
/// The declaration is not one: what is wrong, and what was expected.
#[allow(unsafe_code, reason = "calls go to addresses")]
pub unsafe fn law(declared: &Declared, addresses: Addresses, context: Context) -> Result<Custom, String> {
    Ok(discipline::custom(declaration::leak(declared, &declared.name)?, addresses.calls()?, context))
}
