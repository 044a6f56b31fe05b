//! What an election costs in messages: electors alone on a silent network, which loses nothing, keeps the order of each
//! link, and takes the same time for every message.
//!
//! This is the setting of the literature's counts. Nobody leads. The *initiators* begin at once: the first timer that each
//! set when it started fires, whatever that elector takes it for (a leader's silence, an election timeout). Everybody else
//! sleeps until a message reaches it (Tel, "Introduction to Distributed Algorithms", chapter 7): its clock stands still, so
//! that no timer of its own makes it begin. The count ends when one candidate leads, every other one that is up follows it,
//! and nothing is under way any more.

use super::{
    Bench,
    event::{Event, Number, Step},
};
use crate::{
    election::{Protocol, Setup},
    elector::{AnyElector, Output},
    payload::Payload,
    types::NodeId,
};
use std::collections::BTreeMap;

/// Longer than this no election takes here, in leases.
const LEASES_MAX: u64 = 100;
/// More messages than this no election costs.
const MESSAGES_MAX: u64 = 1_000_000;

/// What an election took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Election {
    /// Who won.
    pub leader: NodeId,
    /// Messages sent, by kind.
    pub messages: BTreeMap<&'static str, u64>,
    /// The longest chain of messages, each sent upon the arrival of the one before, until all agreed.
    pub rounds: u64,
}

