//! The command `qdelay`, with what is built in.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    qdelay::main()
}
