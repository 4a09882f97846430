//! Shared objects with components: permission to open them.

use qdelay_core::component::Registry;
use qdelay_native::{Context, Natives, Source};
use qdelay_study::engine::current_case;
use qdelay_terminal::output::eprintln_line;
use std::path::Path;

/// Registrations with shared objects: cases of a study, and lines for the user.
pub const CONTEXT: Context = Context { case: current_case, report: eprintln_line };

/// `registry` with the shared objects named on the command line.
pub fn typed(registry: &Registry) -> Registry {
    Natives::new(Source::User, CONTEXT).into_registry(registry)
}

/// `registry` with the shared objects that the file `path` names, if the user allows them.
pub fn named_by(path: impl AsRef<Path>, is_allowed: bool, registry: &Registry) -> Registry {
    let path = path.as_ref().to_path_buf();
    Natives::new(Source::File { path, is_allowed }, CONTEXT).into_registry(registry)
}
