//! What an election costs in messages: electors alone on a silent network, which loses nothing, keeps the order of each
//! link, and takes the same time for every message.
//!
//! This is the setting of the literature's counts. Nobody leads. The *initiators* begin at once: the first timer that each
//! set when it started fires, whatever that elector takes it for (a leader's silence, an election timeout). Everybody else
//! sleeps until a message reaches it (Tel, "Introduction to Distributed Algorithms", chapter 7): its clock stands still, so
//! that no timer of its own makes it begin. The count ends when one candidate leads, every other one that is up follows it,
//! and nothing is under way any more.

use super::{Protocol, Setup, Timings};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{AnyElector, Input, Output},
    payload::{Opaque, Payload},
    types::{MICROSECOND, NodeId, SECOND},
};
use std::collections::BTreeMap;

/// From sending to arrival, nanoseconds: nothing next to any protocol's timers.
const DELAY: u64 = MICROSECOND;
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
pub fn messages(protocol: &Protocol, candidates: u16, initiators: &[NodeId]) -> Result<Election, String> {
    elect(protocol, protocol.elector, Group { candidates, initiators, down: &[] })
}

/// As [`messages`], of electors that `make` makes, with `protocol`'s timings.
///
/// # Errors
/// As [`messages`].
pub fn elect(
    protocol: &Protocol,
    make: impl Fn(Setup) -> Box<AnyElector>,
    group: Group<'_>,
) -> Result<Election, String> {
    let name = protocol.name;
    if !protocol.service.is_none() {
        return Err(format!("`{name}` does not elect by messages that candidates send each other"));
    }
    if group.initiators.is_empty() {
        return Err("nobody begins: name at least one initiator".to_owned());
    }
    if let Some(node) = group.initiators.iter().find(|n| n.0 >= group.candidates || group.down.contains(n)) {
        return Err(format!("candidate {} cannot begin: it is down, or there are fewer candidates", node.0));
    }
    let mut network = Network::new(protocol, make, group);
    network.start(name, group)?;
    network.run(name)
}

fn timings(protocol: &Protocol) -> Timings {
    let lease_ttl = (protocol.granted_ttl)(protocol.default_lease_ttl);
    Timings {
        lease_ttl,
        renew_interval: (protocol.renew_interval)(lease_ttl),
        request_timeout: (lease_ttl / 3).min(SECOND),
        election_timeout: protocol.election_timeout,
    }
}

struct Node {
    elector: Box<AnyElector>,
    /// It is up, and has begun or received something.
    awake: bool,
    up: bool,
    /// What its clock is ahead of the network's; as long as it sleeps, its clock shows 0.
    ahead: i128,
    timers: BTreeMap<TimerId, u64>,
    believes: bool,
    follows: Option<NodeId>,
    /// The longest chain of messages that ends here.
    depth: u64,
}

impl Node {
    fn now(&self, time: u64) -> Now {
        let mono = if self.awake { (i128::from(time) + self.ahead).max(0) as u64 } else { 0 };
        Now { mono, wall: mono }
    }

    /// Its next timer, and when it fires on the network's clock.
    fn due(&self) -> Option<(u64, TimerId)> {
        let (at, id) = self.timers.iter().map(|(id, at)| (*at, *id)).min().filter(|_| self.awake)?;
        Some(((i128::from(at) - self.ahead).max(0) as u64, id))
    }
}

struct Sent {
    from: NodeId,
    to: NodeId,
    message: Opaque,
    depth: u64,
}

struct Network {
    time: u64,
    time_max: u64,
    nodes: Vec<Node>,
    /// By arrival, then by when they were sent.
    under_way: BTreeMap<(u64, u64), Sent>,
    sent: u64,
    messages: BTreeMap<&'static str, u64>,
}

impl Network {
    fn new(protocol: &Protocol, make: impl Fn(Setup) -> Box<AnyElector>, group: Group<'_>) -> Self {
        let names: Vec<_> = (1..=group.candidates).map(|number| format!("n{number}")).collect();
        let timings = timings(protocol);
        let node = |node: NodeId| Node {
            elector: make(Setup {
                group: 0,
                node,
                names: names.clone(),
                timings,
                nonce: u64::from(node.0) << 32,
                stored: None,
                service: Vec::new(),
                bugs: Default::default(),
            }),
            awake: false,
            up: !group.down.contains(&node),
            ahead: 0,
            timers: BTreeMap::new(),
            believes: false,
            follows: None,
            depth: 0,
        };
        Network {
            time: 0,
            time_max: LEASES_MAX * timings.lease_ttl,
            nodes: (0..group.candidates).map(|n| node(NodeId(n))).collect(),
            under_way: BTreeMap::new(),
            sent: 0,
            messages: BTreeMap::new(),
        }
    }

