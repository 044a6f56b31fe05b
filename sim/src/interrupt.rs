//! Asking a long command to end: it stops handing out work, finishes what is under way, and says what it has found so far.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks everything in this process that runs long to end. Was it asked to before?
pub fn ask() -> bool {
    ASKED.swap(true, Ordering::SeqCst)
}

/// Was it asked to end?
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
