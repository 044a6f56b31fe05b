//! A file of transcripts that are their own expectation: each is played, and what comes out must be what it says.

use std::{fmt::Write, fs, path::Path};

/// What stands before the name of a transcript.
pub const HEAD: &str = "== ";

/// Plays every transcript of `file`, of which there are at least so many: each begins with a line `== NAME`.
/// `FENCEPOST_UPDATE` in the environment writes them anew instead, to be read as a diff.
pub fn check(file: &Path, least: usize, play: impl Fn(&str) -> String) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let transcripts = sections(&text);
    assert!(transcripts.len() >= least, "only {} transcripts in {}", transcripts.len(), file.display());
    let mut now = String::new();
    for (name, expected) in transcripts {
        let actual = play(expected);
        if std::env::var_os("FENCEPOST_UPDATE").is_none() {
            assert_eq!(actual, expected, "{name} in {} differs; FENCEPOST_UPDATE=1 regenerates it", file.display());
        }
        write!(now, "{HEAD}{name}\n{actual}").expect("a string");
    }
    if std::env::var_os("FENCEPOST_UPDATE").is_some() {
        fs::write(file, now).expect("it can be written");
    }
}

/// The transcripts of a file, by name.
pub fn sections(text: &str) -> Vec<(&str, &str)> {
    let text = text.strip_prefix(HEAD).expect("a file begins with the name of its first transcript");
    let mut rest = Some(text);
    let mut sections = Vec::new();
    while let Some(text) = rest {
        let end = text.find("\n== ").map(|end| end + 1);
        let (section, after) = text.split_at(end.unwrap_or(text.len()));
        sections.push(section.split_once('\n').expect("a name is followed by its transcript"));
        rest = after.strip_prefix(HEAD);
    }
    sections
}
