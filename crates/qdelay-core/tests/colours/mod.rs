//! Green and blue packets: random cases of DSD, called beside its model, and links that they go over.

pub mod cases;
pub mod links;
