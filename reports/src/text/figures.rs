//! A run's figures, in words.

use crate::{
    Metrics,
    json::RunFacts,
    words::{duration, grouped},
};
use protocols::history::Header;
use std::collections::BTreeMap;

/// How many kinds of messages are listed.
const KINDS_MAX: usize = 6;
/// The value of an empty list of times.
const NONE: &str = "none";

/// The figures in a short report: how the run went, and what became of work that had to be handed over.
pub(super) const BRIEF: [&str; 15] = [
    "elections",
    "failover time",
    "dark time",
    "writes accepted",
    "writes refused for their token",
    "acknowledged and lost",
    "copies differed for",
    "items of the work-set done",
    "of them done again",
    "items left out",
    "work-set stood still for",
    "items done outside",
    "of them done twice",
    "items passed over",
    "a cache was set back for",
];

/// A list of times: each if they are few, otherwise their distribution.
fn times(values_ms: &[f64]) -> String {
    let say = |ms: f64| duration(ms * 1000.0);
    match values_ms {
        [] => NONE.to_owned(),
        few if few.len() <= 3 => few.iter().map(|ms| say(*ms)).collect::<Vec<_>>().join(", "),
        many => {
            let mut sorted = many.to_vec();
            sorted.sort_by(f64::total_cmp);
            let [least, median, most] = [0, sorted.len() / 2, sorted.len() - 1].map(|place| say(sorted[place]));
            format!("{} times, {least} to {most}, median {median}", many.len())
        }
    }
}

/// Message counts: the most frequent kinds, and the total of all others.
fn by_kind(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    counts.sort_by_key(|(kind, n)| (std::cmp::Reverse(*n), *kind));
    let shown = if counts.len() > KINDS_MAX { KINDS_MAX - 1 } else { counts.len() };
    let (most, others) = counts.split_at(shown);
    let others: u64 = others.iter().map(|(_, n)| n).sum();
    let mut words: Vec<_> = most.iter().map(|(kind, n)| format!("{} {kind}", grouped(*n))).collect();
    if others > 0 {
        words.push(format!("{} of other kinds", grouped(others)));
    }
    words.join(", ")
}

/// The cost of hand-overs for the leader's work-set, if it has one.
fn work_set(m: &Metrics) -> Vec<(&'static str, String)> {
    let (Some(done), Some(again), Some(skipped)) = (m.work_done, m.work_redone, m.work_skipped) else {
        return Vec::new();
    };
    let stalled = m.work_stalled_ms_max.map(|ms| ("work-set stood still for", duration(ms * 1000.0)));
    let rows = [
        ("items of the work-set done", grouped(done)),
        ("of them done again", grouped(again)),
        ("items left out", grouped(skipped)),
    ];
    rows.into_iter().chain(stalled).collect()
}

/// Counts of external effects, if there are any.
fn outside(m: &Metrics) -> Vec<(&'static str, String)> {
    let (Some(done), Some(again), Some(left_out)) = (m.effects_done, m.effects_repeated, m.effects_left_out) else {
        return Vec::new();
    };
    vec![
        ("external effects", grouped(done)),
        ("of them done twice", grouped(again)),
        ("items passed over", grouped(left_out)),
    ]
}

/// Who led and who wrote. See [`of`].
fn leading(m: &Metrics, whole: bool) -> Vec<(&'static str, String)> {
    let ms = |ms: f64| duration(ms * 1000.0);
    let most = match m.by_turns {
        true => "not known".to_owned(),
        false => grouped(m.leaders_acting_by_effect_max),
    };
    let mut rows = vec![("leaders taking effect at once", most)];
    if whole || m.leaders_believing_max > 0 {
        rows.push(("nodes believing at once", grouped(m.leaders_believing_max)));
        rows.push(("dual belief", ms(m.dual_belief_ms)));
        if m.dual_belief_ms > 0.0 {
            rows.push(("while awake", ms(m.dual_belief_awake_ms)));
        }
    }
    rows.extend((whole || m.elections > 0).then(|| ("elections", grouped(m.elections))));
    if whole {
        rows.push(("unnecessary failovers", grouped(m.false_failovers)));
        rows.push(("failovers caused by a pause", grouped(m.avoidable_failovers)));
    }
    rows.push(("writes accepted", grouped(m.writes_accepted)));
    rows.push(("writes refused for their token", grouped(m.writes_fenced)));
    rows.extend((whole || m.writes_unknown > 0).then(|| ("writes of unknown outcome", grouped(m.writes_unknown))));
    rows.push(("numbers skipped", grouped(m.seq_gaps)));
    rows
}

