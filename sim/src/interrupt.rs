//! Ctrl-C, and whatever else asks a long command to end: it stops handing out work, finishes what is under way, and says
//! what it has found so far. Whoever asks a second time gets the end at once.

use std::{
    process,
    sync::atomic::{AtomicBool, Ordering},
};

/// How a command ends that was interrupted: 128 and SIGINT's number, as shells have it.
pub const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens for SIGINT, SIGTERM and SIGHUP from now on.
///
/// # Errors
/// The system does not let it.
pub fn listen() -> Result<(), String> {
    let asked = || {
        if ASKED.swap(true, Ordering::SeqCst) {
            process::exit(INTERRUPTED.into());
        }
    };
    match ctrlc::set_handler(asked) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(format!("cannot listen for Ctrl-C: {error}")),
    }
}

/// Was the command asked to end?
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