/// Why an election was not counted.
#[allow(missing_docs, reason = "each says itself")]
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Uncounted {
    #[error("`{0}` does not elect by messages that candidates send each other")]
    ByService(&'static str),
    #[error("nobody begins: name at least one initiator")]
    NobodyBegins,
    #[error("candidate {0} cannot begin: it is down, or there are fewer candidates")]
    CannotBegin(u16),
    #[error("every candidate of `{0}` begins as soon as it starts: all must be initiators")]
    AllBegin(&'static str),
    #[error("a candidate of `{0}` sets no timer when it starts: it cannot be told to begin")]
    NoTimer(&'static str),
    #[error("candidates of `{0}` fell silent and do not agree")]
    Silent(&'static str),
    #[error("candidates of `{0}` did not agree within {LEASES_MAX} leases")]
    TooLong(&'static str),
    #[error("a candidate of `{protocol}` breaks a rule of electors: {rule}")]
    Broken { protocol: &'static str, rule: String },
    #[error("an election that needs more than candidates and messages is not counted")]
    NeedsMore,
}

/// Who takes part.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// How many candidates there are.
    pub candidates: u16,
    /// Those who begin.
    pub initiators: &'a [NodeId],
    /// Those who are down: what is sent to them is lost.
    pub down: &'a [NodeId],
}

/// What an election of `protocol` costs among so many candidates, all of them up, with the protocol's own timings.
///
/// # Errors
/// One sentence: the protocol's candidates do not elect by messages among themselves, nobody can be told to begin, or they
/// did not come to agree.
pub fn messages(protocol: &Protocol, candidates: u16, initiators: &[NodeId]) -> Result<Election, Uncounted> {
    elect(protocol, protocol.elector, Group { candidates, initiators, down: &[] })
}

/// As [`messages`], of electors that `make` makes, with `protocol`'s timings.
///
/// # Errors
/// As [`messages`].
pub fn elect(
    protocol: &Protocol,
    make: impl Fn(Setup) -> Box<AnyElector> + Send + Sync + 'static,
    group: Group<'_>,
) -> Result<Election, Uncounted> {
    let name = protocol.name;
    if !protocol.service.is_none() {
        return Err(Uncounted::ByService(name));
    }
    if group.initiators.is_empty() {
        return Err(Uncounted::NobodyBegins);
    }
    if let Some(node) = group.initiators.iter().find(|n| n.0 >= group.candidates || group.down.contains(n)) {
        return Err(Uncounted::CannotBegin(node.0));
    }
    let mut count = Count::new(protocol, make, group);
    count.start(name, group)?;
    count.run(name)
}

/// The bench, and what has been counted at it.
struct Count {
    bench: Bench,
    time_max: u64,
    /// Those who are down.
    down: Vec<NodeId>,
    sent: u64,
    messages: BTreeMap<&'static str, u64>,
    /// The longest chain of messages that ends at each node, and with each message under way.
    depths: Vec<u64>,
    chains: BTreeMap<Number, u64>,
}

impl Count {
    fn new(
        protocol: &Protocol,
        make: impl Fn(Setup) -> Box<AnyElector> + Send + Sync + 'static,
        group: Group<'_>,
    ) -> Self {
        let timings = protocol.default_timings();
        let of_its_own = move |setup: Setup| make(Setup { nonce: u64::from(setup.node.0) << 32, ..setup });
        let mut bench = Bench::new(group.candidates, timings, 0, of_its_own);
        bench.nodes().for_each(|node| bench.seat_mut(node).clock.stands = true);
        Count {
            bench,
            time_max: LEASES_MAX * timings.lease_ttl,
            down: group.down.to_vec(),
            sent: 0,
            messages: BTreeMap::new(),
            depths: vec![0; group.candidates.into()],
            chains: BTreeMap::new(),
        }
    }

    /// Everybody starts; the initiators' first timers are due.
    fn start(&mut self, name: &'static str, group: Group<'_>) -> Result<(), Uncounted> {
        for node in self.bench.nodes().filter(|node| !group.down.contains(node)) {
            let step = self.bench.start(node);
            self.note(step)?;
        }
        // Some begin as soon as they start.
        let have_begun = self.sent > 0;
        let all_begin = self.bench.nodes().all(|node| group.down.contains(&node) || group.initiators.contains(&node));
        if have_begun && !all_begin {
            return Err(Uncounted::AllBegin(name));
        }
        for initiator in group.initiators {
            let seat = self.bench.seat_mut(*initiator);
            let first = seat.timers().values().min().copied();
            match first {
                _ if have_begun => seat.clock.start(0, 0),
                Some(first) => seat.clock.start(0, first),
                None => return Err(Uncounted::NoTimer(name)),
            }
        }
        Ok(())
    }

    fn run(mut self, name: &'static str) -> Result<Election, Uncounted> {
        let mut rounds = None;
        loop {
            if let Some(leader) = self.agreed() {
                let rounds = *rounds.get_or_insert_with(|| self.depths.iter().copied().max().unwrap_or(0));
                if self.bench.messages_under_way() == 0 {
                    return Ok(Election { leader, messages: self.messages, rounds });
                }
            } else {
                rounds = None;
            }
            let Some(step) = self.bench.next(u64::MAX) else {
                return Err(Uncounted::Silent(name));
            };
            self.note(step)?;
            if let Some(rule) = self.bench.broken() {
                return Err(Uncounted::Broken { protocol: name, rule: rule.to_string() });
            }
            if self.bench.now() > self.time_max || self.sent > MESSAGES_MAX {
                return Err(Uncounted::TooLong(name));
            }
        }
    }

    /// Who leads, if all who are up say the same.
    fn agreed(&self) -> Option<NodeId> {
        let believers = self.bench.believers();
        let [leader] = believers[..] else { return None };
        let follows = |node| self.bench.seat(node).observed() == Some(leader);
        let agrees = |node| self.down.contains(&node) || node == leader || follows(node);
        self.bench.nodes().all(agrees).then_some(leader)
    }

    /// Counts what a step has brought.
    fn note(&mut self, step: Step<Box<AnyElector>>) -> Result<(), Uncounted> {
        if let Event::Arrived { node, number } = step.event {
            let chain = self.chains.remove(&number).unwrap_or(0);
            self.depths[node.index()] = self.depths[node.index()].max(chain);
        }
        for output in &step.outputs {
            match output {
                Output::Send { message, .. } => {
                    self.sent += 1;
                    *self.messages.entry(message.kind()).or_default() += 1;
                }
                Output::Service(_) | Output::PowerOff { .. } => {
                    return Err(Uncounted::NeedsMore);
                }
                _ => {}
            }
        }
        if let Some(node) = step.node() {
            let depth = self.depths[node.index()] + 1;
            self.chains.extend(step.sent.map(|number| (number, depth)));
        }
        Ok(())
    }
}
