//! A candidate: the wrapper around an elector whose word alone is worth nothing.

mod answers;

use super::{
    bugs::NO_QUORUM,
    message::{Message, Said},
};
use crate::{
    clock::Now,
    core::TimerId,
    election::Setup,
    elector::{self, AnyElector, Deposed, Elector},
    fence::power,
    payload::Payload,
    point::Point,
    random::Random,
    service::Erased,
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};
use std::convert::identity;

type Input = elector::Input<Said>;
type Output = elector::Output<Said>;

/// The additional wait before shooting the leader, nanoseconds. It exceeds the random wait, the device's delay and a
/// heartbeat together, so that of two nodes the leader shoots first.
pub const DELAY_BASE: u64 = 2 * SECOND;
/// The range of the random wait before every shot, nanoseconds.
pub const DELAY_RANDOM: u64 = SECOND;
/// The assumed longest travel time of a packet, nanoseconds. Several times the slowest network profile's.
pub const SETTLE: u64 = 200 * MILLISECOND;

/// Timers from here on are the wrapper's; lower ones are the inner elector's.
const HEARTBEAT: TimerId = 8;
/// Anything else that is due.
const WAKE: TimerId = 9;

/// A candidate's role.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Role {
    /// Its elector does not want to lead.
    Follows,
    /// Its elector wants to lead, but not all others are known to have stopped.
    Claims { round: u64, ask_at: u64, settled_at: u64 },
    /// It leads. The belief ends when no majority has been heard for a TTL.
    Leads { valid_until: u64 },
}

/// Another candidate, as seen by this one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Other {
    node: NodeId,
    /// When a message from it last arrived.
    arrived: Option<u64>,
    /// When it last said that it hears this candidate.
    heard: Option<u64>,
    /// Whether it is known not to lead, for the current claim.
    cleared: bool,
    /// When the device reported its power off; until it is heard again.
    off: Option<u64>,
    shot: Option<Shot>,
}

/// A requested power-off; `ask_at` is when to ask the device, for the first time or again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Shot {
    request: u64,
    ask_at: u64,
    asked: bool,
    /// How often in a row the device has rejected it.
    throttled: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Stonith {
    setup: Setup,
    inner: Box<AnyElector>,
    role: Role,
    others: Vec<Other>,
    /// Whether this process has heard every other node at least once (`wait_for_all`).
    seen_all: bool,
    started: u64,
    /// When this process stopped leading, or else started.
    stopped: u64,
    /// The leader according to the inner elector.
    leader: Option<NodeId>,
    random: Random,
    wake_at: Option<u64>,
    scratch: Vec<elector::Output>,
}

impl Stonith {
    pub(super) fn new(setup: Setup, inner: Box<AnyElector>) -> Self {
        let other = |node| Other { node, arrived: None, heard: None, cleared: false, off: None, shot: None };
        let others = setup.others().map(other).collect();
        let (random, seen_all) = (Random::new(setup.nonce), setup.names.len() == 1);
        let (role, leader, scratch) = (Role::Follows, None, Vec::new());
        Stonith { setup, inner, role, others, seen_all, started: 0, stopped: 0, leader, random, wake_at: None, scratch }
    }

    fn leads(&self) -> bool {
        matches!(self.role, Role::Leads { .. })
    }

    /// The end of the quorum if nothing more is heard, nanoseconds of the node's clock.
    fn quorum_until(&self) -> u64 {
        if self.others.len() < 2 {
            // corosync's `two_node`: one node is enough, once it has seen the other.
            return if self.seen_all { u64::MAX } else { 0 };
        }
        let mut heard: Vec<u64> = self.others.iter().filter_map(|other| other.heard).collect();
        heard.sort_unstable_by(|a, b| b.cmp(a));
        // This node itself is one of the majority.
        heard.get(self.setup.majority() - 2).map_or(0, |at| at + self.setup.timings.lease_ttl)
    }

    fn quorate(&self, now: Now) -> bool {
        now.mono < self.quorum_until() || self.setup.bugs.has(&NO_QUORUM)
    }

    /// When a silent peer counts as lost: one heartbeat and one travel time after the TTL. By then all other nodes
    /// behind the same partition are missed as well, so no quorum rests on them.
    fn lost_at(&self, other: &Other) -> u64 {
        other.heard.unwrap_or(self.started) + self.setup.timings.lease_ttl + self.setup.timings.renew_interval + SETTLE
    }

