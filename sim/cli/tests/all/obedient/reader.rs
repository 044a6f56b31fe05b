//! A user who does what `check` says, to the letter.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub fn file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("obedient-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, text).expect("a file");
    file
}

pub fn check(files: &[PathBuf], options: &[String]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("check").args(files).args(options).env("NO_COLOR", "1");
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().expect("an exit code"), text)
}

/// Splits a command line into words, with quotes as in a shell.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The options that an answer suggests.
fn suggested(answer: &str) -> Vec<String> {
    let Some((_, advice)) = answer.split_once("if this guess is right, add ") else { return Vec::new() };
    let advice = advice.split("; and only you can say").next().unwrap_or_default();
    let advice = advice.split("; if a field says something else").next().unwrap_or_default();
    words(advice.trim_end())
}

/// The exit code in the end, or `None` if only a question is left.
pub fn obeyed(name: &str, files: &[PathBuf]) -> Option<i32> {
    with_options(name, files).0
}

/// The same, with the number of options that it took.
pub fn with_options(name: &str, files: &[PathBuf]) -> (Option<i32>, usize) {
    let mut options: Vec<String> = Vec::new();
    for _ in 0..6 {
        let (code, answer) = check(files, &options);
        let taken = options.iter().filter(|word| word.starts_with("--")).count();
        if code != 64 {
            return (Some(code), taken);
        }
        let more = suggested(&answer);
        if more.is_empty() {
            let reason = answer.contains("only you can say") || answer.contains("write ") || answer.contains("run `");
            assert!(reason, "{name}: a dead end: {answer}");
            return (None, taken);
        }
        let again = more.chunks(2).all(|pair| options.windows(2).any(|known| known == pair));
        assert!(!again, "{name}: the same suggestion again: {answer}");
        options.extend(more);
    }
    panic!("{name}: no end of suggestions: {options:?}");
}
