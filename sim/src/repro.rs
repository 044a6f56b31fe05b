//! The command that repeats a run. It is built from the run's own parameters, so that no relevant option is missing,
//! and works in any folder.

use protocols::fence::checks::Fencing;
use scenarios::{
    Params,
    units::{bandwidth_text, duration_text, duration_us_text, percent_text},
};
use std::{
    env,
    path::{Path, PathBuf},
};

/// The program arguments that compile this scenario's plan again, with these parameters and this seed: `scenario
/// gc-pause --protocol etcd-election --seed 7`, plus every option that differs from the default of `scenario`.
pub fn arguments(scenario: &str, protocol: &str, params: &Params, seed: u64) -> Vec<String> {
    let mut words = ["scenario", scenario, "--protocol", protocol, "--seed"].map(str::to_owned).to_vec();
    words.push(seed.to_string());
    words.extend(options(params));
    words
}

/// The options that differ from the defaults of `scenario`.
pub fn options(params: &Params) -> Vec<String> {
    let usual = Params::default();
    let mut words = Vec::new();
    let mut add = |option: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([format!("--{option}"), value]);
        }
    };
    let number = |value: u64, usual: u64| (value != usual).then(|| value.to_string());
    let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
    let range = |(from, to): (u64, u64), text: fn(u64) -> String| format!("{}..{}", text(from), text(to));
    add("nodes", number(params.nodes.into(), usual.nodes.into()));
    add("duration", params.duration_ms.map(duration_text));
    add("lease-ttl", params.lease_ttl_ms.map(duration_text));
    add("renew-interval", params.renew_interval_ms.map(duration_text));
    add("retry-period", params.retry_period_ms.map(duration_text));
    add("request-timeout", params.request_timeout_ms.map(duration_text));
    add("election-timeout", params.election_timeout_ms.map(|r| range(r, duration_text)));
    add("clock-skew", (params.clock_skew_ms != usual.clock_skew_ms).then(|| duration_text(params.clock_skew_ms)));
    add("clock-drift", number(params.clock_drift_ppm, usual.clock_drift_ppm));
    add("rate", number(params.rate, usual.rate));
    add("pause", params.pause_ms.map(duration_text));
    let tenure = params.tenure;
    add("warm-up", (tenure.warm_up_ms > 0).then(|| duration_text(tenure.warm_up_ms)));
    add("hold-down", (tenure.hold_down_ms > 0).then(|| duration_text(tenure.hold_down_ms)));
    add("step-down-after", (tenure.step_down_after_ms > 0).then(|| duration_text(tenure.step_down_after_ms)));
    add("address", params.address.map(|kind| kind.word().to_owned()));
    add("address-ttl", params.address_ttl_ms.map(duration_text));
    add("health-check-errors", (tenure.check_errors_ppm > 0).then(|| percent_text(tenure.check_errors_ppm)));
    add("members", params.service_members.map(|members| members.to_string()));
    add(
        "works",
        (!params.works.is_empty()).then(|| params.works.iter().map(|work| work.name).collect::<Vec<_>>().join(",")),
    );
    add("work-items", params.work_set.items.map(|items| items.to_string()));
    add("work-item-time", params.work_set.item_ms.map(duration_text));
    add("checkpoint-every", params.work_set.checkpoint_every.map(|items| items.to_string()));
    add("load-time", params.work_set.load_ms.map(duration_text));
    add("charge-check", params.charge_check.map(|check| check.word().to_owned()));
    params.set.iter().for_each(|setting| add("set", Some(setting.to_string())));
    add("groups", number(params.groups.into(), usual.groups.into()));
    add("placement", params.placement.map(|placement| placement.word().to_owned()));
    add("bug", params.bugs.first().map(|bug| bug.id.to_owned()));
    add("fencing", (params.fencing != Fencing::On).then(|| params.fencing.word().to_owned()));
    add("copies", params.copies.map(|copies| copies.word().to_owned()));
    add("read-lease", params.read_lease.map(on_off));
    add("reads", params.reads_per_s.map(|reads| reads.to_string()));
    add("net", (params.net.name != usual.net.name).then(|| params.net.name.to_owned()));
    add("latency", params.latency_us.map(|r| range(r, duration_us_text)));
    add("loss", params.loss_ppm.map(percent_text));
    add("bandwidth", params.bandwidth_mbps.map(bandwidth_text));
    add("control-link", params.control_apart.then(|| "separate".to_owned()));
    words
}

/// A shell command that runs this program with `arguments` in any folder.
pub fn command(arguments: &[String]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    match program() {
        Program::Cargo { folder, release } => {
            let release = if release { " --release" } else { "" };
            format!("(cd {} && cargo run{release} -- {})", quoted(&folder.display().to_string()), words.join(" "))
        }
        Program::Built(path) => format!("{} {}", quoted(&path.display().to_string()), words.join(" ")),
    }
}

/// A command made by [`command`], with more arguments appended.
pub fn with(command: &str, more: &[&str]) -> String {
    let more: String = more.iter().map(|word| format!(" {}", quoted(word))).collect();
    match command.strip_suffix(')') {
        Some(inside) => format!("{inside}{more})"),
        None => format!("{command}{more}"),
    }
}

