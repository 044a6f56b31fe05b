//! Why real processes do not do what is asked of them.

use scenarios::{fault::Fault, units::Unread};
use servers::NoPostgres;
use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

/// Why a cluster does not start, or a plan is not played to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failed {
    /// Real processes cannot do what a plan or an order says: one sentence.
    #[error("{0}")]
    Unplayable(String),
    /// A service is not installed, or none is started here: one sentence that says what to do.
    #[error("{0}")]
    NoService(String),
    /// What a user has written is no address.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// No cluster runs in that folder.
    #[error("no cluster runs in {folder} ({why}); start one with `cargo real cluster`", folder = .folder.display())]
    NoCluster {
        /// The folder.
        folder: PathBuf,
        /// How that shows.
        why: String,
    },
    /// A cluster will not carry out an order, in its own words.
    #[error("{0}")]
    Refused(String),
    /// The machine does not give what it takes.
    #[error("cannot {what}: {why}")]
    Cannot {
        /// What cannot be done.
        what: String,
        /// What the system, or a server, says.
        why: String,
    },
    /// A process ended that should not have.
    #[error("{name} has ended by itself; see {log}", log = .log.display())]
    Ended {
        /// The process.
        name: String,
        /// What it printed.
        log: PathBuf,
    },
    /// Anything else that is not as it should be: one sentence.
    #[error("{0}")]
    Harness(String),
}

impl Failed {
    /// What somebody says who cannot do `what`.
    pub(crate) fn cannot<E: Display>(what: impl Display) -> impl Fn(E) -> Failed {
        move |why| Failed::Cannot { what: what.to_string(), why: why.to_string() }
    }

    /// That file or folder cannot be written.
    pub(crate) fn unwritten<E: Display>(path: &Path) -> impl Fn(E) -> Failed + use<E> {
        Failed::cannot(format!("write {}", path.display()))
    }

    /// Only the simulation can.
    pub(crate) fn simulated(fault: &Fault, why: &str) -> Failed {
        Failed::Unplayable(format!("`{}` is for the simulation{why}", fault.kind()))
    }
}

impl From<NoPostgres> for Failed {
    fn from(none: NoPostgres) -> Failed {
        match none {
            NoPostgres::NotInstalled => Failed::NoService(none.to_string()),
            NoPostgres::Failed(why) => Failed::Harness(why),
        }
    }
}
