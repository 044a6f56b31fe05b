//! Lists the known histories: every `testdata/*.jsonl`, so that a new one is a new file and nothing else.

use std::{env, error::Error, ffi::OsStr, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("testdata");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = fs::read_dir(&folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort_by_key(|file| file.file_stem().map(OsStr::to_owned));
    let known = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default();
        format!("Known {{ name: {:?}, text: include_str!({:?}) }},\n", name, file)
    };
    let list: String = files.iter().map(known).collect();
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("known.rs"), format!("[\n{list}]"))?;
    Ok(())
}
