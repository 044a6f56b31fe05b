//! How a sweep ends, as one exit code.
//!
//! A sweep ends with the worst that it saw: the harness failed (70), parameters made no sense (64), safety broken (1),
//! liveness (3), a figure far outside its baseline (6), a cell of which more than a fifth of the runs were inconclusive (2),
//! all kept (0). An inconclusive run says nothing for or against the protocol, so whatever was found elsewhere outranks it;
//! a few of them come by chance where the network loses packets.

use super::{
    exit::{HARNESS, MOVED, USAGE},
    interrupt::INTERRUPTED,
};
use sim::{
    outcome::Ended,
    sweep::{Cell, Outcome},
};

/// How a sweep ends; see the head of this file. One that was interrupted says so and nothing else.
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

#[cfg(test)]
mod tests {
    use super::*;
    use sim::outcome::Failure;

    /// A run that was judged like this.
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
        // One run of nine may lack its situation by chance.
        assert_eq!([ends(&[], 1), ends(&[], 2), ends(&["liveness"], 2)], [0, 2, 3]);
        assert_eq!([ends(&["liveness", "safety"], 0), ends(&["pass"], 0)], [1, 1]);
        assert_eq!(ends(&["safety", "harness"], 1), 70);
        assert_eq!(exit_code(&Outcome { interrupted: true, ..Outcome::default() }), 130);
    }
}
