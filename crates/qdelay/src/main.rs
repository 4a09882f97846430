//! The command `qdelay`, with the built-in components.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    qdelay::main()
}
