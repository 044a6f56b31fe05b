//! Ctrl-C and other signals that ask a long command to end. A second one ends it at once.

use super::exit::Stop;
use sim::{error::Failed, interrupt};
use std::process;

/// Exit code of an interrupted command: 128 plus SIGINT's number, as in shells.
pub const INTERRUPTED: u8 = 130;

/// Listens for SIGINT, SIGTERM and SIGHUP from now on.
///
/// # Errors
/// The system refuses.
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

/// The error of a failed search: it was interrupted, or the harness failed.
pub fn ended(why: Failed) -> Stop {
    match interrupt::asked() {
        true => Stop { code: INTERRUPTED, why: interrupt::UNFINISHED.to_owned() },
        false => why.into(),
    }
}
