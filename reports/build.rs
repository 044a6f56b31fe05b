//! Generates the list of known histories from the sections of `testdata/known/*.txt`, so that a new one only needs a
//! new section.

use std::{env, error::Error, fmt::Write, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    // The package of the tests, in a folder below, is built with this, too.
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let folder = here.ancestors().map(|folder| folder.join("testdata/known")).find(|folder| folder.is_dir());
    let folder = folder.ok_or("there is no testdata/known")?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut all = Vec::new();
    for file in fs::read_dir(&folder)? {
        let text = fs::read_to_string(file?.path())?;
        let text = text.strip_prefix("== ").ok_or("a file begins with the name of its first history")?;
        for section in text.split("\n== ") {
            let (name, history) = section.split_once('\n').ok_or("a name is followed by its history")?;
            all.push((name.to_owned(), format!("{}\n", history.strip_suffix('\n').unwrap_or(history))));
        }
    }
    all.sort();
    let mut list = String::new();
    for (name, text) in all {
        writeln!(list, "Known {{ name: {name:?}, text: {text:?} }},")?;
    }
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("known.rs"), format!("[\n{list}]"))?;
    Ok(())
}
