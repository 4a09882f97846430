//! Green and blue packets: random cases of DSD, called beside its model, and links below them.

pub mod cases;
pub mod links;
