//! Shared by elections on a ring: how laps travel, and how nodes follow, lead and become candidates.
//!
//! The candidates form a ring in the order of their ids, and each sends only to the next one; only acknowledgements and
//! probes (`link`) go the other way. A *lap* is a message that a node sends around until it comes home. A leader sends
//! a heartbeat lap every `renew_interval`; a node that has seen none for a TTL becomes a candidate. The algorithm
//! (`Rules`) decides what happens to a candidate's id: `ring_lelann.rs`, `ring_chang_roberts.rs`.
//!
//! **What the classics leave out, and what is done here.** They elect once, on an intact ring without losses.
//! - Loss, and dead or returning nodes: see `link`.
//! - A lap whose origin is gone would circulate for ever. Each lap carries the number of nodes that may still pass it
//!   on, and a follower drops a leader's lap that it has seen before.
//! - A live leader removes the ids of lower candidates from the ring, and answers with a heartbeat. A higher candidate
//!   makes it step down: among the candidates, the highest wins.
//! - Two leaders on one ring, after a partition: the lower steps down. The higher stops too and becomes a candidate,
//!   since another has led; so does a leader whose laps have not come home for a TTL, since it has been away.
//! - A candidate without a result after a TTL starts a new attempt; an old id of its own that comes home late decides
//!   nothing.
//! - A leader that resigns announces it in a lap. Nodes that see it become candidates, and the former leader only
//!   passes laps on until another leads.
//! - A node that returns follows the leader. It takes leadership from a lower id only if it has a reason to become a
//!   candidate.

mod link;
mod message;

use super::{Hazard, Promise, Setup, Timings, hazard, promise::UNFENCED};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector},
    payload::{Nothing, Opaque, Payload},
    point::Point,
    types::{Leadership, MILLISECOND, NodeId},
};
use link::{Link, PROBE, RESEND};
use message::Output;
pub use message::{Body, Lap, Message};
use std::{collections::VecDeque, hash::Hash};

type Input = elector::Input<Message, Nothing>;
/// What happens to another candidate's id at a node that does not lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Verdict {
    /// The node first becomes a candidate too.
    pub stand: bool,
    /// The id travels on.
    pub pass: bool,
}

/// The differences between the elections on a ring.
pub(super) trait Rules: Clone + Eq + Hash + Send + 'static {
    /// This node becomes a candidate.
    fn begin(&mut self, own: NodeId);
    /// Another candidate's id arrives; `takes_part` tells whether this node already takes part in the election.
    fn candidate(&mut self, own: NodeId, other: NodeId, takes_part: bool) -> Verdict;
    /// The winner, once this node's id has come home.
    fn winner(&self, own: NodeId) -> NodeId;
    /// Whether a lap announces the winner before its heartbeats.
    fn announces(&self) -> bool;
}

/// The leader has been silent for too long, or an election had no result.
const SILENCE: TimerId = 0;
/// The next heartbeat.
const BEAT: TimerId = 1;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Follows,
    Stands,
    Leads {
        reign: u64,
        number: u64,
        /// When one of its laps last came home.
        home_at: u64,
    },
}

/// A candidate on a ring.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Member<R> {
    setup: Setup,
    rules: R,
    link: Link,
    role: Role,
    /// The number of the last attempt or reign; different from those of any other incarnation of this process.
    count: u64,
    /// The leader it last followed, with its reign and last heartbeat.
    leader: Option<(NodeId, u64, u64)>,
    /// Whether it has become a candidate, or let a better id pass, since there was a leader.
    takes_part: bool,
    /// Whether [`Output::Campaign`] was sent for this vacancy.
    campaigning: bool,
    /// Has resigned, and lets any other candidate lead.
    aside: bool,
    /// Laps that arrived at once because no other node is left.
    arrived: VecDeque<Lap>,
}

/// The candidate's id waits until the dead leader is skipped; then one lap on a local network.
pub(super) fn takeover_max(timings: &Timings, _: u16) -> u64 {
    timings.renew_interval + 20 * MILLISECOND
}

/// A new leader's lap, as its predecessor on the ring passes it on: COORDINATOR, or the equivalent heartbeat if there
/// is no announcement.
pub(super) fn claim(leader: NodeId, candidates: u16, name: u64) -> Opaque {
    let lap = Lap { origin: leader, hops: candidates.saturating_sub(1), body: Body::Coordinator { reign: name } };
    Message::Frame { session: name, first: 0, number: 0, lap }.erase()
}

