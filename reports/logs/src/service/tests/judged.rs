//! Judges logs of a service.

use super::super::super::{Judged, LogError, Options, Verdict};
use std::{fs, path::PathBuf};

/// Judges files of a folder of the test's own.
pub fn judged(files: &[(&str, &str)], options: &Options) -> Result<Judged, LogError> {
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let folder = std::env::temp_dir().join(format!("fencepost-service-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).expect("a file"));
    let judged = options.judge(&paths);
    fs::remove_dir_all(&folder).expect("the folder is ours");
    judged
}

pub fn verdict(text: &str) -> Verdict {
    judged(&[("log", text)], &Options::default()).unwrap_or_else(|why| panic!("{why}:\n{text}")).judgement.verdict
}

pub fn why(text: &str) -> String {
    let why = judged(&[("log", text)], &Options::default()).err().unwrap_or_else(|| panic!("it is judged:\n{text}"));
    assert!(!why.what.contains('\n'), "{why}");
    why.to_string()
}
