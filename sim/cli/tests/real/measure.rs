//! Measurements on real processes, beside the simulation.

use super::{
    cli::{all_refused, folder},
    common::{Folder, program, say, skip, text},
};
use serde_json::Value;

/// How many times a run is repeated if the machine stalled.
const STALLS_MAX: u32 = 3;

#[test]
fn a_measurement_says_what_is_wrong_with_its_arguments() {
    let folder = folder();
    let cases = [
        ("--simulator %nowhere", 64, "there is no file"),
        ("--simulator %garbage --duration 5s", 64, "--duration means nothing here"),
        ("--simulator %garbage --set consul-session.lock-delay=1s", 64, "has no lock delay"),
        ("--simulator %garbage --limit 2", 64, "above 0, at most 1"),
        ("--simulator %garbage --runs 0", 64, "`0` is not a number from 1 to 1000"),
        ("--simulator %garbage --runs 1", 70, "cannot be run"),
    ];
    all_refused(&folder, "measure failover --backend redis", &cases);
}

#[test]
fn measured_experiments_say_what_is_wrong_with_their_arguments() {
    let folder = folder();
    let cases = [
        ("--simulator %nowhere", 64, "there is no file"),
        ("--simulator %garbage --backend raft,nonsense", 64, "nonsense"),
        ("--simulator %garbage --only 8", 64, "`8` is not a number from 1 to 7"),
        ("--simulator %garbage --only 2", 64, "only 1, 3, 4, 5 and 7"),
        ("--simulator %garbage --backend bully", 64, "runs only in the simulation"),
        ("--simulator %garbage --backend raft --runs 1", 70, "cannot be run"),
    ];
    all_refused(&folder, "measure experiments --quiet", &cases);
}

/// The sleeper's write is refused on real processes as in the simulation, and takes effect on both without fencing.
#[test]
fn experiments_come_to_the_same_on_real_processes() {
    let folder = Folder::new();
    let measure = || {
        let options = "--backend raft --only 4,5 --runs 1 --simulated 1 --json --quiet --dir";
        let mut measure = program();
        measure.args(["measure", "experiments"]).args(options.split(' ')).arg(folder.file("runs"));
        measure.output().expect("the program runs")
    };
    let stood_still = |told: &[u8]| text(told).contains("\"machine_unwell\": 1");
    let mut output = measure();
    // Runs that a stalled machine has spoilt are repeated; any other failure counts.
    for _ in 0..STALLS_MAX {
        if output.status.success() || !stood_still(&output.stdout) {
            break;
        }
        say("the experiments are played again: the machine stood still");
        output = measure();
    }
    let errors = text(&output.stderr);
    if errors.contains("there is no simulation to compare with") {
        return skip("experiments on real processes", "there is no simulation to compare with: `cargo build` makes it");
    }
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let experiments = told["experiments"].as_array().expect("experiments");
    let of =
        |title: &str| experiments.iter().find(|e| e["title"] == title).unwrap_or_else(|| panic!("no {title}: {told}"));
    let fenced = of("A pause beyond the lease");
    let unfenced = of("The pause without fencing");
    for place in 0..2 {
        let (fenced, unfenced) = (&fenced["rows"][place], &unfenced["rows"][place]);
        assert_eq!([&fenced["real"], &unfenced["real"]], [&Value::from(place == 1); 2], "{told:#}");
        assert_eq!([&fenced["violated_safety"], &unfenced["violated_safety"]], [0, 1], "{told:#}");
        assert_eq!(fenced["leaders_acting_by_effect_max"], serde_json::json!([1]), "{told:#}");
        assert!(fenced["writes_fenced"][0].as_u64() >= Some(1), "{told:#}");
        assert_eq!(unfenced["leaders_acting_by_effect_max"], serde_json::json!([2]), "{told:#}");
    }
    assert_eq!(fenced["refusals"][0]["event"]["verdict"], "fenced", "{told:#}");
}
