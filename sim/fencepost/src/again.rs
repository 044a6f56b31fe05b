//! How a run is repeated: by the same test, with the plan's file in an environment variable.

use crate::Failure;
use std::{
    env,
    panic::Location,
    path::{Path, PathBuf},
    thread,
};

/// Names the plan that a test runs instead of all others.
const PLAN: &str = "FENCEPOST_PLAN";

/// The test that makes a check.
pub struct Again {
    /// As libtest calls it, and so its thread.
    test: Option<String>,
    place: String,
}

impl Again {
    pub fn new(place: &Location) -> Again {
        let test = thread::current().name().filter(|name| *name != "main").map(str::to_owned);
        Again { test, place: format!("{}-{}", place.file().replace(['/', '\\', '.'], "-"), place.line()) }
    }

    /// The folder for the files of this test's runs.
    pub fn folder(&self) -> PathBuf {
        let name = self.test.as_ref().map_or(self.place.clone(), |test| test.replace("::", "-"));
        target().join("fencepost").join(name)
    }

    /// A shell command that repeats the plan in `file`, from any folder.
    pub fn command(&self, file: &Path) -> String {
        let release = if is_release() { " --release" } else { "" };
        let test = self.test.as_ref().map_or(String::new(), |test| format!(" {test} -- --exact --nocapture"));
        let run = format!("{PLAN}={} cargo test{release}{test}", quoted(&file.display().to_string()));
        match env::var("CARGO_MANIFEST_DIR") {
            Ok(folder) => format!("(cd {} && {run})", quoted(&folder)),
            Err(_) => run,
        }
    }
}

/// The plan's text that the environment asks for, and its file.
pub struct Asked {
    pub file: PathBuf,
    pub text: String,
}

impl Asked {
    pub fn plan() -> Result<Option<Asked>, Failure> {
        let Some(file) = env::var_os(PLAN).map(PathBuf::from) else { return Ok(None) };
        match std::fs::read_to_string(&file) {
            Ok(text) => Ok(Some(Asked { file, text })),
            Err(why) => Err(Failure::wrong(format!("{PLAN} names {}, which cannot be read: {why}", file.display()))),
        }
    }
}

/// Cargo's target folder: tests are in `debug/deps` of it.
fn target() -> PathBuf {
    let exe = env::current_exe().unwrap_or_default();
    let deps = exe.ancestors().find(|folder| folder.ends_with("deps") || folder.ends_with("examples"));
    deps.and_then(|deps| deps.ancestors().nth(2)).map_or_else(|| PathBuf::from("target"), Path::to_path_buf)
}

fn is_release() -> bool {
    let exe = env::current_exe().unwrap_or_default();
    exe.ancestors().any(|folder| folder.ends_with("release"))
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
