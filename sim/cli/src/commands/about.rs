//! `about PROTOCOL`: what breaks it, why, and what to do, derived from its promises in each scenario.
//!
//! All of it comes from the data that sweeps hold runs to: promises, known bugs, flaws by design. Nothing is run.

use super::{advice_args::AboutArgs, notices, output::print};
use crate::terminal::{exit::Stop, output::Show};
use protocols::{
    bug::Bug,
    by_design,
    election::{self, Promise, Protocol},
    fence::checks::Fencing,
    types::MILLISECOND,
};
use scenarios::{
    Params, Scenario, belief,
    scenario::{self, Live, Promised},
    set::described,
    units::duration_text,
};
use serde_json::json;
use sim::{advise, registry::Registry, repro};

/// The outcome of a scenario, worst first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comes {
    /// Safety is violated although the store compares tokens.
    Broken,
    /// Some seeds violate it although the store compares tokens.
    ByChance,
    /// Nobody acts in time, and in some runs a stale write follows.
    DarkByChance,
    /// Safe, but nobody acts in time.
    Dark,
    /// Safe only because the store compares tokens.
    ByFencing,
    /// Safe whatever the store does.
    Holds,
}

impl Comes {
    const ALL: [Comes; 6] =
        [Comes::Broken, Comes::ByChance, Comes::DarkByChance, Comes::Dark, Comes::ByFencing, Comes::Holds];

    fn of(fenced: Promised, unfenced: Promised) -> Self {
        match (fenced.safety, unfenced.safety) {
            (Promise::Breaks(_), _) => Comes::Broken,
            (Promise::May, _) if fenced.liveness == Live::Breaks => Comes::DarkByChance,
            (Promise::May, _) => Comes::ByChance,
            (Promise::Holds, _) if fenced.liveness == Live::Breaks => Comes::Dark,
            (Promise::Holds, Promise::Holds) => Comes::Holds,
            (Promise::Holds, _) => Comes::ByFencing,
        }
    }

    const fn is_dark(self) -> bool {
        matches!(self, Comes::DarkByChance | Comes::Dark)
    }

    const fn word(self) -> &'static str {
        match self {
            Comes::Broken => "broken",
            Comes::ByChance => "by-chance",
            Comes::DarkByChance => "unavailable-and-by-chance",
            Comes::Dark => "unavailable",
            Comes::ByFencing => "by-fencing",
            Comes::Holds => "holds",
        }
    }

    fn heading(self, protocol: &Protocol) -> String {
        match (self, protocol.tokened) {
            (Comes::Broken, true) => "Breaks even where the store compares tokens".to_owned(),
            (Comes::Broken, false) => "Breaks; there is no token that a store could compare".to_owned(),
            (Comes::ByChance, true) => "Breaks in some runs even where the store compares tokens".to_owned(),
            (Comes::ByChance, false) => "Breaks in some runs".to_owned(),
            (Comes::DarkByChance, _) => "Nobody acts in time, and in some runs safety breaks too".to_owned(),
            (Comes::Dark, _) => "Nobody acts in time".to_owned(),
            (Comes::ByFencing, _) => "Holds only because the store compares tokens".to_owned(),
            (Comes::Holds, true) => "Holds with and without a comparing store".to_owned(),
            (Comes::Holds, false) => "Holds".to_owned(),
        }
    }
}

/// A scenario and the protocol's promise in it.
struct Story {
    scenario: &'static Scenario,
    comes: Comes,
    /// The violated invariants; without fencing, if the protocol is safe only with it.
    violated: &'static [&'static str],
}

fn stories(registry: &Registry, protocol: &Protocol) -> Vec<Story> {
    let told = registry.plans.scenarios.iter().copied().filter(|scenario| scenario.needs.met_by(protocol));
    let promise = |scenario, fencing| {
        let params = Params { fencing, ..Params::default() };
        scenario::promised(scenario, protocol, &params)
    };
    let story = |scenario: &'static Scenario| {
        let (fenced, unfenced) = (promise(scenario, Fencing::On), promise(scenario, Fencing::Off));
        let comes = Comes::of(fenced, unfenced);
        let violated = [fenced, unfenced].into_iter().find_map(|promised| match promised.safety {
            Promise::Breaks(names) => Some(names),
            Promise::Holds | Promise::May => None,
        });
        let dark: &[&str] = if comes.is_dark() { &["liveness"] } else { &[] };
        Story { scenario, comes, violated: violated.unwrap_or(dark) }
    };
    told.map(story).collect()
}

