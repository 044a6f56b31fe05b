//! Ctrl-C: the command reports its results so far, and the exit code is 130. Each is interrupted once it has reported
//! progress.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

/// The output of a command that is interrupted as soon as a line of its standard error contains these words.
fn interrupted(words: &str, once: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(words.split_whitespace()).env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS");
    let mut child = command
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines().map_while(Result::ok);
    let said = lines.find(|line| line.contains(once));
    assert!(said.is_some(), "{words} ended before it said {once}");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    // The process must not block on a full pipe.
    let rest: Vec<String> = lines.collect();
    let mut printed = String::new();
    child.stdout.take().expect("standard output").read_to_string(&mut printed).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{words}: {printed}{rest:?}");
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_long_run_tells_how_far_it_came() {
    let told = interrupted("scenario steady --duration 24h --rate 100", "seed ");
    assert!(told.contains("INTERRUPTED: the run was interrupted at "), "{told}");
    assert!(told.contains("of 86400.000 s; nothing was violated until then"), "{told}");
    assert!(told.contains("Timeline") && !told.contains("PASS"), "{told}");
    let json = interrupted("scenario steady --duration 24h --rate 100 --json", "seed ");
    let report: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(report["verdict"], "vacuous", "{report:#}");
}

#[test]
fn a_search_tells_the_values_that_it_came_to() {
    let search = "frontier gc-pause --protocol redis-fenced --fencing off --x ttl=1s,2s,3s,4s --y pause=400ms..9s --seeds 0..3 \
                  --rate 50 --out interrupted-frontier";
    let told = interrupted(search, "2s, ");
    assert!(told.contains("INTERRUPTED after 1 of 4 values of ttl"), "{told}");
    assert!(told.contains("No violation: none in 3 seeds"), "{told}");
}

#[test]
fn bisection_tells_between_which_drifts_it_was() {
    let bisect = "bisect read-lease --protocol redis-fenced --seeds 0..1000 --rate 50 --jobs 1";
    let told = interrupted(bisect, "violates no_stale_read");
    assert!(told.contains("read-lease · redis-fenced: breaks at ±"), "{told}");
    assert!(told.contains("no smaller drift was tried, seeds 0..1000 measured seed "), "{told}");
    assert!(told.contains("see it ") && told.contains("INTERRUPTED after "), "{told}");
    let json = interrupted(&format!("{bisect} --json"), "violates no_stale_read");
    let report: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((&report["interrupted"], &report["holds_at_ppm"]), (&true.into(), &().into()), "{report:#}");
    assert!(report["breaks_at_ppm"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn an_assessment_tells_what_its_runs_have_shown() {
    let assess = "assess redis-fenced --lease-ttl 60s --pause 10s --fencing off --rate 1000 --jobs 1";
    let told = interrupted(assess, "of 12 runs at 10 s ");
    assert!(
        told.contains("INTERRUPTED: so far, of 12 runs at 10 s 0 are unsafe, and leadership changed in 0."),
        "{told}"
    );
    assert!(told.contains("somebody takes over, in runs unknown not seen yet"), "{told}");
    assert!(told.contains("INTERRUPTED: the edges may be lower"), "{told}");
    assert!(!told.contains("SAFE") && !told.contains("Change: nothing"), "{told}");
    // Violations that were seen stay violations.
    let told = interrupted(&format!("{assess} --pause 100s").replace("--pause 10s ", ""), "of 12 runs at 100 s ");
    assert!(told.contains(" NOT SAFE: a former leader's write takes effect"), "{told}");
}

#[test]
fn experiments_tell_the_parts_that_they_measured() {
    let told = interrupted("experiments 4 --jobs 1", ", 1 of ");
    assert!(told.contains("INTERRUPTED after 1 of ") && told.contains(" parts, and no numbers were written"), "{told}");
    assert_eq!(told.matches("4/gc-pause/").count(), 1, "{told}");
    let json = interrupted("experiments 4 --jobs 1 --json", ", 1 of ");
    let report: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((&report["interrupted"], report["wrong"].as_array().map(Vec::len)), (&true.into(), Some(0)));
    assert_eq!(report["numbers"]["cells"].as_array().map(Vec::len), Some(1), "{report:#}");
}

#[test]
fn comparing_runs_tells_how_many_were_compared() {
    let told = interrupted("determinism steady --seeds 0..100000 --rate 20 --protocol redis-lease", "seed 0: ");
    assert!(
        told.contains("INTERRUPTED after ") && told.contains(" of 100000 plans, three runs each: 0 gave"),
        "{told}"
    );
}

#[test]
fn a_plot_tells_the_rows_that_it_counted() {
    // The first row is counted exactly, and so at once.
    let plot = "plot message-counts --protocol bully,kraft --nodes 3 --runs 100000 --out interrupted-plot";
    let told = interrupted(plot, " of 200,000 done");
    assert!(told.contains("bully 3 exact ") && told.contains("INTERRUPTED after 1 of 2 rows, and nothing"), "{told}");
}
