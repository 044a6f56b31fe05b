//! Why a run, or work on the results of runs, failed.

use crate::interrupt::{GIVEN_UP, UNFINISHED};
use scenarios::{axis::AxisError, plan::Invalid, registry::Missing};
use std::{
    any::Any,
    path::{Path, PathBuf},
};

/// Why something could not be run, or not to its end.
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
    /// The harness failed: the machine lacks a resource, or the harness has a bug.
    #[error("{0}")]
    Harness(String),
    /// One of many runs failed.
    #[error("{which}: {why}")]
    Of { which: String, why: Box<Failed> },
}

impl Failed {
    /// Code under test or the harness panicked; `payload` is what [`std::thread::JoinHandle::join`] returned.
    pub(crate) fn of_panic(payload: Box<dyn Any + Send>) -> Failed {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Failed::Panicked(text.unwrap_or("no message").to_owned())
    }
}

/// For failures that only a bug in the harness can cause.
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

/// A failed operation on a file or a folder.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot {what} {path}: {why}", path = path.display())]
pub struct FileError {
    /// `make`, `write` or `remove`.
    pub what: &'static str,
    pub path: PathBuf,
    /// The operating system's error.
    pub why: String,
}

impl FileError {
    /// For `map_err` after an operation on `path`.
    pub fn of(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FileError {
        move |why| FileError { what, path: path.to_owned(), why: why.to_string() }
    }
}