/// Turns a command made by [`of_run`] into a sweep over other seeds.
pub fn other_seeds(of_run: &str, seed: u64) -> String {
    let swept = of_run.replacen(" scenario ", " sweep ", 1);
    swept.replacen(&format!(" --seed {seed}"), " --seeds 0..20", 1)
}

/// The [`command`] for one run of a scenario.
pub fn of_run(scenario: &str, protocol: &str, params: &Params, seed: u64) -> String {
    command(&arguments(scenario, protocol, params, seed))
}

/// A script that replays the named file in the script's own folder.
pub fn script(file: &str) -> String {
    let again = command(&["replay".to_owned(), "$file".to_owned()]);
    // The script fills in the name.
    let again = again.replace("'$file'", "\"$file\"");
    format!(
        "#!/bin/sh\n# Repeats this run, from any folder. FENCEPOST=PROGRAM has another build do it.\n\
         file=\"$(cd \"$(dirname \"$0\")\" && pwd)/{file}\"\n\
         [ -n \"$FENCEPOST\" ] && exec \"$FENCEPOST\" replay \"$file\"\n{again}\n"
    )
}

/// How this program is started.
enum Program {
    /// By cargo, in the workspace's folder.
    Cargo { folder: PathBuf, release: bool },
    /// Directly.
    Built(PathBuf),
}

/// A user of cargo changes code and wants the command to run the changed code; other users want this very file.
fn program() -> Program {
    let this = env::current_exe().unwrap_or_else(|_| PathBuf::from("fencepost"));
    match env::var_os("CARGO").and(env::var_os("CARGO_MANIFEST_DIR")).and_then(|krate| runs_in(Path::new(&krate))) {
        Some(folder) => {
            let release = this.parent().is_some_and(|parent| parent.ends_with("release"));
            Program::Cargo { folder, release }
        }
        None => Program::Built(this),
    }
}

/// Where `cargo run` runs the program of this crate: in its workspace, if that runs it by default.
fn runs_in(krate: &Path) -> Option<PathBuf> {
    let root = workspace(krate)?;
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let default = manifest.lines().find(|line| line.starts_with("default-members")).unwrap_or_default();
    let is_default =
        krate.strip_prefix(&root).is_ok_and(|member| default.contains(&format!("\"{}\"", member.display())));
    let is_program = krate.join("src/main.rs").is_file();
    Some(if is_default || !is_program { root } else { krate.to_owned() })
}

/// The workspace folder of a crate: Fencepost's, or that of a crate that extends it.
fn workspace(krate: &Path) -> Option<PathBuf> {
    let is_workspace = |folder: &&Path| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim_end() == "[workspace]")
    };
    krate.ancestors().find(is_workspace).or_else(|| Some(krate).filter(|krate| krate.is_dir())).map(Path::to_path_buf)
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenarios::Registry;

    #[test]
    fn what_is_usual_is_left_out_and_nothing_else() {
        assert!(options(&Params::default()).is_empty());
        let params = Params { rate: 10, fencing: Fencing::Token, loss_ppm: Some(5_000), ..Params::default() };
        assert_eq!(options(&params), ["--rate", "10", "--fencing", "token", "--loss", "0.5%"]);
        let given = ["raft-core.preset=hashicorp", "raft-core.pre-vote=off"];
        let set = given.map(|text| Registry::default().setting(text).unwrap()).into_iter().collect();
        assert_eq!(options(&Params { set, ..Params::default() }), ["--set", given[0], "--set", given[1]]);
        let params = Params { latency_us: Some((200, 1_500)), pause_ms: Some(90_000), ..Params::default() };
        assert_eq!(options(&params), ["--pause", "90s", "--latency", "0.2ms..1.5ms"]);
    }

    #[test]
    fn other_seeds_are_swept_under_the_same_options() {
        let params = Params { nodes: 1, fencing: Fencing::Off, ..Params::default() };
        let run = of_run("gc-pause", "raft", &params, 17);
        let swept = other_seeds(&run, 17);
        assert!(swept.contains(" sweep gc-pause --protocol raft --seeds 0..20 "), "{swept}");
        assert!(swept.ends_with(run.split_once("--seed 17").expect("a seed").1), "{swept} is not of {run}");
    }

    #[test]
    fn cargo_runs_in_the_workspace_that_a_crate_belongs_to() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let sim = here.parent().expect("sim/tests/ lies in sim/");
        assert_eq!(workspace(here).as_deref(), sim.parent());
        let examples = sim.join("examples");
        assert_eq!(workspace(&examples.join("own-service")), Some(examples), "they are a workspace of their own");
        assert_eq!(workspace(Path::new("/nowhere/crate")), None);
        let root = sim.parent().expect("the repository");
        let own = root.join("protocols/examples/own-elector");
        assert_eq!(runs_in(&own), Some(own), "its workspace runs another program");
        assert_eq!(runs_in(&sim.join("cli")).as_deref(), Some(root));
    }

    #[test]
    fn a_shell_takes_a_word_for_one() {
        assert_eq!(quoted("0.2ms..1.5ms"), "0.2ms..1.5ms");
        assert_eq!(quoted("/a b/it's"), "'/a b/it'\\''s'");
        assert!(script("capsule.json").contains("/capsule.json\"\n"));
        assert!(script("capsule.json").contains(" replay \"$file\""), "{}", script("capsule.json"));
    }
}
