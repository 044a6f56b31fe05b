//! A cluster of `cargo real cluster`, as an operator has it; and the simulation's plans on real processes.

use super::{Folder, Process, SOON, eventually, fencepost, http, program, say, text};
use scenarios::plan::Plan;
use serde_json::Value;
use sim_real::control::{self, Card};
use std::{net::SocketAddr, process::Command};

/// A running cluster on Raft, which needs nothing installed.
pub struct Running {
    pub process: Process,
    /// Its addresses.
    pub card: Card,
    /// The folder of all files.
    folder: Folder,
}

impl Running {
    /// Starts a cluster, and waits until a leader acts.
    pub fn start(options: &[&str]) -> Running {
        Running::start_in(&[], options)
    }

    /// The same with these variables in the environment of all of its processes.
    pub fn start_in(environment: &[(&str, &str)], options: &[&str]) -> Running {
        let folder = Folder::new();
        let files = folder.file("cluster");
        let mut command = program();
        command.envs(environment.iter().copied());
        command.args(["cluster", "--backend", "raft", "--lease-ttl", "400ms", "--dir", &files]).args(options);
        let process = Process::start(command, &folder.path().join("cluster.log"));
        let card = eventually("the cluster says where it is", SOON, || control::card(files.as_ref()).ok());
        let running = Running { process, card, folder };
        // Also over TLS, if the nodes use it.
        let acts = || fencepost(["watch", "--once", "--dir", &running.dir()]).status.success().then_some(());
        eventually("somebody acts", SOON, acts);
        running
    }

    pub fn dir(&self) -> String {
        self.folder.file("cluster")
    }

    /// The acting leader and its address; waits until there is one. For nodes that serve plain HTTP.
    pub fn leader(&self) -> (String, SocketAddr) {
        let leads = || self.card.nodes.iter().find(|(_, address)| http::leads(*address)).cloned();
        eventually("somebody acts", SOON, leads)
    }

    /// Strikes the cluster with a fault.
    pub fn chaos(&self, arguments: &[&str]) {
        let done = fencepost([&["chaos"], arguments, &["--dir", &self.dir()]].concat());
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    }
}

// The simulation's plans on real processes: played, judged, and repeated if the machine stalled.

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
