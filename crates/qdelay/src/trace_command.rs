use crate::cli::TraceCommand; use crate::error::Failure;
pub fn run(_: &TraceCommand) -> Result<(), Failure> { Ok(()) }
