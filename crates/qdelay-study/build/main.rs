//! The shipped scenarios are those of the folder.

mod folder;

fn main() -> std::io::Result<()> {
    folder::list("scenarios")
}
