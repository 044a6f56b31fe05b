//! `list`: everything that commands can name, one line each; bugs take a few lines each.

use super::{
    args::Listing,
    notices,
    output::{Show, print},
};
use crate::terminal::names::as_run;
use protocols::{
    bug::{Bug, Shown},
    by_design, election,
    parameter::Parameter,
    types::{MILLISECOND, SECOND},
};
use scenarios::{generate, params, set::described};
use serde_json::{Map, Value, json};
use sim::{registry::Registry, repro};

/// The text above the list of bugs.
const BUGS_LEGEND: &str = "Each: its id, for --bug; the protocols that have it; and what shows it, an invariant that it violates or \
    a figure that it moves. A bug need not break a promise: the last line of its sweep says in how many runs it shows.";

/// The default lease of runs, or how long others wait.
const USUAL_LEASE: u64 = 3 * SECOND;
/// Descriptions are only wrapped if they have at least this many columns.
const ABOUT_MIN: usize = 24;

const KINDS: [Listing; 8] = [
    Listing::Scenarios,
    Listing::Protocols,
    Listing::Faults,
    Listing::Invariants,
    Listing::Works,
    Listing::Parameters,
    Listing::Networks,
    Listing::Bugs,
];

/// Lists one kind of thing, or everything; without a kind, prints the number of each.
pub fn run(registry: &Registry, what: Option<Listing>, json: bool) {
    if what.is_none() && !json {
        return print(&as_run(&overview(registry)));
    }
    let what = what.filter(|what| *what != Listing::All);
    let listed: &[Listing] = what.as_ref().map_or(&KINDS, std::slice::from_ref);
    if json {
        let lists = listed.iter().map(|listing| (words(*listing), as_json(registry, *listing)));
        let mut report: Map<String, Value> = lists.collect();
        report.insert("schema".to_owned(), json!(1));
        return print(&serde_json::to_string_pretty(&report).unwrap_or_default());
    }
    let mut text = String::new();
    for listing in listed {
        let indent = if what.is_none() { "  " } else { "" };
        if what.is_none() {
            text += &format!("{}{}\n", if text.is_empty() { "" } else { "\n" }, words(*listing));
        }
        if *listing == Listing::Bugs {
            text += &bugs(registry, indent);
            continue;
        }
        let rows = rows(registry, *listing);
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        if rows.is_empty() {
            text += &format!("{indent}none yet\n");
        }
        for (name, about) in rows {
            text += &line(&format!("{indent}{name:width$}  "), &about);
        }
    }
    print(&text);
}

/// The number of each kind, with examples, and the commands that list them.
fn overview(registry: &Registry) -> String {
    let row = |kind: &Listing| {
        let (what, such) = match kind {
            Listing::Scenarios => ("what goes wrong in a run, and when", "gc-pause, partition, clean-kill"),
            Listing::Protocols => ("how a leader is elected", "etcd-election, k8s-lease, pg-advisory, raft"),
            Listing::Faults => ("what `sweep swarm` draws plans of", "pause, partition, kill"),
            Listing::Invariants => ("what is judged", "leaders_acting_by_effect, no_stale_write, liveness"),
            Listing::Works => ("what a leader does", "sequencer, job-queue, invoices"),
            Listing::Parameters => ("what belongs to one protocol or work, for --set", "raft-core.pre-vote"),
            Listing::Networks => ("how links behave, for --net", "lan, wan"),
            Listing::Bugs => ("mistakes of real systems, for --bug", "redis-lease-renewal-throws"),
            Listing::All => ("", ""),
        };
        (words(*kind), rows(registry, *kind).len(), what, such)
    };
    let rows: Vec<_> = KINDS.iter().map(row).collect();
    let mut text = String::new();
    for (kind, number, what, such) in &rows {
        text += &line(&format!("{kind:10} {number:>3}  "), &format!("{what}: {such}, …"));
    }
    text + "\n`fencepost list scenarios` lists one kind, and `fencepost list all` everything.\n\
        `fencepost about k8s-lease` says what breaks a protocol, and `fencepost scenario gc-pause` runs a scenario.\n"
}

/// A name and its description: one line in a pipe, as many as needed on a terminal.
fn line(head: &str, about: &str) -> String {
    let indent = head.chars().count();
    match Show::default().room().filter(|room| *room >= indent + ABOUT_MIN) {
        None => format!("{head}{about}\n"),
        Some(room) => {
            let below = wrapped_to(about, &" ".repeat(indent), "", room);
            format!("{head}{}", below.trim_start())
        }
    }
}

fn words(listing: Listing) -> String {
    format!("{listing:?}").to_lowercase()
}

fn as_json(registry: &Registry, listing: Listing) -> Value {
    if listing == Listing::Bugs {
        let switches = registry.plans.bugs.iter().map(|bug| bug_as_json(bug, &with(bug), &without(&bug.shown), true));
        let designs = by_design::ALL
            .iter()
            .map(|design| bug_as_json(&design.bug, &without(&design.bug.shown), &without(&design.mended), false));
        return switches.chain(designs).collect();
    }
    let rows = rows(registry, listing).into_iter().map(|(name, about)| json!({ "name": name, "about": about }));
    if listing != Listing::Protocols {
        return rows.collect();
    }
    let with_notices = |(mut row, protocol): (Value, &election::Protocol)| {
        row["notices"] = notices::as_json(protocol);
        row
    };
    rows.zip(registry.plans.named()).map(with_notices).collect()
}

