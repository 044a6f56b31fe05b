//! Measures how long elections take and how many messages they need: the leader is killed under light load, over many
//! seeds.

use crate::{
    error::Failed,
    registry::Registry,
    run::{self, Options, Run},
    seeds,
};
use protocols::{bench::silent, election::Protocol, types::NodeId};
use reports::plot::{
    election_cdf::{Curve, Spread},
    message_counts::{How, Point},
};
use reports::timeline::{Ended, Leader};
use scenarios::{
    Params, Plan,
    fault::{Fault, Trigger},
    plan::Invalid,
    scenario,
};
use std::{collections::BTreeMap, ops::Range};

/// Requests per second: an election needs none.
const RATE: u64 = 20;

/// The times of one protocol's elections; `done` is called after each run.
///
/// # Errors
/// The parameters make no sense, or a run could not be finished.
pub fn curve(
    registry: &Registry,
    params: &Params,
    protocol: &'static Protocol,
    seeds: Range<u64>,
    jobs: usize,
    done: impl Fn() + Sync,
) -> Result<Curve, Failed> {
    let one = |seed| {
        let options = Options { registry: registry.clone(), timeline: true, ..Options::default() };
        let run = run::run(&killed(params, protocol, seed)?, options)?;
        let election_ms = vacancy(&run).map(|(from_us, to_us)| (to_us - from_us) as f64 / 1e3);
        Ok::<_, Failed>((election_ms, run.judgement.metrics.messages_by_kind))
    };
    let runs = seeds::each(seeds, jobs, one, done)?;
    let timings = params.timings(protocol);
    let times: Vec<f64> = runs.iter().filter_map(|(election_ms, _)| *election_ms).collect();
    let censored = (runs.len() - times.len()) as u64;
    let by_kind: Vec<_> = runs.into_iter().map(|(_, by_kind)| by_kind).collect();
    let curve = Curve::new(protocol.name, timings.election_timeout_ms, params.granted_ttl_ms(protocol), times);
    Ok(Curve { censored, messages_by_kind: spreads(&by_kind), ..curve })
}

/// The messages of one election by kind: exact if the protocol's electors can be stepped on a silent network, otherwise
/// averaged over the seeds.
///
/// # Errors
/// The parameters make no sense, a run could not be finished, or this protocol's messages are not counted.
pub fn messages(
    registry: &Registry,
    params: &Params,
    protocol: &'static Protocol,
    seeds: Range<u64>,
    jobs: usize,
    done: impl Fn() + Sync,
) -> Result<Point, Failed> {
    if let Some(point) = exact(protocol, params.nodes) {
        (seeds.start..seeds.end).for_each(|_| done());
        return Ok(point);
    }
    let counted = seeds::each(seeds, jobs, |seed| of_one_election(registry, params, protocol, seed), done)?;
    let counted: Vec<_> = counted.into_iter().flatten().filter(|by_kind| !by_kind.is_empty()).collect();
    if counted.is_empty() {
        let name = protocol.name;
        return Err(Failed::Invalid(Invalid(format!(
            "no message of `{name}` was counted; take a protocol whose candidates elect among themselves"
        ))));
    }
    Ok(Point::new(protocol.name, params.nodes, How::Runs, &counted))
}

/// The mean over single initiators, and the count when all begin at once; `None` if the protocol cannot be counted.
fn exact(protocol: &'static Protocol, nodes: u16) -> Option<Point> {
    let all: Vec<NodeId> = (0..nodes).map(NodeId).collect();
    let count = |initiators: &[NodeId]| {
        let election = silent::messages(protocol, nodes, initiators).ok()?;
        Some(election.messages.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect())
    };
    let one: Vec<BTreeMap<String, u64>> = all.iter().map(|node| count(&[*node])).collect::<Option<_>>()?;
    let point = (!one.is_empty()).then(|| Point::new(protocol.name, nodes, How::Exact, &one))?;
    Some(Point { all_at_once: count(&all), ..point })
}

