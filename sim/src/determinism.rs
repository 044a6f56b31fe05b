//! Checks that a plan always gives the same bytes: runs it on two threads at the same time and once in a fresh process.
//! If the traces differ, shows where.

use crate::{
    error::Failed,
    registry::Registry,
    run::{self, Options, Run},
};
use scenarios::plan::Plan;
use std::{
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

pub enum Check {
    Same {
        trace_hash: String,
    },
    Differs {
        /// The runs that differ, with their hashes.
        what: String,
        /// The first different event in both traces, with three lines around it.
        where_: String,
    },
}

/// Checks one plan; `program` is this executable, for the fresh process.
///
/// # Errors
/// A run failed, or the fresh process could not be started.
pub fn check(plan: &Plan, registry: &Registry, program: &Path) -> Result<Check, Failed> {
    let options = || Options { registry: registry.clone(), ..Options::default() };
    let runs: Vec<Result<Run, Failed>> = thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| run::run(plan, options()))).collect();
        both.into_iter().map(|run| run.join().unwrap_or_else(|_| Err("panicked".into()))).collect()
    });
    let mut hashes = Vec::new();
    for run in runs {
        hashes.push(run?.trace_hash().to_owned());
    }
    hashes.push(in_fresh_process(plan, program)?);
    if hashes.iter().all(|h| *h == hashes[0]) {
        return Ok(Check::Same { trace_hash: hashes.swap_remove(0) });
    }
    let what = format!("two threads gave {} and {}, a fresh process {}", hashes[0], hashes[1], hashes[2]);
    Ok(Check::Differs { what, where_: first_difference(&trace(plan, options())?, &trace(plan, options())?) })
}

/// The plan's hash in a fresh process.
fn in_fresh_process(plan: &Plan, program: &Path) -> Result<String, Failed> {
    let mut command = Command::new(program);
    command.args(["replay", "--json", "--no-artifacts", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Failed::Harness(format!("cannot start a fresh process: {e}")))?;
    if let Some(mut input) = child.stdin.take() {
        input
            .write_all(plan.to_json_pretty().as_bytes())
            .map_err(|e| Failed::Harness(format!("cannot hand over the plan: {e}")))?;
    }
    let output =
        child.wait_with_output().map_err(|e| Failed::Harness(format!("cannot wait for the fresh process: {e}")))?;
    let report: Option<serde_json::Value> = serde_json::from_slice(&output.stdout).ok();
    let hash = report.as_ref().and_then(|r| r["trace_hash"].as_str());
    hash.map(str::to_owned).ok_or_else(|| {
        Failed::Harness(format!("the fresh process failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
    })
}

/// A buffer that outlives the run that writes to it.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn trace(plan: &Plan, options: Options) -> Result<String, Failed> {
    let text = Shared::default();
    run::run(plan, Options { trace: Some(Box::new(text.clone())), ..options })?;
    Ok(text.text())
}

/// The first difference of two traces, with three lines around it.
pub fn first_difference(one: &str, other: &str) -> String {
    let (one, other): (Vec<_>, Vec<_>) = (one.lines().collect(), other.lines().collect());
    let common = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    if common == one.len() && common == other.len() {
        return "two more recorded runs did not differ: it does not happen every time".to_owned();
    }
    let around = |lines: &[&str]| -> String {
        let (from, to) = (common.saturating_sub(3), (common + 4).min(lines.len()));
        let mark = |index: usize| if index == common { '>' } else { ' ' };
        (from..to).map(|index| format!("  {} {:>8} {}\n", mark(index), index + 1, lines[index])).collect()
    };
    format!("first difference in event {}:\n{}  against\n{}", common + 1, around(&one), around(&other))
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn a_difference_is_shown_with_three_lines_around_it() {
        let one = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        let other = one.replace('e', "x");
        let shown = first_difference(one, &other);
        assert!(shown.contains("event 5"), "{shown}");
        assert!(shown.contains(">        5 e") && shown.contains(">        5 x"), "{shown}");
        assert!(shown.contains("2 b") && shown.contains("8 h") && !shown.contains("9 i"), "{shown}");
    }

    #[test]
    fn a_trace_that_stops_early_differs_where_it_stops() {
        assert!(first_difference("a\nb", "a\nb\nc").contains("event 3"));
    }
}
