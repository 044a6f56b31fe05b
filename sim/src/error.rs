//! Why there is no run, or nothing that could be made of runs.

use crate::interrupt::{GIVEN_UP, UNFINISHED};
use scenarios::{axis::AxisError, plan::Invalid, registry::Missing};
use std::path::{Path, PathBuf};

/// What was to be run was not, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failed {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("panicked: {0}")]
    Panicked(String),
    #[error("{GIVEN_UP}")]
    GivenUp,
    #[error("{UNFINISHED}")]
    Unfinished,
    #[error("the plan did not repeat itself: trace hash {first}, then {then}")]
    NotRepeated { first: String, then: String },
    /// The harness failed: the machine did not give it what it takes, or something is wrong with itself.
    #[error("{0}")]
    Harness(String),
    /// One run of many.
    #[error("{which}: {why}")]
    Of { which: String, why: Box<Failed> },
}

/// For what cannot be.
impl From<&'static str> for Failed {
    fn from(what: &'static str) -> Failed {
        Failed::Harness(what.to_owned())
    }
}

impl From<AxisError> for Failed {
    fn from(wrong: AxisError) -> Failed {
        Failed::Invalid(Invalid(wrong.to_string()))
    }
}

/// A file or a folder with which something cannot be done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot {what} {path}: {why}", path = path.display())]
pub struct FileError {
    /// What: `make`, `write` or `remove`.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What its system says.
    pub why: String,
}

impl FileError {
    /// What somebody says who cannot do that with `path`.
    pub(crate) fn of(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FileError {
        move |why| FileError { what, path: path.to_owned(), why: why.to_string() }
    }
}
