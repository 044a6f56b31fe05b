//! Ctrl-C, and whatever else asks a long command to end. Whoever asks a second time gets the end at once.

use super::exit::Stop;
use sim::{error::Failed, interrupt};
use std::process;

/// How a command ends that was interrupted: 128 and SIGINT's number, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Listens for SIGINT, SIGTERM and SIGHUP from now on.
///
/// # Errors
/// The system does not let it.
pub fn listen() -> Result<(), Stop> {
    let asked = || {
        if interrupt::ask() {
            process::exit(INTERRUPTED.into());
        }
    };
    match ctrlc::set_handler(asked) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(Stop::harness(format!("cannot listen for Ctrl-C: {error}"))),
    }
}

/// Why a search has failed: it was interrupted, or the harness is at fault.
pub fn ended(why: Failed) -> Stop {
    match interrupt::asked() {
        true => Stop { code: INTERRUPTED, why: interrupt::UNFINISHED.to_owned() },
        false => why.into(),
    }
}