/// How long elections and hand-overs took. See [`of`].
fn changes(m: &Metrics, whole: bool) -> impl Iterator<Item = (&'static str, String)> {
    let failover = match m.failover_censored {
        0 => times(&m.failover_ms),
        n => format!("{}; {n} never recovered", times(&m.failover_ms)),
    };
    let rows = [
        ("failover time", failover),
        ("election time", times(&m.election_time_ms)),
        ("election latency", times(&m.election_latency_ms)),
        ("handoff gap, by effect", times(&m.handoff_effect_gap_ms)),
        ("handoff gap, by intent", times(&m.handoff_intent_gap_ms)),
    ];
    rows.into_iter().filter(move |(_, value)| whole || value != NONE)
}

/// Labels and values of all figures. For a log without a header (`whole` is false), only those that it can know: a log
/// that reports no beliefs does not show that nobody believed.
pub(super) fn of(m: &Metrics, facts: &RunFacts, header: Option<&Header>) -> Vec<(String, String)> {
    let whole = header.is_some();
    let ms = |ms: f64| duration(ms * 1000.0);
    let mut rows = leading(m, whole);
    if let Some(copies) = &m.copies {
        rows.push(("acknowledged and lost", grouped(copies.writes_lost)));
        rows.push(("copies differed for", ms(copies.diverged_ms)));
    }
    if m.leaders_acting_by_effect_max > 1 {
        rows.push(("dual effect", ms(m.dual_effect_ms)));
    }
    if m.reads_answered > 0 {
        rows.push(("reads answered", grouped(m.reads_answered)));
        rows.push(("stale reads", grouped(m.reads_stale)));
    }
    if let Some(dark_ms) = m.dark_ms {
        rows.push(("dark time", ms(dark_ms)));
        rows.extend(m.availability.map(|a| ("available", format!("{:.3} %", a * 100.0))));
    }
    rows.extend(changes(m, whole));
    rows.extend(work_set(m));
    rows.extend(outside(m));
    rows.extend(m.cache_stale_ms.map(|stale_ms| ("a cache was set back for", ms(stale_ms))));
    if m.messages > 0 {
        rows.push(("messages", grouped(m.messages)));
    }
    if !m.messages_by_kind.is_empty() {
        rows.push(("contested elections", grouped(m.contested_elections)));
        rows.push(("election messages", by_kind(&m.messages_by_kind)));
    }
    if let Some(asked) = m.requests_to_service {
        let peak = m.requests_to_service_in_one_second_max.zip(m.requests_to_service_in_ten_ms_max);
        let peak = peak.map_or_else(String::new, |(second, burst)| {
            format!("; after the first fault at most {} in 1 s, {} in 10 ms", grouped(second), grouped(burst))
        });
        // If no process is a service, the candidates asked a library of their own.
        let of_service = header.is_none_or(|header| !header.services.is_empty());
        let whom = if of_service { "requests to the service" } else { "requests to the library" };
        rows.push((whom, grouped(asked) + &peak));
    }
    if let Some(events) = facts.events {
        rows.push(("events", grouped(events)));
    }
    if let Some(simulated_ms) = facts.simulated_ms {
        rows.push(("simulated time", duration(simulated_ms as f64 * 1000.0)));
    }
    if let Some(wall_ms) = facts.wall_ms {
        rows.push(("real time", duration(wall_ms as f64 * 1000.0)));
    }
    if let Some(hash) = &facts.trace_hash {
        rows.push(("trace hash", hash.clone()));
    }
    rows.into_iter().map(|(label, value)| (label.to_owned(), value)).collect()
}
