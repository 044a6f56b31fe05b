//! The message cost of an election: electors alone on a silent network, which loses nothing, keeps each link in order,
//! and delays all messages equally.
//!
//! This is the setting of the literature's counts. Nobody leads. The *initiators* begin at once: the first timer that
//! each set at its start fires, whatever its meaning (a leader's silence, an election timeout). All others sleep until
//! a message reaches them (Tel, "Introduction to Distributed Algorithms", chapter 7): their clocks stand still, so no
//! timer of theirs fires. The count ends when one candidate leads, all others that are up follow it, and nothing is
//! under way.

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

/// No election here takes longer, in leases.
const LEASES_MAX: u64 = 100;
/// No election here takes more messages.
const MESSAGES_MAX: u64 = 1_000_000;

/// The cost of an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Election {
    pub leader: NodeId,
    /// Messages sent, by kind.
    pub messages: BTreeMap<&'static str, u64>,
    /// The longest chain of messages until agreement, each sent on the arrival of the one before.
    pub rounds: u64,
}

/// Why an election's messages were not counted.
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
    #[error("the election needs more than candidates and messages, so it is not counted")]
    NeedsMore,
}

/// The participants.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The number of candidates.
    pub candidates: u16,
    /// The candidates that begin.
    pub initiators: &'a [NodeId],
    /// The candidates that are down; messages to them are lost.
    pub down: &'a [NodeId],
}

/// The cost of an election of `protocol` among `candidates` candidates, all up, with the protocol's own timings.
///
/// # Errors
/// One sentence: the candidates do not elect by exchanging messages, an initiator cannot be made to begin, or they
/// never agree.
pub fn messages(protocol: &Protocol, candidates: u16, initiators: &[NodeId]) -> Result<Election, Uncounted> {
    elect(protocol, protocol.elector, Group { candidates, initiators, down: &[] })
}

/// Like [`messages`], for the electors of `make`, with `protocol`'s timings.
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

/// The bench and its counts.
struct Count {
    bench: Bench,
    time_max: u64,
    /// The nodes that are down.
    down: Vec<NodeId>,
    sent: u64,
    messages: BTreeMap<&'static str, u64>,
    /// The longest chain of messages that ends at each node, and in each message under way.
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

    /// Starts all nodes, and makes the initiators' first timers due.
    fn start(&mut self, name: &'static str, group: Group<'_>) -> Result<(), Uncounted> {
        for node in self.bench.nodes().filter(|node| !group.down.contains(node)) {
            let step = self.bench.start(node);
            self.note(step)?;
        }
        // Some protocols' candidates begin as soon as they start.
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

    /// The leader, if all nodes that are up agree on it.
    fn agreed(&self) -> Option<NodeId> {
        let believers = self.bench.believers();
        let [leader] = believers[..] else { return None };
        let follows = |node| self.bench.seat(node).observed() == Some(leader);
        let agrees = |node| self.down.contains(&node) || node == leader || follows(node);
        self.bench.nodes().all(agrees).then_some(leader)
    }

    /// Counts the effects of a step.
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
