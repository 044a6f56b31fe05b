//! Why there is no run, or nothing that could be made of runs.

use crate::interrupt::{GIVEN_UP, UNFINISHED};
use scenarios::{axis::AxisError, plan::Invalid, registry::Missing};
use std::path::{Path, PathBuf};

/// What was to be run was not, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failed {
    /// What is asked for makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It names what there is not.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// What a run leaves cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Code under test or the harness panicked, with these words.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The program was asked to end, and the run did not.
    #[error("{GIVEN_UP}")]
    GivenUp,
    /// The program was asked to end before anything was found.
    #[error("{UNFINISHED}")]
    Unfinished,
    /// A plan's second run differed from its first.
    #[error("the plan did not repeat itself: trace hash {first}, then {then}")]
    NotRepeated {
        /// The hash of the first.
        first: String,
        /// The hash of the second.
        then: String,
    },
    /// The harness failed: the machine did not give it what it takes, or something is wrong with itself.
    #[error("{0}")]
    Harness(String),
    /// One run of many has failed.
    #[error("{which}: {why}")]
    Of {
        /// Which.
        which: String,
        /// Why.
        why: Box<Failed>,
    },
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