    /// Handles any message from another candidate; `hears` tells whether it hears this one.
    fn heard(&mut self, now: Now, from: NodeId, hears: bool) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == from) else { return };
        // Sent before its power was cut.
        if other.off.is_some_and(|off| now.mono < off + SETTLE) {
            crate::mark!("stonith: something arrives that was sent before the cut");
            return;
        }
        other.arrived = Some(now.mono);
        if !hears {
            return;
        }
        other.heard = Some(now.mono);
        other.off = None;
        other.shot = other.shot.filter(|shot| shot.asked);
        self.seen_all |= self.others.iter().all(|other| other.heard.is_some());
    }

    /// Steps the inner elector. Its messages go out only with a quorum: a node alone has no cluster.
    fn inner(&mut self, now: Now, input: elector::Input, out: &mut Vec<Output>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.inner.step(now, input, &mut scratch);
        for output in scratch.drain(..) {
            match output.convert(Said::Inner, identity) {
                Output::Send { .. } if !self.quorate(now) => {}
                Output::Point(Point::BeforeRenew | Point::Renewed) if !self.leads() => {}
                Output::Elected(_) => self.claim(now),
                Output::Renewed(_) => {}
                Output::Deposed(reason) => {
                    self.stop(now, reason, out);
                    self.role = Role::Follows;
                }
                Output::Observed(leader) => {
                    self.leader = leader.or(self.leader);
                    out.push(Output::Observed(leader));
                }
                output => out.push(output),
            }
        }
        self.scratch = scratch;
    }

    fn stop(&mut self, now: Now, reason: Deposed, out: &mut Vec<Output>) {
        if self.leads() {
            self.stopped = now.mono;
            out.push(Output::Deposed(reason));
        }
    }

    /// Begins a claim. Grants and acknowledgements for an earlier one are void: this node may have granted another's
    /// claim in between.
    fn claim(&mut self, now: Now) {
        for other in &mut self.others {
            other.cleared = false;
            other.shot = None;
        }
        self.role = Role::Claims { round: self.random.next_u64(), ask_at: now.mono, settled_at: now.mono };
    }

    fn claimed(&mut self, now: Now, by: NodeId, round: u64, out: &mut Vec<Output>) {
        match self.role {
            // Only its own elector makes a leader step back.
            Role::Leads { .. } => return,
            // Of two claims, the better candidate's wins.
            Role::Claims { .. } if self.setup.node < by => return,
            Role::Claims { .. } => {
                self.claim(now);
                let later = now.mono + self.setup.timings.request_timeout;
                if let Role::Claims { ask_at, .. } = &mut self.role {
                    *ask_at = later;
                }
            }
            Role::Follows => {}
        }
        let quiet = now.mono >= self.stopped + SETTLE;
        out.push(Output::Send { to: by, message: Said::Own(Message::Grant { round, quiet }) });
    }

    /// Records that a node does not lead.
    fn clear(&mut self, now: Now, node: NodeId, quiet: bool) {
        let Role::Claims { settled_at, .. } = &mut self.role else { return };
        let Some(other) = self.others.iter_mut().find(|other| other.node == node && !other.cleared) else { return };
        other.cleared = true;
        if !quiet {
            crate::mark!("stonith: a node that grants led a moment ago");
            *settled_at = now.mono + SETTLE;
        }
    }

    /// Aims at every lost node, and asks the device when it is time. `heard` is `None` for a node that is off or was
    /// never there: it is lost too, unless this node has its acknowledgement.
    fn shoot(&mut self, now: Now, out: &mut Vec<Output>) {
        // Without a device, no power can be cut, and nobody takes over.
        let Some(device) = self.setup.service.first().copied() else { return };
        let retry = self.setup.timings.request_timeout;
        let (quorate, leads) = (self.quorate(now), self.leads());
        for index in 0..self.others.len() {
            let lost = now.mono >= self.lost_at(&self.others[index]);
            let other = &self.others[index];
            let wanted = if leads { other.off.is_none() } else { !other.cleared };
            let asked = other.shot.is_some_and(|shot| shot.asked);
            if !quorate || !wanted || !(lost || asked) {
                self.others[index].shot = other.shot.filter(|shot| shot.asked && wanted);
                continue;
            }
            let (known, base) = (other.shot, if self.leader == Some(other.node) { DELAY_BASE } else { 0 });
            let mut shot = known.unwrap_or_else(|| {
                let ask_at = now.mono + base + self.random.next_u64() % DELAY_RANDOM;
                Shot { request: self.random.next_u64(), ask_at, asked: false, throttled: 0 }
            });
            if now.mono >= shot.ask_at {
                crate::mark!("stonith: the device is asked to cut power");
                (shot.asked, shot.ask_at) = (true, now.mono + retry);
                let message = power::Message::Fence { target: self.others[index].node, request: shot.request };
                out.push(Output::Send { to: device, message: Said::Device(message) });
            }
            self.others[index].shot = Some(shot);
        }
    }

    /// Takes all steps that are possible by now.
    fn advance(&mut self, now: Now, out: &mut Vec<Output>) {
        if let Role::Leads { valid_until } = self.role {
            let until = self.quorum_until();
            if now.mono >= until {
                crate::mark!("stonith: a leader has no quorum any more");
                // no-quorum-policy=stop. The elector still wants to lead, and will once there is a quorum.
                self.stop(now, Deposed::Expired, out);
                self.claim(now);
            } else if now.mono >= valid_until {
                self.renew(until, out);
            }
        }
        if self.role != Role::Follows {
            self.shoot(now, out);
        }
        let Role::Claims { round, ask_at, settled_at } = self.role else { return };
        if !self.quorate(now) {
            return;
        }
        if self.others.iter().all(|other| other.cleared) {
            if now.mono >= settled_at {
                let valid_until = self.quorum_until();
                self.role = Role::Leads { valid_until };
                self.leader = Some(self.setup.node);
                out.push(Output::Elected(Leadership { token: 0, valid_until }));
            }
        } else if now.mono >= ask_at {
            let ask_at = now.mono + self.setup.timings.request_timeout;
            self.role = Role::Claims { round, ask_at, settled_at };
            for other in self.others.iter().filter(|other| !other.cleared) {
                out.push(Output::Send { to: other.node, message: Said::Own(Message::Claim { round }) });
            }
        }
    }

    fn renew(&mut self, until: u64, out: &mut Vec<Output>) {
        if let Role::Leads { valid_until } = &mut self.role
            && *valid_until != until
        {
            *valid_until = until;
            out.push(Output::Renewed(Leadership { token: 0, valid_until: until }));
        }
    }

    fn heartbeat(&mut self, now: Now, out: &mut Vec<Output>) {
        let recently = |other: &&Other| other.arrived.is_some_and(|at| now.mono < at + self.setup.timings.lease_ttl);
        let hears = self.others.iter().filter(recently).fold(0, |bits, other| bits | bit(other.node));
        for to in self.setup.others() {
            out.push(Output::Send { to, message: Said::Own(Message::Alive { hears }) });
        }
        self.renew(self.quorum_until(), out);
        out.push(Output::SetTimer { id: HEARTBEAT, at: now.mono + self.setup.timings.renew_interval });
    }

    /// Sets the timer for the next due action. A timer that fires early does no harm.
    fn schedule(&mut self, now: Now, out: &mut Vec<Output>) {
        let mut due = Vec::new();
        match self.role {
            Role::Follows => return,
            Role::Claims { ask_at, settled_at, .. } => due.extend([ask_at, settled_at]),
            Role::Leads { valid_until } => due.push(valid_until),
        }
        for other in self.others.iter().filter(|other| !other.cleared || self.leads()) {
            due.push(self.lost_at(other));
            due.extend(other.shot.map(|shot| shot.ask_at));
        }
        let next = due.into_iter().filter(|at| *at > now.mono && *at != u64::MAX).min();
        if let Some(at) = next.filter(|at| self.wake_at.is_none_or(|set| *at < set)) {
            self.wake_at = Some(at);
            out.push(Output::SetTimer { id: WAKE, at });
        }
    }
}