    /// Everybody starts; the initiators' first timers are due.
    fn start(&mut self, name: &str, group: Group<'_>) -> Result<(), String> {
        for index in 0..self.nodes.len() {
            if self.nodes[index].up {
                self.step(index, Input::Start)?;
            }
        }
        // Some begin as soon as they start.
        let have_begun = self.sent > 0;
        let all_begin = self.nodes.iter().zip(0..).all(|(node, n)| !node.up || group.initiators.contains(&NodeId(n)));
        if have_begun && !all_begin {
            return Err(format!("every candidate of `{name}` begins as soon as it starts: all must be initiators"));
        }
        for initiator in group.initiators {
            let node = &mut self.nodes[initiator.index()];
            node.awake = true;
            match node.timers.values().min() {
                _ if have_begun => {}
                Some(first) => node.ahead = i128::from(*first),
                None => {
                    return Err(format!(
                        "a candidate of `{name}` sets no timer when it starts: it cannot be told to begin"
                    ));
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, name: &str) -> Result<Election, String> {
        let mut rounds = None;
        loop {
            if let Some(leader) = self.agreed() {
                let rounds = *rounds.get_or_insert_with(|| self.nodes.iter().map(|n| n.depth).max().unwrap_or(0));
                if self.under_way.is_empty() {
                    return Ok(Election { leader, messages: std::mem::take(&mut self.messages), rounds });
                }
            } else {
                rounds = None;
            }
            let message = self.under_way.keys().next().copied();
            let nodes = self.nodes.iter().enumerate();
            let timer = nodes.filter_map(|(index, n)| n.due().map(|(at, id)| (at, index, id))).min();
            match (message, timer) {
                // What has arrived goes before what is due.
                (Some(key), timer) if timer.is_none_or(|(at, ..)| key.0 <= at) => {
                    self.time = key.0;
                    if let Some(sent) = self.under_way.remove(&key) {
                        self.arrives(sent)?;
                    }
                }
                (_, Some((at, index, id))) => {
                    self.time = at.max(self.time);
                    self.nodes[index].timers.remove(&id);
                    self.step(index, Input::Timer(id))?;
                }
                (_, None) => return Err(format!("candidates of `{name}` fell silent and do not agree")),
            }
            if self.time > self.time_max || self.sent > MESSAGES_MAX {
                return Err(format!("candidates of `{name}` did not agree within {LEASES_MAX} leases"));
            }
        }
    }

    /// Who leads, if all who are up say the same.
    fn agreed(&self) -> Option<NodeId> {
        let mut leaders = self.nodes.iter().zip(0..).filter(|(node, _)| node.believes).map(|(_, n)| NodeId(n));
        let leader = leaders.next().filter(|_| leaders.next().is_none())?;
        let agree = |(node, n): (&Node, u16)| !node.up || NodeId(n) == leader || node.follows == Some(leader);
        self.nodes.iter().zip(0..).all(agree).then_some(leader)
    }

    fn arrives(&mut self, sent: Sent) -> Result<(), String> {
        let time = self.time;
        let node = &mut self.nodes[sent.to.index()];
        if !node.up {
            return Ok(());
        }
        if !std::mem::replace(&mut node.awake, true) {
            node.ahead = -i128::from(time);
        }
        node.depth = node.depth.max(sent.depth);
        self.step(sent.to.index(), Input::Peer { from: sent.from, message: sent.message })
    }

    /// Steps an elector, and again for each state that is durable at once.
    fn step(&mut self, index: usize, input: Input) -> Result<(), String> {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let node = &mut self.nodes[index];
            let mut outputs = Vec::new();
            node.elector.step(node.now(self.time), input, &mut outputs);
            for output in outputs {
                match output {
                    Output::Send { to, message } => self.send(NodeId(index as u16), to, message),
                    Output::SetTimer { id, at } => {
                        self.nodes[index].timers.insert(id, at);
                    }
                    Output::CancelTimer(id) => {
                        self.nodes[index].timers.remove(&id);
                    }
                    Output::Elected(_) => self.nodes[index].believes = true,
                    Output::Deposed(_) => self.nodes[index].believes = false,
                    Output::Observed(leader) => self.nodes[index].follows = leader,
                    Output::Persist(_) => inputs.push(Input::Persisted),
                    Output::Service(_) | Output::PowerOff { .. } => {
                        return Err(
                            "an election that needs more than candidates and messages is not counted".to_owned()
                        );
                    }
                    Output::Point(_)
                    | Output::Campaign
                    | Output::Renewed(_)
                    | Output::Membership(..)
                    | Output::Voted { .. } => {}
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: Opaque) {
        self.sent += 1;
        *self.messages.entry(message.kind()).or_default() += 1;
        if to.index() < self.nodes.len() {
            let depth = self.nodes[from.index()].depth + 1;
            self.under_way.insert((self.time + DELAY, self.sent), Sent { from, to, message, depth });
        }
    }
}