/// A tokened protocol on the same service, or of the same kind, for a protocol without tokens: a deployable one, or
/// else the protocol itself with tokens from a counter.
pub(super) fn with_token(registry: &Registry, protocol: &Protocol) -> Option<&'static Protocol> {
    let same = |other: &&'static Protocol| other.tokened && other.service.name == protocol.service.name;
    let elects = |other: &&'static Protocol| other.service.elects == protocol.service.elects;
    let can_be_run = |other: &&'static Protocol| same(other) && elects(other) && advise::is_deployable(other);
    let counted = || election::wrapped(&format!("{}-fenced", protocol.name));
    registry.plans.protocols.iter().copied().find(can_be_run).or_else(counted)
}

/// What to do about it, one sentence each.
fn advice(registry: &Registry, protocol: &Protocol, stories: &[Story]) -> Vec<String> {
    let mut all = Vec::new();
    if protocol.tokened {
        all.push(
            "Send the token with every write, and have the resource refuse any token lower than one it has seen. Seal \
             it first: show it the new token before you read its state."
                .to_owned(),
        );
    } else {
        let instead = match with_token(registry, protocol) {
            Some(other) => format!("use `{}`, which has one", other.name),
            None => "take one from a counter in the store itself, in the same step as the lock".to_owned(),
        };
        all.push(format!(
            "Do not rely on it where two leaders do harm: without a token, no store can recognise a stale \
                          write. Instead, {instead}."
        ));
    }
    if stories.iter().any(|story| story.comes.is_dark()) {
        all.push(
            "Have a leader step down when its work has failed for some time (`--step-down-after` here), and monitor \
             from outside whether clients are served: leadership alone does not show it."
                .to_owned(),
        );
    }
    if stories.iter().any(|story| story.comes == Comes::Broken && story.violated.contains(&"elections")) {
        all.push(
            "Never reset the source of tokens (by a deleted key, a restored backup, an empty restart): it would hand \
             out tokens that the store has already seen."
                .to_owned(),
        );
    }
    all.push(match overlap(protocol) {
        Some(0) => {
            "By its timers alone, two nodes never believe at once while clocks run evenly; a pause breaks this, and \
             then only the store's comparison helps."
                .to_owned()
        }
        Some(ms) => {
            format!(
                "After a partition, two nodes may believe at once for up to {}, even with perfect clocks.",
                duration_text(ms)
            )
        }
        None => {
            "After a partition, two nodes may believe at once for any length of time: no clock on the leader ends its \
             belief."
                .to_owned()
        }
    });
    all
}

/// The longest dual belief when the leader is cut off, at the default timers and with equal clocks, milliseconds.
fn overlap(protocol: &Protocol) -> Option<u64> {
    let partition = scenario::find("partition").filter(|scenario| scenario.needs.met_by(protocol))?;
    let plan = partition.compile(&Params::default(), protocol, 0).ok()?;
    belief::bound_ms(&plan, protocol).map(|ms| ms.ceil() as u64)
}

/// A run's default timers, in a sentence.
fn timers(protocol: &Protocol) -> String {
    let timings = protocol.default_timings();
    let ms = |ns: u64| duration_text(ns / MILLISECOND);
    match timings.election_timeout {
        Some((from, to)) => {
            format!("Election timeout {}..{}, heartbeat every {}.", ms(from), ms(to), ms(timings.renew_interval))
        }
        None => format!(
            "Upstream's defaults: lease {}, renewed every {}.",
            ms(timings.lease_ttl),
            ms(timings.renew_interval)
        ),
    }
}

fn commands(protocol: &Protocol, stories: &[Story]) -> Vec<Vec<String>> {
    let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let name = protocol.name;
    let mut all = Vec::new();
    if let Some(worst) = stories.iter().find(|story| story.comes == Comes::Broken) {
        all.push(words(format!("scenario {} --protocol {name} --seed 1", worst.scenario.name)));
    }
    if let Some(fenced) = stories.iter().find(|story| story.comes == Comes::ByFencing) {
        all.push(words(format!("scenario {} --protocol {name} --fencing off --seed 1", fenced.scenario.name)));
    }
    all.push(words(format!("matrix --protocol {name}")));
    all
}

/// Bugs and flaws by design that name this protocol; those of all protocols are left out.
fn mistakes(registry: &Registry, protocol: &Protocol) -> Vec<(&'static Bug, bool)> {
    let named = |bug: &Bug| bug.protocols.contains(&protocol.name);
    let switches = registry.plans.bugs.iter().copied().map(|bug| (bug, true));
    let designs = by_design::ALL.into_iter().map(|design| (&design.bug, false));
    designs.chain(switches).filter(|(bug, _)| named(bug)).collect()
}

