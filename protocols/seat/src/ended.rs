use std::fmt;

/// Why a leadership ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The work was done, or was asked to finish. The lease was released, or runs out if the service did not answer.
    Resigned,
    /// The lease could not be renewed in time.
    Expired,
    /// The service has another leader, or none.
    Lost,
    /// The resource refused the token: a newer leader has written.
    Refused,
    /// Work did not stop in time, or something that was spawned has panicked, so the lease was not released and runs
    /// out by itself. Whatever did not stop may still be running: a process should end then.
    UncleanStop,
}

impl Ended {
    pub(crate) const ALL: [Ended; 5] =
        [Ended::Resigned, Ended::Expired, Ended::Lost, Ended::Refused, Ended::UncleanStop];

    /// For metrics.
    #[cfg(feature = "metrics")]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Ended::Resigned => "resigned",
            Ended::Expired => "expired",
            Ended::Lost => "lost",
            Ended::Refused => "refused",
            Ended::UncleanStop => "unclean_stop",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Ended::Resigned => "resigned",
            Ended::Expired => "the lease could not be renewed in time",
            Ended::Lost => "another process leads, or none",
            Ended::Refused => "the resource refused the token",
            Ended::UncleanStop => "the work did not stop cleanly",
        })
    }
}

impl std::error::Error for Ended {}