/// The messages that candidates sent from the death of the leader until all can have heard of the next one; `None` if
/// there was none.
///
/// A run counts its messages once, at its end. A shorter plan repeats the same run up to its end, so the difference of
/// two shorter runs counts the messages between their ends.
fn of_one_election(
    registry: &Registry,
    params: &Params,
    protocol: &Protocol,
    seed: u64,
) -> Result<Option<BTreeMap<String, u64>>, Failed> {
    let options = || Options { registry: registry.clone(), ..Options::default() };
    let mut plan = killed(params, protocol, seed)?;
    for fault in &mut plan.faults {
        if let (Trigger::At { ms }, Fault::Kill { restart_after_ms, .. }) = (&mut fault.when, &mut fault.what) {
            // Runs end at whole milliseconds, and a node that came back meanwhile would ask who leads.
            (*ms, *restart_after_ms) = (ms.trunc(), None);
        }
    }
    let whole = run::run(&plan, Options { timeline: true, ..options() })?;
    let Some((from_us, to_us)) = vacancy(&whole) else { return Ok(None) };
    let heard_us = (u64::from(params.nodes) + 1) * plan.network.one_way_max_us();
    let until = |us: u64| {
        let plan = Plan { duration_ms: us.div_ceil(1_000), ..plan.clone() };
        run::run(&plan, options()).map(|run| run.judgement.metrics.messages_by_kind)
    };
    let (before, mut sent) = (until(from_us)?, until(to_us + heard_us)?);
    for (kind, n) in before {
        if let Some(sent) = sent.get_mut(&kind) {
            *sent -= n.min(*sent);
        }
    }
    sent.retain(|_, n| *n > 0);
    Ok(Some(sent))
}

fn killed(params: &Params, protocol: &Protocol, seed: u64) -> Result<Plan, Failed> {
    let kill = scenario::find("clean-kill").ok_or("there is no scenario clean-kill")?;
    Ok(kill.compile(&Params { rate: RATE, ..params.clone() }, protocol, seed)?)
}

/// From the first death of a leader to the next election, in microseconds. A kill that finds nobody leading strikes the
/// next leader in the microsecond of its election, which is not a successor's.
fn vacancy(run: &Run) -> Option<(u64, u64)> {
    between(run.highlights.as_ref()?.leaders())
}

fn between(leaders: &[Leader]) -> Option<(u64, u64)> {
    let died = leaders.iter().filter_map(|l| Some((l.ended.filter(|(_, why)| *why == Ended::Died)?.0, l.incarnation)));
    let (from_us, dead) = died.min_by_key(|(t_us, _)| *t_us)?;
    let others = leaders.iter().filter(|l| l.incarnation != dead);
    let to_us = others.filter_map(|l| l.elected_us).filter(|t_us| *t_us >= from_us).min()?;
    Some((from_us, to_us))
}

/// The spread of each kind over the runs; a run without a kind counts as zero.
fn spreads(runs: &[BTreeMap<String, u64>]) -> BTreeMap<String, Spread> {
    let mut spreads: BTreeMap<String, Spread> = BTreeMap::new();
    for kind in runs.iter().flat_map(BTreeMap::keys) {
        if !spreads.contains_key(kind) {
            let counts = || runs.iter().map(|run| run.get(kind).copied().unwrap_or(0));
            let mean = counts().sum::<u64>() as f64 / runs.len() as f64;
            let (min, max) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
            spreads.insert(kind.clone(), Spread { mean, min, max });
        }
    }
    spreads
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::types::Incarnation;

    #[test]
    fn who_dies_as_it_is_elected_is_not_its_own_successor() {
        let leader = |node, elected_us, ended| Leader {
            incarnation: Incarnation { token: elected_us, node: NodeId(node), generation: 1 },
            elected_us: Some(elected_us),
            first_us: None,
            last_us: None,
            accepted: 0,
            stale: 0,
            refused: 0,
            ended,
            left_open: false,
        };
        let leaders = [leader(0, 100, Some((900, Ended::Died))), leader(1, 1_300, None)];
        assert_eq!(between(&leaders), Some((900, 1_300)));
        let leaders = [leader(0, 900, Some((900, Ended::Died))), leader(1, 1_300, None)];
        assert_eq!(between(&leaders), Some((900, 1_300)));
        assert_eq!(between(&leaders[..1]), None);
    }
}
