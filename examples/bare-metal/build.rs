//! Hands the linker the memory of the board.

fn main() {
    println!("cargo:rerun-if-changed=layout.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none") {
        let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
        println!("cargo:rustc-link-arg-bins=-T{folder}/layout.ld");
    }
}
