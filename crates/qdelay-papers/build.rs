//! Papers and their figures are those of the folders.

fn main() -> std::io::Result<()> {
    qdelay_folder::list("papers")?;
    qdelay_folder::list("figures")
}
