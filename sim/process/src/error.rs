//! What may fail outside of a process, and what a process that does not come back is doing.

use crate::wire::Garbled;
use std::{fmt, fs, io, os::unix::fs::FileExt, time::Duration};

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

// What a process that does not come back is doing, as far as `/proc` tells.

/// System calls in which threads wait for good, by their numbers.
#[cfg(target_arch = "x86_64")]
const CALLS: [(i64, &str); 23] = [
    (0, "read"),
    (1, "write"),
    (7, "poll"),
    (20, "writev"),
    (23, "select"),
    (34, "pause"),
    (35, "nanosleep"),
    (42, "connect"),
    (43, "accept"),
    (45, "recvfrom"),
    (47, "recvmsg"),
    (61, "wait4"),
    (72, "fcntl"),
    (73, "flock"),
    (202, "futex"),
    (230, "clock_nanosleep"),
    (232, "epoll_wait"),
    (247, "waitid"),
    (270, "pselect6"),
    (271, "ppoll"),
    (257, "openat"),
    (281, "epoll_pwait"),
    (426, "io_uring_enter"),
];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: [(i64, &str); 19] = [
    (25, "fcntl"),
    (32, "flock"),
    (63, "read"),
    (64, "write"),
    (66, "writev"),
    (72, "pselect6"),
    (73, "ppoll"),
    (22, "epoll_pwait"),
    (95, "waitid"),
    (56, "openat"),
    (98, "futex"),
    (101, "nanosleep"),
    (115, "clock_nanosleep"),
    (202, "accept"),
    (203, "connect"),
    (207, "recvfrom"),
    (212, "recvmsg"),
    (260, "wait4"),
    (426, "io_uring_enter"),
];

/// One clause: which thread, and what it does.
pub fn doing(pid: u32, running_at: u64) -> String {
    let folder = format!("/proc/{pid}/task");
    let word = |file: &str| fs::read_to_string(format!("{folder}/{file}")).unwrap_or_default().trim_end().to_owned();
    let Ok(thread) = running(pid, running_at) else { return "what it does cannot be seen here".to_owned() };
    let name = word(&format!("{thread}/comm"));
    let call = word(&format!("{thread}/syscall"));
    let what = match call.split(' ').next().unwrap_or_default() {
        "" => "is gone, or cannot be looked at".to_owned(),
        "running" => "computes without a system call".to_owned(),
        number => match CALLS.iter().find(|(n, _)| number.parse() == Ok(*n)) {
            Some((_, name)) => format!("waits in {name}(2), outside of the world"),
            None => format!("is in the system call {number}, outside of the world"),
        },
    };
    format!("its thread \"{name}\" {what}")
}

/// The thread that runs: the others wait for their turn.
fn running(pid: u32, at: u64) -> io::Result<u32> {
    let mut bytes = [0; 4];
    fs::File::open(format!("/proc/{pid}/mem"))?.read_exact_at(&mut bytes, at)?;
    Ok(u32::from_le_bytes(bytes))
}
