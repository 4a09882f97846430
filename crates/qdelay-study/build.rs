//! The shipped scenarios are those of the folder.

fn main() -> std::io::Result<()> {
    qdelay_folder::list("scenarios")
}