/// The promise of both algorithms.
pub(super) fn promise(hazard: Hazard, _: bool) -> Promise {
    match hazard {
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION => Promise::Holds,
        // A leader that believes it stops, and nobody leads until it is missed.
        hazard::FORGED_CLAIM => Promise::Holds,
        hazard::RESTART_IN_ISOLATION => UNFENCED,
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_PEERS | hazard::NO_QUORUM => UNFENCED,
        hazard::BROKEN_RING | hazard::ONE_WAY_CUT | hazard::SLOW_PREFERRED => UNFENCED,
        _ => Promise::May,
    }
}

/// The ring in ascending order of ids.
pub(super) fn ascending(setup: &Setup) -> Vec<NodeId> {
    (0..setup.names.len() as u16).map(NodeId).collect()
}

impl<R: Rules> Member<R> {
    /// A candidate on the ring with the given order.
    pub(super) fn new(setup: Setup, order: &[NodeId], rules: R) -> Self {
        Member {
            rules,
            link: Link::new(&setup, order),
            role: Role::Follows,
            count: setup.nonce,
            leader: None,
            takes_part: false,
            campaigning: false,
            aside: false,
            arrived: VecDeque::new(),
            setup,
        }
    }

    fn own(&self) -> NodeId {
        self.setup.node
    }

    fn send(&mut self, now: Now, body: Body, out: &mut Vec<Output>) {
        let lap = Lap { origin: self.own(), hops: self.link.count() as u16 - 1, body };
        self.arrived.extend(self.link.send(now, lap, out));
    }

    fn pass_on(&mut self, now: Now, lap: Lap, out: &mut Vec<Output>) {
        // The origin of a lap without hops left is no longer on the ring.
        if let Some(hops) = lap.hops.checked_sub(1) {
            self.arrived.extend(self.link.send(now, Lap { hops, ..lap }, out));
        }
    }

