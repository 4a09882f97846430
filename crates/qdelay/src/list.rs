use crate::cli::List; use crate::error::Failure;
pub fn run(_: &List) -> Result<(), Failure> { Ok(()) }
