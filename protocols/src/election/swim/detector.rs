//! The failure detector: which members are alive, as far as this one can tell. It is pure, and independent of
//! elections.
//!
//! Source: hashicorp/memberlist 1b4c746, `state.go` (`probe`, `probeNode`, `gossip`, `pushPull`, `refute`, `aliveNode`,
//! `suspectNode`, `deadNode`, `mergeState`), `net.go: handleIndirectPing`, `awareness.go`, `config.go:
//! DefaultLANConfig`. Its constants are multiples of the probe interval here, and with 1 s they have its values. The
//! TCP probe that accompanies the indirect ones is a second ping. Full states are exchanged in one message each way,
//! which may be lost here; the next exchange makes up for it. States are also exchanged with failed members, as in serf
//! (hashicorp/serf `serf.go: reconnect`), or two halves of a partition would never meet again.

pub use super::message::{Effect, State};
use super::{
    gossip::{Broadcasts, Status, Suspicion, Update},
    message::{Body, Message},
};
use crate::{random::Random, types::NodeId};

/// `IndirectChecks`.
const INDIRECT_CHECKS: usize = 3;
/// `GossipNodes`.
const GOSSIP_NODES: usize = 3;
/// `AwarenessMaxMultiplier`.
const AWARENESS_MAX: u32 = 8;
/// `PushPullInterval`, `GossipToTheDeadTime` and serf's `ReconnectInterval`, in probe intervals.
const SELDOM: u64 = 30;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) incarnation: u32,
    pub(super) state: State,
    changed_at: u64,
    pub(super) suspicion: Option<Suspicion>,
}

/// A probe under way.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Probe {
    target: NodeId,
    number: u32,
    /// When others are asked for help; `None` once they have been.
    timeout_at: Option<u64>,
    deadline: u64,
    nacks_missing: u32,
}

/// A probe on another member's behalf.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Relay {
    number: u32,
    asker: NodeId,
    askers_number: u32,
    nack_at: u64,
}

/// One member's view of all members.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Detector {
    pub(super) own: NodeId,
    pub(super) interval: u64,
    pub(super) members: Vec<Member>,
    pub(super) left: bool,
    /// How unhealthy this member itself seems to be: `awareness.go`'s score.
    awareness: u32,
    number: u32,
    order: Vec<NodeId>,
    probe: Option<Probe>,
    /// A tick came during a probe.
    overdue: bool,
    relays: Vec<Relay>,
    broadcasts: Broadcasts,
    random: Random,
    probe_at: u64,
    gossip_at: u64,
    exchange_at: u64,
    reconnect_at: u64,
}

impl Detector {
    /// The detector of member `own` among `count` nodes, with one probe per `interval` nanoseconds. It is idle before
    /// [`Detector::start`].
    pub fn new(own: NodeId, count: usize, interval: u64, seed: u64) -> Self {
        let member = || Member { incarnation: 0, state: State::Unknown, changed_at: 0, suspicion: None };
        Detector {
            own,
            interval,
            members: (0..count).map(|_| member()).collect(),
            left: false,
            awareness: 0,
            number: 0,
            order: Vec::new(),
            probe: None,
            overdue: false,
            relays: Vec::new(),
            broadcasts: Broadcasts::default(),
            random: Random::new(seed),
            probe_at: 0,
            gossip_at: 0,
            exchange_at: 0,
            reconnect_at: 0,
        }
    }

    /// Joins: announces itself, and exchanges states with all members. Tickers start at random phases.
    pub fn start(&mut self, now: u64, out: &mut Vec<Effect>) {
        let mut phase = |interval: u64| now + self.random.next_u64() % interval.max(1) + 1;
        self.probe_at = phase(self.interval);
        self.gossip_at = phase(self.interval / 5);
        self.exchange_at = phase(SELDOM * self.interval);
        self.reconnect_at = phase(SELDOM * self.interval);
        self.join(now, out);
    }

    /// Rejoins after [`Detector::leave`].
    pub fn join(&mut self, now: u64, out: &mut Vec<Effect>) {
        self.left = false;
        let incarnation = self.members[self.own.index()].incarnation + 1;
        self.tell(Update { node: self.own, incarnation, status: Status::Alive });
        self.members[self.own.index()].incarnation = incarnation;
        self.turn(now, self.own, State::Alive, out);
        for to in self.others(|_| true) {
            self.exchange(to, true, out);
        }
    }

    /// `Leave`: announces its own death.
    pub fn leave(&mut self, now: u64, out: &mut Vec<Effect>) {
        self.left = true;
        let incarnation = self.members[self.own.index()].incarnation;
        self.apply(now, Update { node: self.own, incarnation, status: Status::Dead { by: self.own } }, out);
        self.gossip(now, out);
    }

    /// A node's state in this member's view.
    pub fn state(&self, node: NodeId) -> State {
        self.members[node.index()].state
    }

    /// Whether it is a member, perhaps a suspect one.
    pub fn is_member(&self, node: NodeId) -> bool {
        matches!(self.state(node), State::Alive | State::Suspect)
    }