/// A candidate's bit; there are at most 64 candidates.
fn bit(node: NodeId) -> u64 {
    1_u64.checked_shl(node.0.into()).unwrap_or(0)
}

impl Elector for Stonith {
    type Peer = Said;
    type Service = Erased;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        if let Input::Peer { from, message } = &input {
            let own = bit(self.setup.node);
            let hears = matches!(message, Said::Own(Message::Alive { hears }) if hears & own != 0);
            self.heard(now, *from, hears);
        }
        match input {
            Input::Start => {
                (self.started, self.stopped) = (now.mono, now.mono);
                self.heartbeat(now, out);
                self.inner(now, elector::Input::Start, out);
            }
            Input::Timer(HEARTBEAT) => self.heartbeat(now, out),
            Input::Timer(WAKE) => self.wake_at = None,
            Input::Peer { from, message: Said::Own(message) } => match message {
                Message::Alive { .. } => {}
                Message::Claim { round } => self.claimed(now, from, round, out),
                Message::Grant { round, quiet } => {
                    if matches!(self.role, Role::Claims { round: own, .. } if own == round) {
                        self.clear(now, from, quiet);
                    }
                }
            },
            Input::Peer { message: Said::Device(power::Message::Fenced { target, request, ok: true }), .. } => {
                self.fenced(now, target, request);
            }
            Input::Peer { message: Said::Device(power::Message::Accepted { target, request }), .. } => {
                self.accepted(now, target, request);
            }
            Input::Peer { message: Said::Device(power::Message::Throttled { target, request }), .. } => {
                self.throttled(now, target, request);
            }
            Input::Peer { message: Said::Device(_), .. } => {}
            input => {
                if let Some(input) = input.convert(|said| Some(said.erase()), identity) {
                    self.inner(now, input, out);
                }
            }
        }
        self.advance(now, out);
        self.schedule(now, out);
    }
}
