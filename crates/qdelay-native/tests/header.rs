//! The header is C and C++ without a warning, and a program of it knows the sizes that Rust has.

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
#include "qdelay_component.h"
#include <stddef.h>
extern char a[sizeof(qdelay_call) == 64 ? 1 : -1];
extern char b[sizeof(qdelay_value) == 24 ? 1 : -1];
extern char c[sizeof(qdelay_parameter) == 64 ? 1 : -1];
extern char d[sizeof(qdelay_component) == 152 ? 1 : -1];
extern char e[offsetof(qdelay_call, ecn) == 59 ? 1 : -1];
extern char f[offsetof(qdelay_component, emptied) == 96 ? 1 : -1];
extern char g[sizeof(qdelay_connection) == 128 ? 1 : -1];
extern char h[sizeof(qdelay_window) == 24 ? 1 : -1];
extern char i[offsetof(qdelay_connection, flags) == 116 ? 1 : -1];
extern char j[offsetof(qdelay_component, event) == 144 ? 1 : -1];
"#;

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("header");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn c_and_cpp_have_the_same_layout() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for (name, options) in [("layout.c", &["-std=c99", "-xc"][..]), ("layout.cc", &["-std=c++17", "-xc++"])] {
        let source = folder().join(name);
        std::fs::write(&source, PROGRAM).unwrap();
        let output = Command::new("cc")
            .args(options)
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
            .args([&include, &source])
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Rust's structures are asserted in `abi.rs`; what the header says of itself is what the command prints.
#[test]
fn the_header_is_shipped() {
    assert!(qdelay_native::HEADER.contains("#define QDELAY_ABI 1u"));
}