/// Prints what breaks a protocol, why, and what to do.
///
/// # Errors
/// Only usage errors.
pub fn run(registry: &Registry, args: &AboutArgs) -> Result<u8, Stop> {
    let (protocol, show) = (args.name, Show::from(&args.show));
    let stories = stories(registry, protocol);
    if show.json {
        print(&as_json(registry, protocol, &stories));
    } else {
        print(&as_text(registry, protocol, &stories, show.width()));
    }
    Ok(0)
}

fn as_json(registry: &Registry, protocol: &Protocol, stories: &[Story]) -> String {
    let rows: Vec<_> = stories
        .iter()
        .map(|story| {
            json!({ "scenario": story.scenario.name, "comes": story.comes.word(), "violated": story.violated,
                    "about": story.scenario.about })
        })
        .collect();
    let bugs: Vec<_> = mistakes(registry, protocol)
        .into_iter()
        .map(|(bug, switch)| json!({ "id": bug.id, "switch": switch, "what": bug.what, "source": bug.source }))
        .collect();
    let commands: Vec<String> = commands(protocol, stories).iter().map(|words| repro::command(words)).collect();
    let report = json!({
        "schema": 1, "protocol": protocol.name, "about": protocol.about, "token": protocol.tokened,
        "service": protocol.service.name, "notices": notices::as_json(protocol), "scenarios": rows, "mistakes": bugs,
        "advice": advice(registry, protocol, stories), "commands": commands,
    });
    serde_json::to_string_pretty(&report).unwrap_or_default()
}

fn as_text(registry: &Registry, protocol: &Protocol, stories: &[Story], width: usize) -> String {
    let token = if protocol.tokened { "It carries a fencing token." } else { "It carries no fencing token." };
    let mut text = filled(&format!("{}: {}. {token}", protocol.name, protocol.about), 0, width);
    text += &filled(&timers(protocol), 0, width);
    text += &filled(&notices::sentences(protocol), 0, width);
    for parameter in protocol.parameters {
        let words = format!("--set {}.{}: {}", protocol.name, parameter.name, described(parameter));
        text += &filled(&words, 2, width);
    }
    for comes in Comes::ALL {
        let of: Vec<&Story> = stories.iter().filter(|story| story.comes == comes).collect();
        let Some(first) = of.first() else { continue };
        let names: Vec<&str> = of.iter().map(|story| story.scenario.name).collect();
        text += &format!("\n{} ({}):\n", comes.heading(protocol), of.len());
        text += &filled(&names.join(", "), 2, width);
        if comes != Comes::Holds {
            let violated = match (comes, first.violated) {
                (_, []) => String::new(),
                (Comes::ByFencing, names) => format!(" Without the comparison it violates {}.", names.join(", ")),
                (_, names) => format!(" It violates {}.", names.join(", ")),
            };
            // The pause alone takes nothing from a holder that keeps its lock meanwhile.
            let meanwhile = match protocol.service.outlasts_pauses && first.scenario.name == "gc-pause" {
                true => " Meanwhile somebody ends its session.",
                false => "",
            };
            let about = format!("{}: {}{meanwhile}{violated}", first.scenario.name, first.scenario.about);
            text += &filled(&about, 2, width);
        }
    }
    let mistakes = mistakes(registry, protocol);
    if !mistakes.is_empty() {
        text += "\nMistakes that others made with it:\n";
        for (bug, switch) in mistakes {
            let switch = if switch { format!("--bug {}", bug.id) } else { format!("{}, by design", bug.id) };
            text += &filled(&format!("{switch}: {}", bug.what), 2, width);
        }
    }
    text += "\nWhat to do:\n";
    for (n, sentence) in advice(registry, protocol, stories).iter().enumerate() {
        text += &filled(&format!("{}. {sentence}", n + 1), 2, width);
    }
    text += "\nSee it:\n";
    for words in commands(protocol, stories) {
        text += &format!("  {}\n", repro::command(&words));
    }
    text
}

/// Fills words into lines of this width; all lines but a paragraph's first are indented by two more.
pub(super) fn filled(words: &str, indent: usize, width: usize) -> String {
    let hanging = if indent > 0 { indent + 2 } else { 0 };
    let mut text = String::new();
    let mut line = " ".repeat(indent);
    let mut used = false;
    for word in words.split(' ') {
        if used && line.chars().count() + 1 + word.chars().count() > width {
            text += &line;
            text.push('\n');
            (line, used) = (" ".repeat(hanging), false);
        }
        if used {
            line.push(' ');
        }
        line += word;
        used = true;
    }
    text + &line + "\n"
}