    fn wait_for_silence(&self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: SILENCE, at: now.mono + self.setup.timings.lease_ttl });
    }

    fn new_name(&mut self) -> u64 {
        self.count = self.count.wrapping_add(1);
        self.count
    }

    fn stand(&mut self, now: Now, out: &mut Vec<Output>) {
        self.step_back(now, Deposed::Lost, out);
        (self.role, self.takes_part, self.aside) = (Role::Stands, true, false);
        out.push(Output::Observed(None));
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        self.rules.begin(self.setup.node);
        let attempt = self.new_name();
        self.wait_for_silence(now, out);
        self.send(now, Body::Candidate { attempt }, out);
    }

    fn lead(&mut self, now: Now, out: &mut Vec<Output>) {
        let reign = self.new_name();
        self.role = Role::Leads { reign, number: 0, home_at: now.mono };
        (self.takes_part, self.campaigning) = (false, false);
        out.push(Output::CancelTimer(SILENCE));
        if self.rules.announces() {
            self.send(now, Body::Coordinator { reign }, out);
            out.push(Output::SetTimer { id: BEAT, at: now.mono + self.setup.timings.renew_interval });
        } else {
            self.beat(now, out);
        }
        // Only another leader, or laps that do not come home, end this belief.
        out.push(Output::Elected(Leadership { token: 0, valid_until: u64::MAX }));
    }

    fn beat(&mut self, now: Now, out: &mut Vec<Output>) {
        let Role::Leads { reign, number, home_at } = self.role else { return };
        if now.mono > home_at + self.setup.timings.lease_ttl {
            crate::mark!("ring: a leader's laps do not come home");
            return self.stand(now, out);
        }
        let number = number + 1;
        self.role = Role::Leads { reign, number, home_at };
        out.push(Output::Point(Point::BeforeRenew));
        self.send(now, Body::Heartbeat { reign, number }, out);
        out.push(Output::SetTimer { id: BEAT, at: now.mono + self.setup.timings.renew_interval });
    }

    fn step_back(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        if !matches!(self.role, Role::Leads { .. }) {
            return;
        }
        self.role = Role::Follows;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(BEAT));
        out.push(Output::Observed(None));
        self.wait_for_silence(now, out);
    }

    fn lap(&mut self, now: Now, lap: Lap, out: &mut Vec<Output>) {
        self.link.alive(now, lap.origin, out);
        match lap.body {
            _ if lap.origin == self.own() => self.home(now, lap.body, out),
            Body::Candidate { .. } => self.candidate(now, lap, out),
            Body::Coordinator { reign } => self.leader_heard(now, lap, reign, 0, out),
            Body::Heartbeat { reign, number } => self.leader_heard(now, lap, reign, number, out),
            Body::Resigned => self.resigned(now, lap, out),
        }
    }

    /// A lap of this node's own has come home, and leaves the ring.
    fn home(&mut self, now: Now, body: Body, out: &mut Vec<Output>) {
        match (body, self.role) {
            (Body::Candidate { attempt }, Role::Stands) if attempt == self.count => {
                let winner = self.rules.winner(self.own());
                if winner == self.own() {
                    return self.lead(now, out);
                }
                // The winner will be heard from; otherwise this node becomes a candidate again.
                self.role = Role::Follows;
                out.push(Output::Observed(Some(winner)));
            }
            (
                Body::Coordinator { reign: of } | Body::Heartbeat { reign: of, .. },
                Role::Leads { reign, number, .. },
            ) if of == reign => {
                self.role = Role::Leads { reign, number, home_at: now.mono };
                if let Body::Heartbeat { .. } = body {
                    out.push(Output::Point(Point::Renewed));
                }
            }
            _ => {}
        }
    }

    fn candidate(&mut self, now: Now, lap: Lap, out: &mut Vec<Output>) {
        if self.aside {
            crate::mark!("ring: a leader that resigned lets a candidate pass");
            return self.pass_on(now, lap, out);
        }
        if let Role::Leads { .. } = self.role {
            if lap.origin < self.own() {
                crate::mark!("ring: a worse candidate meets the leader");
                return self.beat(now, out);
            }
            self.step_back(now, Deposed::Lost, out);
        }
        let verdict = self.rules.candidate(self.own(), lap.origin, self.takes_part);
        if verdict.stand {
            self.stand(now, out);
        } else if !std::mem::replace(&mut self.takes_part, true) {
            // The candidate has this long to win.
            self.wait_for_silence(now, out);
        }
        if verdict.pass {
            self.pass_on(now, lap, out);
        }
    }

    fn leader_heard(&mut self, now: Now, lap: Lap, reign: u64, number: u64, out: &mut Vec<Output>) {
        if self.leader.is_some_and(|(node, of, last)| (node, of) == (lap.origin, reign) && number <= last) {
            crate::mark!("ring: a lap comes round twice");
            return;
        }
        let is_higher = lap.origin > self.own();
        match self.role {
            Role::Leads { .. } if !is_higher => return self.stand(now, out),
            // The lap is about to meet this node's id.
            Role::Stands if !is_higher => return self.pass_on(now, lap, out),
            Role::Leads { .. } => self.step_back(now, Deposed::Lost, out),
            Role::Stands | Role::Follows => {}
        }
        self.role = Role::Follows;
        self.leader = Some((lap.origin, reign, number));
        (self.takes_part, self.campaigning) = (false, false);
        out.push(Output::Observed(Some(lap.origin)));
        self.wait_for_silence(now, out);
        self.pass_on(now, lap, out);
    }

    fn resigned(&mut self, now: Now, lap: Lap, out: &mut Vec<Output>) {
        self.pass_on(now, lap, out);
        let is_vacant = self.leader.is_none_or(|(node, ..)| node == lap.origin);
        if is_vacant && self.role == Role::Follows && !self.takes_part {
            self.stand(now, out);
        }
    }

    fn heard(&mut self, now: Now, from: NodeId, message: Message, out: &mut Vec<Output>) {
        self.link.alive(now, from, out);
        match message {
            Message::Frame { session, first, number, lap } => {
                if self.link.accept(from, session, first, number, out) {
                    self.lap(now, lap, out);
                }
            }
            Message::Acknowledgement { session, number } => self.link.acknowledged(now, from, session, number, out),
            Message::Probe => out.push(Output::Send { to: from, message: Message::Present }),
            Message::Present => {}
        }
    }
}

impl<R: Rules> Elector for Member<R> {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            // On a ring of one there is nobody to wait for.
            Input::Start if self.link.count() == 1 => self.stand(now, out),
            Input::Start => self.wait_for_silence(now, out),
            Input::Timer(SILENCE) if !matches!(self.role, Role::Leads { .. }) => self.stand(now, out),
            Input::Timer(BEAT) => self.beat(now, out),
            Input::Timer(RESEND) => self.arrived = self.link.resend(now, out),
            Input::Timer(PROBE) => self.link.probe(now, out),
            Input::Peer { from, message } => self.heard(now, from, message, out),
            Input::Resign if matches!(self.role, Role::Leads { .. }) => {
                out.push(Output::Point(Point::BeforeRelease));
                self.step_back(now, Deposed::Resigned, out);
                self.aside = true;
                self.send(now, Body::Resigned, out);
            }
            Input::Fenced => self.step_back(now, Deposed::Fenced, out),
            // Timers of a role that has ended, and messages of other protocols.
            _ => {}
        }
        while let Some(lap) = self.arrived.pop_front() {
            self.lap(now, lap, out);
        }
    }
}
