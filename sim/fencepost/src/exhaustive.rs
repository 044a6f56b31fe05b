//! Every send of every process until the first leader could have been replaced: each is stopped there for each of a few
//! lengths, in a run of its own. And once another has taken over from a stopped leader, a second process is stopped.

use crate::{
    Failure,
    failure::Kind,
    scenarios::EXHAUSTIVE,
    tempo::{Send, Tempo},
};
use protocols::history::{Fact, Requirement};
use scenarios::{Plan, scenario::program::paused_before_send};
use sim::exhaustive::evenly;
use std::{collections::HashMap, fmt};

/// How much shorter than the soonest takeover, and longer than the longest, two of the pauses are, ms.
const EPSILON_MS: f64 = 100.0;
/// The most sends before which processes are stopped; of more, so many are evenly chosen.
const SENDS_MAX: u64 = 1_000;
/// The most first pauses that are followed by a second.
const FIRST_MAX: u64 = 100;

/// What an exhaustive search covered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Exhausted {
    /// The sends before which a process was stopped.
    pub sends: u64,
    /// All sends of all processes until the first leader could have been replaced.
    pub of_sends: u64,
    /// For how many lengths each.
    pub lengths: u64,
    /// Second pauses that were run: after a pause of the leader for so long that another takes over.
    pub pairs: u64,
    /// All of them.
    pub of_pairs: u64,
    /// Runs in which each of the pauses struck.
    pub struck: u64,
    /// Runs in which a leader was stopped, and another took effect.
    pub succeeded: u64,
}

/// A send by its process's number, from 1, and when.
type Numbered<'a> = (u64, &'a Send);

/// The sends of a run, each with its number among those of its process.
fn numbered(sent: &[Send]) -> impl Iterator<Item = Numbered<'_>> {
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    sent.iter().map(move |send| {
        let number = numbers.entry(&send.by).or_default();
        *number += 1;
        (*number, send)
    })
}

fn chosen<T: Copy>(all: &[T], most: u64) -> Vec<T> {
    let runs = most.min(all.len() as u64);
    (0..runs).map(|place| all[evenly(place, runs, all.len() as u64) as usize]).collect()
}

fn lengths_ms(tempo: &Tempo) -> Vec<f64> {
    let Tempo { soonest_ms, takeover_ms, .. } = *tempo;
    let mut lengths =
        vec![(soonest_ms - EPSILON_MS).max(1.0), soonest_ms, takeover_ms, takeover_ms + EPSILON_MS, 3.0 * takeover_ms];
    lengths.dedup();
    lengths
}

/// The plan with another pause.
fn pause(plan: Plan, tempo: &Tempo, (number, send): Numbered<'_>, for_ms: f64) -> Plan {
    let pauses = plan.faults.len() as u64 + 1;
    let ends_ms = (send.at_ms + for_ms + 2.0 * tempo.takeover_ms).ceil() as u64 + 3_000;
    let duration_ms = ends_ms.max(if pauses > 1 { plan.duration_ms } else { 0 });
    let leads = send.by == tempo.leader && send.at_ms > tempo.acted_ms;
    // Of two, the other may be the one that would have taken over.
    let leaders = if pauses == 1 && leads && for_ms > tempo.takeover_ms + EPSILON_MS { 2 } else { 1 };
    let requires = [(Fact::Pauses, pauses), (Fact::LeadersTookEffect, leaders)]
        .map(|(fact, at_least)| Requirement { fact, at_least });
    Plan { duration_ms, requires: requires.into(), ..paused_before_send(plan, &send.by, number, None, for_ms) }
}

fn needs_another(plan: &Plan) -> bool {
    plan.requires.iter().any(|required| required.fact == Fact::LeadersTookEffect && required.at_least > 1)
}

/// The plans, from one in which nothing happens: single pauses, and at most so many second ones, evenly chosen; `sends_of`
/// runs a plan, and gives what its processes sent.
pub fn plans(
    quiet: Plan,
    tempo: &Tempo,
    pairs: u64,
    sends_of: impl Fn(&Plan) -> Result<Vec<Send>, Failure>,
) -> Result<(Vec<Plan>, Exhausted), Failure> {
    let quiet = Plan { scenario: EXHAUSTIVE.name.to_owned(), ..quiet };
    let until_ms = tempo.replaced_ms();
    let all: Vec<Numbered<'_>> = numbered(&tempo.sent).take_while(|(_, send)| send.at_ms <= until_ms).collect();
    let (sends, lengths) = (chosen(&all, SENDS_MAX), lengths_ms(tempo));
    let single = |send: &Numbered<'_>| lengths.iter().map(|ms| pause(quiet.clone(), tempo, *send, *ms)).collect();
    let mut plans: Vec<Plan> = sends.iter().flat_map::<Vec<Plan>, _>(single).collect();
    // Each send has as many plans as there are lengths.
    let stopped = plans.iter().enumerate().map(|(place, plan)| (sends[place / lengths.len()], plan));
    let first: Vec<(Numbered<'_>, &Plan)> = stopped.filter(|(_, plan)| pairs > 0 && needs_another(plan)).collect();
    let mut second = Vec::new();
    for (stopped, first) in chosen(&first, FIRST_MAX) {
        let sent = sends_of(first)?;
        let until_ms = first.duration_ms as f64 - 3_000.0 - tempo.takeover_ms;
        for send in after(stopped, &sent).take_while(|(_, send)| send.at_ms <= until_ms) {
            second.extend(lengths.iter().map(|ms| pause(first.clone(), tempo, send, *ms)));
        }
    }
    let exhausted = Exhausted {
        sends: sends.len() as u64,
        of_sends: all.len() as u64,
        lengths: lengths.len() as u64,
        pairs: pairs.min(second.len() as u64),
        of_pairs: second.len() as u64,
        ..Exhausted::default()
    };
    let second: Vec<&Plan> = second.iter().collect();
    plans.extend(chosen(&second, pairs).into_iter().cloned());
    Ok((plans, exhausted))
}

/// The sends of a run after the one before which its process was stopped. They come in each run that differs only by what
/// happens later.
fn after<'a>(stopped: Numbered<'_>, sent: &'a [Send]) -> impl Iterator<Item = Numbered<'a>> {
    let (number, by) = (stopped.0, stopped.1.by.clone());
    numbered(sent).skip_while(move |(nth, send)| *nth != number || send.by != by).skip(1)
}

impl Exhausted {
    /// Counts a run of such a plan that held; `shows` if everything that it requires arose.
    pub(crate) fn add(&mut self, plan: &Plan, shows: bool) {
        self.struck += u64::from(shows);
        self.succeeded += u64::from(shows && needs_another(plan));
    }

    /// Where nobody ever led after the first leader, nothing could have gone wrong.
    pub(crate) fn anything(&self) -> Result<(), Failure> {
        let why = "INCONCLUSIVE: exhaustive shows nothing: no pause of the leader led to another";
        if self.succeeded > 0 { Ok(()) } else { Err(Failure::new(Kind::Inconclusive, why.to_owned())) }
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exhausted { sends, of_sends, lengths, pairs, of_pairs, struck, succeeded } = self;
        write!(
            f,
            "{sends} of {of_sends} sends of all processes, stopped for each of {lengths} lengths, and {pairs} of {of_pairs} second \
             pauses after a takeover; all struck in {struck} runs, and in {succeeded} another took over from the only one stopped"
        )
    }
}
