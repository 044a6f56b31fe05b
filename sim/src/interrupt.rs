//! Interrupts a long command: it stops handing out work, finishes current runs, and reports the results so far. Runs
//! that do not end within [`PATIENCE`] are abandoned.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

static ASKED: AtomicBool = AtomicBool::new(false);
static SINCE: OnceLock<Instant> = OnceLock::new();

/// How long current runs may continue after the program was asked to end.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// The message for an abandoned run.
pub const GIVEN_UP: &str = "given up: it had not ended 3 s after the program was asked to end";

/// The message for a search that ended with the program.
pub const UNFINISHED: &str = "interrupted before anything was found";

/// Asks all long work in this process to end. Returns whether it had been asked before.
pub fn ask() -> bool {
    SINCE.get_or_init(Instant::now);
    ASKED.swap(true, Ordering::SeqCst)
}

/// Whether the program was asked to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Whether the program was asked to end long enough ago that current runs are abandoned.
pub fn is_overdue() -> bool {
    asked() && SINCE.get().is_some_and(|since| since.elapsed() > PATIENCE)
}
