//! Why work with real processes failed.

use scenarios::{fault::Fault, units::Unread};
use servers::PostgresError;
use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

/// Why a cluster did not start, or a plan was not played to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failed {
    /// A plan or an order asks for something that real processes cannot do.
    #[error("{0}")]
    Unplayable(String),
    /// A service is not installed, or the harness does not start it.
    #[error("{0}")]
    NoService(String),
    #[error(transparent)]
    Unread(#[from] Unread),
    #[error("no cluster runs in {folder} ({why}); start one with `cargo real cluster`", folder = .folder.display())]
    NoCluster { folder: PathBuf, why: String },
    /// The cluster refused an order.
    #[error("{0}")]
    Refused(String),
    #[error("cannot {what}: {why}")]
    Cannot { what: String, why: String },
    #[error("{name} has ended by itself; see {log}", log = .log.display())]
    Ended { name: String, log: PathBuf },
    /// Any other failure.
    #[error("{0}")]
    Harness(String),
}

impl Failed {
    /// For `map_err`: `what` could not be done.
    pub(crate) fn cannot<E: Display>(what: impl Display) -> impl Fn(E) -> Failed {
        move |why| Failed::Cannot { what: what.to_string(), why: why.to_string() }
    }

    /// For `map_err`: `path` could not be written.
    pub(crate) fn unwritten<E: Display>(path: &Path) -> impl Fn(E) -> Failed + use<E> {
        Failed::cannot(format!("write {}", path.display()))
    }

    /// A fault that only the simulation can cause.
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
