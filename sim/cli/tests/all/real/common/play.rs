//! The simulation's plans on real processes: played, judged, and repeated if the machine stalled.

use super::{Folder, program, say, text};
use scenarios::plan::Plan;
use serde_json::Value;
use std::process::Command;

/// How many times a run is repeated if the machine stalled by the run's own measure. Any other failure counts.
const STALLS_MAX: u32 = 5;

/// Plays a scenario, or a plan in a file; returns the exit code and the report.
pub fn play(what: &str, options: &[&str]) -> (Option<i32>, Value) {
    play_until(what, options, |report| report["machine"]["inconclusive"].is_null())
}

/// Plays it until its report is `fit`, a few times at most.
pub fn play_until(what: &str, options: &[&str], fit: impl Fn(&Value) -> bool) -> (Option<i32>, Value) {
    let mut played = play_once(what, options);
    for _ in 0..STALLS_MAX {
        if fit(&played.1) {
            break;
        }
        say(&format!("{what} is played again: {}", played.1["machine"]["unwell"]));
        played = play_once(what, options);
    }
    played
}

fn play_once(what: &str, options: &[&str]) -> (Option<i32>, Value) {
    let folder = Folder::new();
    let mut command: Command = program();
    command.args(["chaos", "run", what, "--json", "--dir", &folder.file("run")]).args(options);
    let output = command.output().expect("the program runs");
    let report = serde_json::from_slice(&output.stdout);
    let report: Value = report.unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
    say(&format!(
        "{what} {}: {}, acting {}, fenced {}, failover {}",
        options.join(" "),
        report["verdict"],
        report["metrics"]["leaders_acting_by_effect_max"],
        report["metrics"]["writes_fenced"],
        report["metrics"]["failover_ms"]
    ));
    (output.status.code(), report)
}

/// Like [`play`], for a plan.
pub fn play_plan(plan: &Plan) -> (Option<i32>, Value) {
    let folder = Folder::new();
    play(&folder.write("plan.json", plan.to_json_pretty()), &[])
}
