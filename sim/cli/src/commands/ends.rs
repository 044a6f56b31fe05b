//! How commands end: with which exit code if their runs failed, or their results could not be read or written; a sweep; and
//! at Ctrl-C.

use super::exit::{HARNESS, MOVED, USAGE};
use crate::terminal::exit::{Stop, ends_with};
use reports::{
    experiments::findings::Unfilled,
    plot::{DrawError, Undrawable},
};
use sim::{
    baseline::Unreadable,
    error::{Failed, FileError},
    interrupt,
    merge::MergeError,
    outcome::Ended,
    sweep::{Cell, Outcome},
};
use std::process;

ends_with! {
    FileError: usage,
    MergeError: usage,
    Unfilled: usage,
    Undrawable: usage,
    DrawError: harness,
    Unreadable: harness,
    serde_json::Error: harness,
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Stop {
        let why = failed.to_string();
        let mut of = &failed;
        while let Failed::Of { why, .. } = of {
            of = why;
        }
        match of {
            Failed::Invalid(_) | Failed::Missing(_) | Failed::File(_) => Stop::usage(why),
            _ => Stop::harness(why),
        }
    }
}

// The exit code of a sweep.
//
// A sweep ends with the worst outcome: the harness failed (70), invalid parameters (64), safety broken (1), liveness
// broken (3), a figure far outside its baseline (6), a cell with more than a fifth of its runs inconclusive (2), all
// kept (0). An inconclusive run says nothing for or against the protocol, so any other finding outranks it; on a lossy
// network a few come by chance.

/// The exit code; see the module's documentation. An interrupted sweep only reports the interrupt.
pub fn exit_code(outcome: &Outcome) -> u8 {
    let broken = |verdict: &str| outcome.failures.iter().any(|f| f.outcome == Ended::Broken && f.verdict == verdict);
    match () {
        () if outcome.interrupted => INTERRUPTED,
        () if broken("harness") => HARNESS,
        () if outcome.failures.iter().any(|f| f.outcome == Ended::Invalid) => USAGE,
        () if outcome.failures.iter().any(|f| f.verdict != "liveness") => 1,
        () if !outcome.failures.is_empty() => 3,
        () if !outcome.moved.is_empty() => MOVED,
        () if outcome.cells.iter().any(Cell::is_inconclusive) => 2,
        () => 0,
    }
}

// Ctrl-C and other signals that ask a long command to end. A second one ends it at once.

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

#[cfg(test)]
mod tests {
    use super::*;
    use sim::outcome::Failure;

    /// A failure with this verdict.
    fn failure(verdict: &str) -> Failure {
        Failure {
            scenario: "gc-pause".into(),
            protocol: "a".into(),
            nodes: 3,
            seed: 1,
            fencing: true.into(),
            outcome: Ended::Broken,
            verdict: verdict.into(),
            violated: Vec::new(),
            why: String::new(),
            trace_hash: String::new(),
            repro: String::new(),
            artifacts: None,
            cause: None,
            plan: None,
        }
    }

    #[test]
    fn the_worst_decides_how_a_sweep_ends() {
        let ends = |broken: &[&str], inconclusive: u64| {
            let failures = broken.iter().map(|verdict| failure(verdict)).collect();
            let cells = vec![Cell { runs: 9, inconclusive, ..Cell::default() }];
            exit_code(&Outcome { failures, cells, ..Outcome::default() })
        };
        // One run of nine may miss its situation by chance.
        assert_eq!([ends(&[], 1), ends(&[], 2), ends(&["liveness"], 2)], [0, 2, 3]);
        assert_eq!([ends(&["liveness", "safety"], 0), ends(&["pass"], 0)], [1, 1]);
        assert_eq!(ends(&["safety", "harness"], 1), 70);
        assert_eq!(exit_code(&Outcome { interrupted: true, ..Outcome::default() }), 130);
    }
}
