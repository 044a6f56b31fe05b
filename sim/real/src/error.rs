//! Why real processes do not do what is asked of them.

use scenarios::{fault::Fault, units::Unread};
use servers::PostgresError;
use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

/// Why a cluster does not start, or a plan is not played to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failed {
    /// Real processes cannot do what a plan or an order says.
    #[error("{0}")]
    Unplayable(String),
    /// A service is not installed, or none is started here.
    #[error("{0}")]
    NoService(String),
    #[error(transparent)]
    Unread(#[from] Unread),
    #[error("no cluster runs in {folder} ({why}); start one with `cargo real cluster`", folder = .folder.display())]
    NoCluster { folder: PathBuf, why: String },
    /// A cluster will not carry out an order.
    #[error("{0}")]
    Refused(String),
    #[error("cannot {what}: {why}")]
    Cannot { what: String, why: String },
    #[error("{name} has ended by itself; see {log}", log = .log.display())]
    Ended { name: String, log: PathBuf },
    /// Anything else is not as it should be.
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

impl From<PostgresError> for Failed {
    fn from(none: PostgresError) -> Failed {
        match none {
            PostgresError::NotInstalled => Failed::NoService(none.to_string()),
            PostgresError::Failed(why) => Failed::Harness(why),
        }
    }
}