    /// When [`Detector::poll`] is next needed, nanoseconds.
    pub fn deadline(&self) -> u64 {
        let probe = self.probe.iter().map(|probe| probe.timeout_at.unwrap_or(probe.deadline));
        let suspicions = self.members.iter().filter_map(|m| m.suspicion.as_ref().map(Suspicion::due));
        let relays = self.relays.iter().map(|relay| relay.nack_at);
        let tickers = [self.probe_at, self.gossip_at, self.exchange_at, self.reconnect_at];
        probe.chain(suspicions).chain(relays).chain(tickers).min().unwrap_or(u64::MAX)
    }

    /// Handles everything that is due.
    pub fn poll(&mut self, now: u64, out: &mut Vec<Effect>) {
        if self.probe.as_ref().is_some_and(|p| p.timeout_at.is_some_and(|at| at <= now)) {
            self.ask_for_help(out);
        }
        if self.probe.as_ref().is_some_and(|probe| probe.deadline <= now) {
            self.probe_failed(now, out);
        }
        for index in 0..self.members.len() {
            let member = &self.members[index];
            if member.suspicion.as_ref().is_some_and(|suspicion| suspicion.due() <= now) {
                crate::mark!("swim: a suspicion is not refuted in time");
                let (node, status) = (NodeId(index as u16), Status::Dead { by: self.own });
                self.apply(now, Update { node, incarnation: member.incarnation, status }, out);
            }
        }
        let due: Vec<Relay> = self.relays.extract_if(.., |relay| relay.nack_at <= now).collect();
        for relay in due {
            self.send(relay.asker, Body::Nack { number: relay.askers_number }, None, out);
        }
        self.tick(now, out);
    }

    /// The tickers. A missed tick is not repeated.
    fn tick(&mut self, now: u64, out: &mut Vec<Effect>) {
        if self.probe_at <= now {
            self.probe_at = now + self.interval;
            self.overdue = self.probe.is_some();
            if !self.overdue {
                self.probe(now, out);
            }
        }
        if self.gossip_at <= now {
            self.gossip_at = now + (self.interval / 5).max(1);
            self.gossip(now, out);
        }
        if self.exchange_at <= now {
            self.exchange_at = now + SELDOM * self.interval;
            let alive = self.others(|member| member.state == State::Alive);
            if let Some(to) = self.choose(alive, 1).first() {
                self.exchange(*to, true, out);
            }
        }
        if self.reconnect_at <= now {
            self.reconnect_at = now + SELDOM * self.interval;
            let failed = self.others(|member| matches!(member.state, State::Dead | State::Unknown));
            let alive = self.others(|member| matches!(member.state, State::Alive | State::Suspect)).len();
            // On average there are as many attempts as failed members.
            if self.random.next_u64() % (alive as u64 + 1) < failed.len() as u64
                && let Some(to) = self.choose(failed, 1).first()
            {
                crate::mark!("swim: a dead member is tried again");
                self.exchange(*to, true, out);
            }
        }
    }

    fn probe(&mut self, now: u64, out: &mut Vec<Effect>) {
        out.push(Effect::Probing);
        // All members once in a random order, and then in another.
        for _ in 0..2 {
            while let Some(target) = self.order.pop() {
                if !self.is_member(target) {
                    continue;
                }
                self.number += 1;
                let (number, timeout_at) = (self.number, Some(now + self.interval / 2));
                let deadline = now + self.interval * u64::from(self.awareness + 1);
                self.probe = Some(Probe { target, number, timeout_at, deadline, nacks_missing: 0 });
                // A suspect is told, so that it can refute it.
                let (Member { incarnation, state, .. }, status) =
                    (&self.members[target.index()], Status::Suspect { by: self.own });
                let accusation = Update { node: target, incarnation: *incarnation, status };
                let accusation = (*state == State::Suspect).then_some(accusation);
                return self.send(target, Body::Ping { number }, accusation, out);
            }
            let everybody = self.others(|_| true);
            self.order = self.choose(everybody, usize::MAX);
        }
        out.push(Effect::Probed);
    }

    fn ask_for_help(&mut self, out: &mut Vec<Effect>) {
        let Some(Probe { target, number, .. }) = self.probe else { return };
        let mut helpers = self.others(|member| member.state == State::Alive);
        helpers.retain(|node| *node != target);
        let helpers = self.choose(helpers, INDIRECT_CHECKS);
        if let Some(probe) = &mut self.probe {
            probe.timeout_at = None;
            probe.nacks_missing = helpers.len() as u32;
        }
        for helper in &helpers {
            crate::mark!("swim: others are asked to probe");
            self.send(*helper, Body::PingRequest { number, target }, None, out);
        }
        self.send(target, Body::Ping { number }, None, out);
    }

