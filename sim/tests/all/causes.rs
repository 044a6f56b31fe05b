//! The head of a failure's report for a failure of every scenario, in `sim/tests/causes.txt` for review. If no protocol
//! fails a scenario, with or without fencing, at a few seeds, the file shows one of its other runs.

use crate::common::{root, updating};
use protocols::{
    election::{self, Protocol},
    fence::checks::Fencing,
};
use reports::{Cause, Verdict};
use scenarios::{
    Params, Scenario,
    generate::{self, Choice},
    scenario::{self, Needs},
};
use sim::run::{self, Options};
use std::{fs, path::PathBuf};

/// Seeds to search for a failure.
const SEEDS: u64 = 2;

fn file() -> PathBuf {
    root().join("sim/tests/causes.txt")
}

/// One run of the file.
struct Told {
    head: String,
    text: String,
    verdict: Verdict,
    cause: Cause,
    nodes: Vec<String>,
}

/// Runs a light plan.
fn told(scenario: &str, protocol: &str, seed: u64, fencing: bool) -> Told {
    let params = Params { rate: 50, fencing: fencing.into(), ..Params::default() };
    let of = scenario::find(scenario).unwrap_or_else(|| panic!("no scenario {scenario}"));
    let by = election::find(protocol).unwrap_or_else(|| panic!("no protocol {protocol}"));
    let plan = of.compile(&params, by, seed).expect("the default parameters make sense");
    let run = run::run(&plan, Options { timeline: true, ..Options::default() }).expect("the run ends");
    let cause = run.highlights.expect("somebody listened").cause;
    let (with, verdict) = (if fencing { "on" } else { "off" }, run.judgement.verdict);
    let head = format!("{scenario} {protocol} seed {seed} fencing {with}: {}", verdict.name());
    let rule = cause.rule().map(|rule| format!("\n  {rule}")).unwrap_or_default();
    Told { head, text: format!("  {}{rule}", cause.text()), verdict, cause, nodes: run.header.nodes }
}

/// The first failure of a scenario, preferably with fencing, or else a run with something to tell.
fn failure(scenario: &'static Scenario) -> Told {
    let mut passed = None;
    // Last, since it fails everywhere and so tells little about a scenario.
    let everywhere = |protocol: &&'static Protocol| protocol.name == "pg-advisory-pooled";
    // Some protocols serve a single scenario, and are found by name only.
    let named = match scenario.needs {
        Needs::Named(names) => names.iter().filter_map(|name| election::find(name)).collect(),
        _ => Vec::new(),
    };
    let alone = named.into_iter().filter(|protocol| election::ALL.iter().all(|known| known.name != protocol.name));
    let (last, first): (Vec<_>, Vec<_>) = election::ALL.into_iter().chain(alone).partition(everywhere);
    for (fencing, protocols) in [(true, &first), (false, &first), (true, &last)] {
        for protocol in protocols.iter().filter(|p| scenario::of(p).any(|s| s.name == scenario.name)) {
            for seed in 0..SEEDS {
                let told = told(scenario.name, protocol.name, seed, fencing);
                match told.verdict {
                    Verdict::Safety | Verdict::Liveness => return told,
                    _ => drop(passed.get_or_insert(told)),
                }
            }
        }
    }
    passed.expect("a protocol that it applies to")
}

/// The heads of the runs in the file.
fn heads(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect()
}

#[test]
fn a_failure_of_every_scenario_says_who_did_what_and_when() {
    if updating() {
        let all: Vec<String> = scenario::ALL
            .iter()
            .map(|scenario| failure(scenario))
            .map(|t| format!("{}\n{}\n", t.head, t.text))
            .collect();
        fs::write(file(), all.join("\n")).expect("the file can be written");
    }
    let text = fs::read_to_string(file()).expect("the file");
    let (mut now, mut failures) = (Vec::new(), 0);
    for known in heads(&text) {
        let words: Vec<&str> = known.split([' ', ':']).collect();
        let [scenario, protocol, "seed", seed, "fencing", fencing, ..] = words[..] else { panic!("{known}") };
        let Told { head, text, verdict, cause, nodes } =
            told(scenario, protocol, seed.parse().expect("a seed"), fencing == "on");
        now.push(format!("{head}\n{text}\n"));
        if matches!(verdict, Verdict::Pass | Verdict::Vacuous) {
            continue;
        }
        failures += 1;
        let said = cause.text();
        assert!(nodes.iter().any(|name| said.contains(name.as_str())), "{head}: nobody is named: {said}");
        let is_instant = |word: &str| word.split_once('.').is_some_and(|(_, part)| part.len() == 3);
        assert!(said.split(' ').any(is_instant), "{head}: it does not say when: {said}");
        assert!(!said.contains("[["), "{head}: {said}");
        assert!(
            cause.rule().is_some_and(|rule| rule.contains("breaks the rule")),
            "{head}: it does not say what is wrong"
        );
    }
    let known: Vec<&str> = heads(&text).iter().filter_map(|head| head.split(' ').next()).collect();
    let missing: Vec<&str> = scenario::ALL.iter().map(|s| s.name).filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} have no sentence yet; FENCEPOST_UPDATE=1 cargo test writes it");
    assert_eq!(now.join("\n"), text, "FENCEPOST_UPDATE=1 cargo test writes it anew");
    // As `docs/matrix.md` says, no protocol fails the other scenarios.
    assert!(failures > 40, "only {failures} of {} fail", known.len());
}

#[test]
fn a_clock_is_named_only_where_clocks_are_compared() {
    // Both plans fail without a fault that struck before, and have clocks that are further apart than a lease.
    let told = |seed: u64, protocol: &str| {
        let plan = generate::swarm(seed, &Choice { fencing: Fencing::Off, ..Choice::default() });
        assert_eq!(plan.protocol, protocol, "another plan is drawn from {seed} now; find one like it");
        let run = run::run(&plan, Options { timeline: true, ..Options::default() }).expect("the run ends");
        assert_eq!(run.judgement.verdict, Verdict::Safety, "{protocol}");
        run.highlights.expect("somebody listened").cause.text()
    };
    let compares = told(316, "db-row-node-clock");
    assert!(compares.contains("n2's clock was"), "{compares}");
    let does_not = told(401, "lowest-id");
    assert!(!does_not.contains("clock was"), "{does_not}");
}
