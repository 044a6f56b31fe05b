//! What elections on a ring share: how laps travel, who follows, who leads, and when somebody stands.
//!
//! The candidates form a ring in the order of their ids, and whatever they say goes to the next one only; only
//! acknowledgements and probes (`link`) go the other way. A *lap* is what a node sends around until it comes home. Who
//! leads sends a heartbeat lap per `renew_interval`; who has seen none for a ttl stands as a candidate. What happens to a
//! candidate's id is the algorithm's (`Rules`): `ring_lelann.rs`, `ring_chang_roberts.rs`.
//!
//! **What the classics leave out, and what is done here.** They elect once, on an intact ring that loses nothing.
//! - Loss, and dead or returning nodes: see `link`.
//! - A lap whose origin is gone would circulate for ever. Each carries how many nodes may still pass it on, and a follower
//!   drops a leader's lap that it has seen.
//! - A leader that is alive takes the ids of lower candidates off the ring, and answers with a heartbeat. A higher candidate
//!   makes it step back: whoever stands, the highest wins.
//! - Two leaders on one ring, after a cut: the lower steps back. The higher stops too and stands again, since somebody else
//!   has led; so does a leader whose laps have not come home for a ttl, which has been away itself.
//! - A candidate that is still none the wiser after a ttl stands again, as a new attempt: an old id of its own that comes
//!   home late decides nothing.
//! - A leader that resigns says so in a lap. Who sees it stands, and the resigned one only passes on until nobody leads.
//! - A node that comes back follows whoever leads. It takes leadership from a lower id only when it stands for a reason.

mod link;
mod message;

use super::{Hazard, Promise, Setup, Timings, promise::UNFENCED};
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
/// What becomes of another candidate's id at a node that does not lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Verdict {
    /// The node stands too, first.
    pub stand: bool,
    /// The id travels on.
    pub pass: bool,
}

/// What the elections on a ring do differently.
pub(super) trait Rules: Clone + Eq + Hash + Send + 'static {
    /// This node stands from now on.
    fn begin(&mut self, own: NodeId);
    /// The id of another candidate comes by; has this node taken part in the election already?
    fn candidate(&mut self, own: NodeId, other: NodeId, takes_part: bool) -> Verdict;
    /// This node's id has come home: who wins?
    fn winner(&self, own: NodeId) -> NodeId;
    /// Is there a lap that announces the winner, before its heartbeats?
    fn announces(&self) -> bool;
}

/// The leader has been silent for too long, or an election has led nowhere.
const SILENCE: TimerId = 0;
/// Time for a heartbeat.
const BEAT: TimerId = 1;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Follows,
    Stands,
    Leads {
        reign: u64,
        /// Heartbeats sent.
        number: u64,
        /// When one of its laps came home last.
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
    /// The last attempt or reign; unlike those of any other life of this process.
    count: u64,
    /// Whom it followed last: who, in which reign, and the last heartbeat.
    leader: Option<(NodeId, u64, u64)>,
    /// Stands, or has let a better id pass, since there was a leader.
    takes_part: bool,
    /// [`Output::Campaign`] was said for this vacancy.
    campaigning: bool,
    /// Has resigned, and lets any other lead.
    aside: bool,
    /// What arrived at once because nobody else is left.
    arrived: VecDeque<Lap>,
}

/// The candidate's id waits for the dead leader to be skipped; then a lap, on a local network.
pub(super) fn takeover_max(timings: &Timings, _: u16) -> u64 {
    timings.renew_interval + 20 * MILLISECOND
}

/// The lap of a new leader, as its predecessor on the ring hands it on: COORDINATOR, or the heartbeat that says the same
/// where there is no announcement.
pub(super) fn claim(leader: NodeId, candidates: u16, name: u64) -> Opaque {
    let lap = Lap { origin: leader, hops: candidates.saturating_sub(1), body: Body::Coordinator { reign: name } };
    Message::Frame { session: name, first: 0, number: 0, lap }.erase()
}

/// What both promise.
pub(super) fn promise(hazard: Hazard, _: bool) -> Promise {
    match hazard {
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::ClockSteps | Hazard::Starvation => Promise::Holds,
        // Who believes it stops, and nobody leads until it is missed.
        Hazard::ForgedClaim => Promise::Holds,
        Hazard::RestartInIsolation => UNFENCED,
        Hazard::PauseBeyondLease | Hazard::CutOffFromPeers | Hazard::NoQuorum => UNFENCED,
        Hazard::BrokenRing | Hazard::OneWayCut | Hazard::SlowPreferred => UNFENCED,
        _ => Promise::May,
    }
}

/// The ring in the order of the ids.
pub(super) fn ascending(setup: &Setup) -> Vec<NodeId> {
    (0..setup.names.len() as u16).map(NodeId).collect()
}

impl<R: Rules> Member<R> {
    /// A candidate on the ring that passes all of them in `order`.
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
        // Who would be the origin of a lap without hops left is not on the ring any more.
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
        // Nothing ends this belief but another leader, or laps that do not come home.
        out.push(Output::Elected(Leadership { token: 0, valid_until: u64::MAX }));
    }

    fn beat(&mut self, now: Now, out: &mut Vec<Output>) {
        let Role::Leads { reign, number, home_at } = self.role else { return };
        if now.mono > home_at + self.setup.timings.lease_ttl {
            crate::mark!(RingLapLost);
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

    /// A lap of this node's own is home again, and off the ring.
    fn home(&mut self, now: Now, body: Body, out: &mut Vec<Output>) {
        match (body, self.role) {
            (Body::Candidate { attempt }, Role::Stands) if attempt == self.count => {
                let winner = self.rules.winner(self.own());
                if winner == self.own() {
                    return self.lead(now, out);
                }
                // It will be heard of; if not, this node stands again.
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
            crate::mark!(RingAside);
            return self.pass_on(now, lap, out);
        }
        if let Role::Leads { .. } = self.role {
            if lap.origin < self.own() {
                crate::mark!(RingLeaderDefends);
                return self.beat(now, out);
            }
            self.step_back(now, Deposed::Lost, out);
        }
        let verdict = self.rules.candidate(self.own(), lap.origin, self.takes_part);
        if verdict.stand {
            self.stand(now, out);
        } else if !std::mem::replace(&mut self.takes_part, true) {
            // The candidate has so long to win.
            self.wait_for_silence(now, out);
        }
        if verdict.pass {
            self.pass_on(now, lap, out);
        }
    }

    fn leader_heard(&mut self, now: Now, lap: Lap, reign: u64, number: u64, out: &mut Vec<Output>) {
        if self.leader.is_some_and(|(node, of, last)| (node, of) == (lap.origin, reign) && number <= last) {
            crate::mark!(RingLapAgain);
            return;
        }
        let is_higher = lap.origin > self.own();
        match self.role {
            Role::Leads { .. } if !is_higher => return self.stand(now, out),
            // It is about to meet this node's id.
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
            // Alone on the ring there is nobody to be heard.
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
            // Timers of a role that ended meanwhile; what other protocols say.
            _ => {}
        }
        while let Some(lap) = self.arrived.pop_front() {
            self.lap(now, lap, out);
        }
    }
}
