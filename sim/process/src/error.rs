//! What may fail outside of a process.

use crate::wire::Garbled;
use std::{fmt, io, time::Duration};

/// A simulated process cannot be started, or is of no use any more.
#[derive(Debug)]
pub enum Error {
    /// No zygote could be started.
    Zygote {
        why: io::Error,
    },
    /// Simulated processes are for Linux with glibc.
    Elsewhere,
    /// The program does not answer as a zygote does.
    NotLinked,
    /// The zygote is gone, or refused.
    Fork {
        process: String,
        why: io::Error,
    },
    /// The connection with the process failed.
    Link {
        process: String,
        why: io::Error,
    },
    Garbled {
        process: String,
        why: Garbled,
    },
    /// The process has not come back within this real time.
    Stuck {
        process: String,
        patience: Duration,
        doing: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Zygote { why } => {
                write!(f, "cannot execute this program once more for its simulated processes: {why}")
            }
            Error::Elsewhere => {
                write!(f, "simulated processes are for Linux with glibc, on x86-64 or ARM64; this is another system")
            }
            Error::NotLinked => {
                write!(f, "this program does not link fencepost-libc, so it cannot be a simulated process")
            }
            Error::Fork { process, why } => write!(f, "cannot start {process}: {why}"),
            Error::Link { process, why } => write!(f, "the connection with {process} failed: {why}"),
            Error::Garbled { process, why } => write!(f, "{process} sent what is no message: {why}"),
            Error::Stuck { process, patience, doing } => {
                let seconds = patience.as_secs_f64();
                write!(f, "{process} has not come back for {seconds} s of real time: {doing}")
            }
        }
    }
}

impl std::error::Error for Error {}
