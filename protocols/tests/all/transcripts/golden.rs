//! Files that are their own expectation: each is played, and what comes out must be what it says.

use std::{fs, path::Path};

/// Plays every file of `folder`, of which there are at least so many. `FENCEPOST_UPDATE` in the environment writes them anew
/// instead, to be read as a diff.
pub fn check(folder: &Path, least: usize, play: impl Fn(&str) -> String) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() >= least, "only {} files in {}", files.len(), folder.display());
    for file in files {
        let expected = fs::read_to_string(&file).expect("it is text");
        let actual = play(&expected);
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&file, actual).expect("it can be written");
        } else {
            assert_eq!(actual, expected, "{} differs; FENCEPOST_UPDATE=1 regenerates it", file.display());
        }
    }
}
