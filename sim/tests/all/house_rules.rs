//! House rules as ordinary tests: they keep out what breaks replay or the architecture, or makes code hard to read.

mod architecture;
mod errors;
mod examples;
mod graph;
pub mod marks;
mod sizes;
mod source;

use crate::common::root;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Every source file below the named folders, as (path from the root, text).
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for folder in folders {
        collect(&root().join(folder), &mut paths);
    }
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).expect("sources are readable text");
        (name, text)
    };
    let sources: Vec<_> = paths.into_iter().map(read).collect();
    assert!(sources.len() > 3, "found only {} sources below {folders:?}", sources.len());
    sources
}

/// The code of a line, without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Asserts that no line of code in `folders` contains one of `patterns`, except in the files `except`.
fn forbid(why: &str, patterns: &[&str], folders: &[&str], except: &[&str]) {
    let mut found = Vec::new();
    for (name, text) in sources(folders) {
        if except.iter().any(|e| name.starts_with(e)) || name.contains("/house_rules") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(pattern) = patterns.iter().find(|p| code(line).contains(**p)) {
                found.push(format!("{name}:{}: {pattern}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

/// Code that runs in simulations.
const SIMULATED: [&str; 4] = ["protocols/src", "protocols/clients/src", "scenarios/src", "sim/src"];
/// All code, including that of real processes.
const OURS: [&str; 7] = [
    "protocols/src",
    "protocols/clients/src",
    "protocols/real/src",
    "scenarios/src",
    "sim/src",
    "sim/cli/src",
    "sim/real/src",
];

#[test]
fn nothing_simulated_reads_an_ambient_clock() {
    // hyper needs an `Instant` as its timer's zero; any will do.
    let allowed = [
        "protocols/clients/src/env/tokio.rs",
        "protocols/clients/src/env/tokio/clocks.rs",
        "protocols/clients/src/etcd/channel.rs",
        "protocols/real/src/",
        "sim/src/run.rs",
        // How long a person has waited since Ctrl-C.
        "sim/src/interrupt.rs",
    ];
    let clocks = ["Instant::now", "SystemTime::now", "tokio::time::", "std::thread::sleep", "thread::sleep"];
    forbid("time comes from a node's clocks", &clocks, &SIMULATED, &allowed);
}

#[test]
fn nothing_simulated_draws_ambient_entropy() {
    let sources = ["thread_rng", "rand::random", "getrandom", "from_entropy", "from_os_rng", "OsRng", "RandomState"];
    forbid(
        "randomness comes from the seed's streams",
        &sources,
        &SIMULATED,
        // openraft uses this name for the random stream that it is given.
        &["protocols/real/src/", "protocols/clients/src/raft/runtime.rs"],
    );
}

#[test]
fn nothing_simulated_depends_on_a_hash_maps_order() {
    let maps = ["HashMap", "HashSet", "hashbrown", "ahash", "foldhash"];
    forbid("use BTreeMap: a hash map's order is not the seed's", &maps, &SIMULATED, &[]);
}

#[test]
fn select_is_biased() {
    forbid("futures' select draws lots", &["futures::select!", "futures_util::select!"], &SIMULATED, &[]);
    for (name, text) in sources(&SIMULATED) {
        let lines: Vec<_> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if code(line).contains("select! {") && !name.contains("/house_rules") {
                let next = lines.get(number + 1).map_or("", |l| l.trim());
                assert!(next.starts_with("biased;"), "{name}:{}: select! without biased", number + 1);
            }
        }
    }
}

#[test]
fn only_the_host_names_the_simulator() {
    forbid("madsim stays behind sim/src/host", &["madsim::"], &SIMULATED, &["sim/src/host.rs", "sim/src/host/"]);
    forbid(
        "no cfg outside the mode guard",
        &["cfg(madsim", "cfg(not(madsim", "feature = \"simulation\"", "feature = \"real\""],
        &OURS,
        &[
            "sim/src/lib.rs",
            "sim/cli/src/lib.rs",
            "sim/real/src/lib.rs",
            "protocols/real/src/lib.rs",
            "sim/src/host.rs",
            "sim/src/host/",
        ],
    );
}

#[test]
fn a_module_stands_beside_the_folder_of_the_files_below_it() {
    let all = sources(&["protocols", "scenarios", "reports", "sim", "tools"]);
    let within: Vec<&String> = all.iter().map(|(name, _)| name).filter(|name| name.ends_with("/mod.rs")).collect();
    assert!(within.is_empty(), "`x.rs` stands beside `x/`: {within:?}");
}

#[test]
fn nothing_is_left_open() {
    let open = ["todo!(", "unimplemented!(", "#[ignore]", "dbg!("];
    forbid("finish it or say so elsewhere", &open, &["protocols", "scenarios", "reports", "sim"], &[]);
}

#[test]
fn what_is_too_long_for_everybody_runs_in_ci() {
    let ci = fs::read_to_string(root().join(".ci/run")).expect(".ci/run can be read");
    assert!(
        ci.contains("--workspace --retries 1 --run-ignored only -E 'not test(the_test_that_is_written_runs)'"),
        "{ci}"
    );
    assert!(ci.contains("--workspace --run-ignored only -E 'test(the_test_that_is_written_runs)'"), "{ci}");
    let reason = ["#[ignore = \"", "long: .ci/run runs it\"]"].concat();
    for (name, text) in sources(&["protocols", "scenarios", "reports", "sim"]) {
        let mut ignored = text.lines().map(str::trim).filter(|line| line.starts_with("#[ignore"));
        assert!(ignored.all(|line| line == reason), "{name}");
    }
}

/// Runs cargo in the workspace; `None`, with a message, if the component is not installed.
fn cargo(arguments: &[&str]) -> Option<(bool, String)> {
    let mut command = Command::new(env!("CARGO"));
    // Variables that cargo sets for its tests would make the nested cargo, and the next one, rebuild what depends on ring.
    for (name, _) in std::env::vars() {
        let kept = ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL"].contains(&name.as_str());
        if name == "OUT_DIR" || name.starts_with("CARGO_") && !kept {
            command.env_remove(name);
        }
    }
    let output = command.args(arguments).current_dir(root()).output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if text.contains("is not installed") || text.contains("no such command") {
        assert!(std::env::var_os("CI").is_none(), "CI has every component: {text}");
        eprintln!("SKIPPED: cargo {} cannot run here: {text}", arguments[0]);
        return None;
    }
    Some((output.status.success(), text))
}

#[test]
fn the_code_is_formatted() {
    if let Some((fine, text)) = cargo(&["fmt", "--all", "--check"]) {
        assert!(fine, "{text}");
    }
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn clippy_has_nothing_to_say() {
    // Tests of real processes are no target of `cargo test`, and `cargo real` is built without the simulation.
    let alone = ["-p", "fencepost-cli", "--no-default-features", "--features", "otel"];
    for what in [["--workspace", "--all-targets"].as_slice(), &["--workspace", "--test", "real"], &alone] {
        let arguments = [&["clippy", "--quiet"], what, &["--", "-D", "warnings"]].concat();
        if let Some((fine, text)) = cargo(&arguments) {
            assert!(fine, "{text}");
        }
    }
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn the_documentation_has_no_warnings() {
    // Of the crates that others build on; nobody reads the pages of the rest.
    let read = ["fencepost", "fencepost-seat", "fencepost-logs", "fencepost-protocols", "fencepost-clients"];
    let packages: Vec<&str> = read.iter().flat_map(|package| ["-p", package]).collect();
    if let Some((fine, text)) = cargo(&[&["doc", "--no-deps", "--quiet"], packages.as_slice()].concat()) {
        assert!(fine && !text.contains("warning"), "{text}");
    }
}