fn bug_as_json(bug: &Bug, shows: &str, mended: &str, switch: bool) -> Value {
    let Bug { id, protocols, what, source, violation, shown } = bug;
    json!({
        "id": id, "switch": switch, "protocols": protocols, "what": what, "source": source, "violation": violation,
        "above": shown.above, "seeds": shown.seeds, "shows": shows, "mended": mended,
    })
}

/// The command that shows a bug, with the bug switched on.
fn with(bug: &Bug) -> String {
    command(&bug.shown, &["--bug", bug.id])
}

/// The same command without the bug.
fn without(shown: &Shown) -> String {
    command(shown, &[])
}

/// A line for a shell, as other commands print it.
fn command(shown: &Shown, more: &[&str]) -> String {
    let sweep = shown.command();
    let words: Vec<String> = sweep.split(' ').chain(more.iter().copied()).map(str::to_owned).collect();
    repro::command(&words)
}

/// Each bug's id, protocols, violation, description, source, and the command that shows it.
fn bugs(registry: &Registry, indent: &str) -> String {
    let mut text = wrapped(BUGS_LEGEND, indent, "");
    text.push('\n');
    text.extend(registry.plans.bugs.iter().map(|bug| entry(bug, &[("Shown by:", with(bug))], indent)));
    text += &format!("\n{indent}By design or by settings, without a switch:\n");
    for design in by_design::ALL {
        let commands = [("Shown by:", without(&design.bug.shown)), ("Not by:", without(&design.mended))];
        text += &entry(&design.bug, &commands, indent);
    }
    text
}

fn entry(bug: &Bug, commands: &[(&str, String)], indent: &str) -> String {
    let protocols = if bug.protocols.is_empty() { "all protocols".to_owned() } else { bug.protocols.join(", ") };
    let shows = match bug.violation.strip_prefix("metrics.") {
        Some(figure) => format!("{figure} above {}", bug.shown.above),
        None => bug.violation.to_owned(),
    };
    let mut text = wrapped(&format!("{}  ({protocols}; {shows})", bug.id), indent, "");
    let mut paragraph = |words: &str, end| text += &wrapped(words, &format!("{indent}    "), end);
    paragraph(bug.what, "");
    paragraph(&format!("Source: {}", bug.source.trim_end_matches('.')), "");
    for (why, command) in commands {
        paragraph(why, "");
        // A continuation, as a shell reads it.
        paragraph(command, " \\");
    }
    text
}

/// Wraps words to the terminal's width; all lines but the last end with `end`.
fn wrapped(words: &str, indent: &str, end: &str) -> String {
    wrapped_to(words, indent, end, Show::default().width())
}

fn wrapped_to(words: &str, indent: &str, end: &str, width: usize) -> String {
    let (mut text, mut line) = (String::new(), String::new());
    let room = width - indent.len() - end.len();
    for word in words.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            text += &format!("{indent}{line}{end}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    text + &format!("{indent}{line}\n")
}

fn rows(registry: &Registry, listing: Listing) -> Vec<(String, String)> {
    let plain = |name: &str, about: &str| (name.to_owned(), about.to_owned());
    match listing {
        Listing::Scenarios => registry.plans.scenarios.iter().map(|s| plain(s.name, s.about)).collect(),
        Listing::Protocols => {
            let about = |p: &election::Protocol| {
                let token = if p.tokened { "token" } else { "no token" };
                let timers = match (p.election_timeout, p.elects_among_peers()) {
                    (Some((min, max)), _) => {
                        format!("timeout {}–{} ms", min / MILLISECOND, max / MILLISECOND)
                    }
                    (None, true) => format!("silence {} s", p.default_lease_ttl / SECOND),
                    (None, false) => format!("lease {} s", p.default_lease_ttl / SECOND),
                };
                let usual = p.default_timings().own;
                let own = election::Timer::ALL
                    .into_iter()
                    .filter_map(|timer| Some(format!(", {} {} s", timer.words(), usual.get(timer)? / SECOND)));
                // By default, runs have the same lease with every protocol.
                let usual = p.election_timeout.is_some() || p.default_lease_ttl == USUAL_LEASE;
                let upstream = if usual { "" } else { " upstream" };
                let (own, notices) = (own.collect::<String>(), notices::short(p));
                (p.name.to_owned(), format!("{} ({token}; {timers}{own}{upstream}; {notices})", p.about))
            };
            registry.plans.named().map(about).collect()
        }
        Listing::Faults => generate::kinds().map(|(name, about)| plain(name, about)).collect(),
        Listing::Invariants => registry.invariants.iter().map(|i| plain(i.name, i.about)).collect(),
        Listing::Works => registry.plans.works.iter().map(|work| plain(work.name, work.about)).collect(),
        Listing::Parameters => {
            let row =
                |(owner, parameter): (&str, &Parameter)| (format!("{owner}.{}", parameter.name), described(parameter));
            let owners = registry.plans.owners();
            let all = owners.iter().flat_map(|(owner, of)| of.iter().map(|parameter| row((*owner, parameter))));
            all.collect()
        }
        Listing::Networks => params::PROFILES.iter().map(|p| plain(p.name, p.about)).collect(),
        Listing::Bugs => registry.plans.bugs.iter().map(|bug| plain(bug.id, bug.what)).collect(),
        Listing::All => Vec::new(),
    }
}
