//! Why a log cannot be judged.

use scenarios::units::Unread;
use std::fmt;

/// Why a log cannot be read or understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogError {
    /// The file, if the error concerns one.
    pub file: Option<String>,
    /// The line in it, from 1, if the error concerns one.
    pub line: Option<u64>,
    /// What is wrong, in one sentence.
    pub what: String,
}

impl LogError {
    pub(crate) fn at(file: &str, line: u64, what: String) -> LogError {
        LogError { file: Some(file.to_owned()), line: Some(line), what }
    }

    /// The same where messages of a program's are known that may be all that is wanted.
    pub(crate) fn or_preset(mut self, name: &str) -> LogError {
        self.what = format!(
            "has messages of {name}: pass --preset {name} to judge who leads by them alone, and no writes; otherwise: {}",
            self.what
        );
        self
    }

    pub(crate) fn of(file: &str, what: String) -> LogError {
        LogError { file: Some(file.to_owned()), line: None, what }
    }
}

impl From<Unread> for LogError {
    fn from(wrong: Unread) -> LogError {
        wrong.to_string().into()
    }
}

impl From<String> for LogError {
    fn from(what: String) -> LogError {
        LogError { file: None, line: None, what }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for LogError {}
