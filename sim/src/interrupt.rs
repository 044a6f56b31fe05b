//! Asking a long command to end: it stops handing out work, finishes what is under way, and says what it has found so far.
//! A run that does not end within [`PATIENCE`] is given up.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

static ASKED: AtomicBool = AtomicBool::new(false);
static SINCE: OnceLock<Instant> = OnceLock::new();

/// For how long runs that are under way may go on after the program was asked to end.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// What is said of a run that was given up.
pub const GIVEN_UP: &str = "given up: it had not ended 3 s after the program was asked to end";

/// What is said of a search that ended with the program.
pub const UNFINISHED: &str = "interrupted before anything was found";

/// Asks everything in this process that runs long to end. Was it asked to before?
pub fn ask() -> bool {
    SINCE.get_or_init(Instant::now);
    ASKED.swap(true, Ordering::SeqCst)
}

/// Was it asked to end?
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Was it asked to end so long ago that runs under way are given up?
pub fn is_overdue() -> bool {
    asked() && SINCE.get().is_some_and(|since| since.elapsed() > PATIENCE)
}