    fn probe_failed(&mut self, now: u64, out: &mut Vec<Effect>) {
        let Some(probe) = self.probe.take() else { return };
        crate::mark!("swim: a probe fails");
        // If helpers do not even report a failure, it may be this member that is deaf.
        let alone = self.others(|m| m.state == State::Alive).iter().all(|node| *node == probe.target);
        let worse = if alone { 1 } else { probe.nacks_missing };
        self.doubt(worse);
        let incarnation = self.members[probe.target.index()].incarnation;
        let status = Status::Suspect { by: self.own };
        self.apply(now, Update { node: probe.target, incarnation, status }, out);
        self.probe_overdue(now, out);
    }

    fn probe_overdue(&mut self, now: u64, out: &mut Vec<Effect>) {
        if std::mem::take(&mut self.overdue) {
            self.probe(now, out);
        }
    }

    fn gossip(&mut self, now: u64, out: &mut Vec<Effect>) {
        let until_forgotten = SELDOM * self.interval;
        let listeners = self.others(|member| match member.state {
            State::Alive | State::Suspect => true,
            State::Dead => now - member.changed_at <= until_forgotten,
            State::Left | State::Unknown => false,
        });
        for to in self.choose(listeners, GOSSIP_NODES) {
            if self.broadcasts.is_empty() {
                return;
            }
            self.send(to, Body::Gossip, None, out);
        }
    }

    /// Handles another member's datagram.
    pub fn message(&mut self, now: u64, from: NodeId, message: Message, out: &mut Vec<Effect>) {
        let exchanged = matches!(message.body, Body::State { .. });
        let members = self.members.len();
        for mut update in message.updates.into_iter().filter(|update| update.node.index() < members) {
            if exchanged
                && let Status::Dead { by } = update.status
                && by != update.node
            {
                // A member that considers another dead may have missed its refutation.
                update.status = Status::Suspect { by: self.own };
            }
            self.apply(now, update, out);
        }
        match message.body {
            Body::Ping { number } => self.send(from, Body::Ack { number }, None, out),
            Body::PingRequest { number, target } if target.index() < self.members.len() => {
                self.number += 1;
                let nack_at = now + self.interval / 2;
                self.relays.push(Relay { number: self.number, asker: from, askers_number: number, nack_at });
                self.send(target, Body::Ping { number: self.number }, None, out);
            }
            Body::Ack { number } => self.acknowledged(now, number, out),
            Body::Nack { number } => {
                if let Some(probe) = self.probe.as_mut().filter(|probe| probe.number == number) {
                    probe.nacks_missing = probe.nacks_missing.saturating_sub(1);
                }
            }
            Body::State { answer: true } => self.exchange(from, false, out),
            Body::State { answer: false } | Body::Gossip | Body::PingRequest { .. } => {}
        }
    }

    fn acknowledged(&mut self, now: u64, number: u32, out: &mut Vec<Effect>) {
        if let Some(index) = self.relays.iter().position(|relay| relay.number == number) {
            let relay = self.relays.swap_remove(index);
            crate::mark!("swim: a probe is answered through a helper");
            return self.send(relay.asker, Body::Ack { number: relay.askers_number }, None, out);
        }
        if self.probe.as_ref().is_some_and(|probe| probe.number == number) {
            self.probe = None;
            self.awareness = self.awareness.saturating_sub(1);
            out.push(Effect::Probed);
            self.probe_overdue(now, out);
        }
    }

    /// Queues an update for the others.
    pub(super) fn tell(&mut self, update: Update) {
        self.broadcasts.push(update);
    }

    /// Changes a member's state.
    pub(super) fn turn(&mut self, now: u64, node: NodeId, state: State, out: &mut Vec<Effect>) {
        let member = &mut self.members[node.index()];
        if member.state != state {
            (member.state, member.changed_at) = (state, now);
            out.push(Effect::Changed { node, state });
        }
    }

    /// Raises the score: this member itself seems less healthy.
    pub(super) fn doubt(&mut self, by: u32) {
        self.awareness = (self.awareness + by).min(AWARENESS_MAX - 1);
    }

    fn send(&mut self, to: NodeId, body: Body, first: Option<Update>, out: &mut Vec<Effect>) {
        let known = self.members.iter().filter(|member| member.state != State::Unknown).count();
        // An accusation travels alone.
        let updates = match first {
            Some(accusation) => vec![accusation],
            None => self.broadcasts.take(known, body.leaves()),
        };
        out.push(Effect::Send { to, message: Message { body, updates } });
    }

    fn others(&self, which: impl Fn(&Member) -> bool) -> Vec<NodeId> {
        let all = self.members.iter().enumerate().filter(|(_, member)| which(member));
        all.map(|(index, _)| NodeId(index as u16)).filter(|node| *node != self.own).collect()
    }

    /// Some of these nodes, in random order.
    fn choose(&mut self, mut nodes: Vec<NodeId>, count: usize) -> Vec<NodeId> {
        for last in (1..nodes.len()).rev() {
            nodes.swap(last, (self.random.next_u64() % (last as u64 + 1)) as usize);
        }
        nodes.truncate(count);
        nodes
    }
}
