//! `bully`: the highest live id leads, and takes leadership from whoever has it.
//!
//! **Where it comes from.** Garcia-Molina, "Elections in a Distributed Computing System" (IEEE Transactions on Computers
//! C-31(1), 1982), in the three messages of the textbooks (Coulouris et al., "Distributed Systems", 5th edition, 15.3;
//! Tanenbaum and van Steen, "Distributed Systems", 6.5.1). Who misses the coordinator sends ELECTION to every higher id.
//! Nobody answers within `T`: it leads, and says so with COORDINATOR to every lower id. Somebody answers OK: it waits as
//! long again and once more (`T'`) for that COORDINATOR, and then begins anew. Who gets an ELECTION answers OK and holds
//! an election of its own, unless it is holding one. A process that starts holds an election; so does one that hears of a
//! leader lower than itself. For comparison: uwiger/gen_leader_revival, `src/gen_leader.erl` (Stoller's variant, with a
//! round of acknowledgements before anybody leads).
//!
//! `T` is the request timeout here, as an ELECTION is a request; the paper detects failures by calls that time out, here
//! the leader sends a heartbeat per `renew_interval`, and is missed after one ttl.
//!
//! **What the textbooks leave out, and what is done here.**
//! - What a leader does that is asked: it answers OK, and announces itself to who asks unless it has just done so. It does
//!   not begin an election whose outcome is known.
//! - A lost COORDINATOR: a heartbeat counts as one.
//! - A leader that hears of a lower one has been away. It stops, and holds an election like anybody, so that it leads with
//!   what it reads afresh. Within `T` of its own announcement the two may have crossed; then it announces itself again.
//! - So does a leader that finds it has sent no heartbeat for a ttl: it has been given up, and this is its recovery.
//! - Giving up: it says so to all, who elect without it at once. It stands aside until nobody leads.
//! - The paper's HALT, which every lower node must answer before a new coordinator acts, is not in the textbooks and not
//!   here either: a bullied leader goes on until COORDINATOR reaches it.
//!
//! **What it assumes about time.** Synchrony: a live process answers within `T`, always. A belief has no end of its own.
//!
//! **What breaks it.** A cut: each side elects its highest. A pause: whoever does not answer in time is taken for dead, and
//! wakes as a second leader. There is no quorum, no lease and no token. And there is no hysteresis: a top node that stops
//! again and again takes leadership back each time.
//!
//! **What shows it.** `isolate-leader`, `gc-pause`, `slow-top-node`. In `clean-kill` the old leader, back with its memory
//! lost, bullies a leader that is in the middle of a write.

use super::{
    Hazard, OwnTimers, Promise, Protocol, Setup, Timings, Transport,
    promise::{self, UNFENCED},
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, boxed},
    payload::{Nothing, Payload},
    point::Point,
    service::Service,
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// The protocol as the registry knows it.
pub const PROTOCOL: Protocol = Protocol {
    name: "bully",
    about: "Garcia-Molina 1982: the highest id that answers leads, and takes over from any lower one; no quorum, no token",
    service: &Service::NONE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    // The dead one is asked too, and does not answer.
    takeover_max: |timings, _| timings.request_timeout + 10 * MILLISECOND,
    preference: super::Preference::Highest,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    timers: OwnTimers::NONE,
    claim: Some(|_, _, _| Message::Coordinator.erase()),
    read_lease: None,
    elector: |setup| boxed(Bully::new(setup)),
    promise: |hazard, _| match hazard {
        Hazard::None | Hazard::Resignation | Hazard::Starvation => Promise::Holds,
        // Who believes it stops, and nobody leads until it is missed.
        Hazard::ForgedClaim => Promise::Holds,
        Hazard::PauseBeyondLease | Hazard::CutOffFromPeers | Hazard::NoQuorum => UNFENCED,
        Hazard::BrokenRing | Hazard::SlowPreferred | Hazard::RestartInIsolation => UNFENCED,
        // A higher id that comes back takes over while the other still writes.
        _ => Promise::May,
    },
    bounds: promise::calm,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// What candidates say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To a higher id: are you there? Then you had better lead.
    Election,
    /// To a lower id, which asked: I am, wait.
    Ok,
    /// To a lower id: I lead.
    Coordinator,
    /// To all: I still lead.
    Heartbeat,
    /// To all: I lead no more, elect without me.
    Resigned,
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Election => "election",
            Message::Ok => "ok",
            Message::Coordinator => "coordinator",
            Message::Heartbeat => "heartbeat",
            Message::Resigned => "resignation",
        }
    }
}

/// The role's wait is over: for the leader, for answers, for the announcement.
const WAIT: TimerId = 0;
/// Time for a heartbeat.
const BEAT: TimerId = 1;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    /// Has a leader, or waits for one as long as for a silent leader.
    Follows,
    /// Has asked the higher ids.
    Asks,
    /// Somebody higher has answered; it is to announce itself.
    Awaits,
    /// Leads; when it told all lower ids so, and when it last said that it still does.
    Leads { announced_at: u64, beat_at: u64 },
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Bully {
    setup: Setup,
    role: Role,
    /// Whom it follows, as long as it does.
    leader: Option<NodeId>,
    /// [`Output::Campaign`] was said for this vacancy.
    campaigning: bool,
    /// Has resigned, and lets any other lead.
    aside: bool,
}

impl Bully {
    fn new(setup: Setup) -> Self {
        Bully { setup, role: Role::Follows, leader: None, campaigning: false, aside: false }
    }

    fn timings(&self) -> &Timings {
        &self.setup.timings
    }

    fn leads(&self) -> bool {
        matches!(self.role, Role::Leads { .. })
    }

    fn send(&self, to: NodeId, message: Message, out: &mut Vec<Output>) {
        out.push(Output::Send { to, message });
    }

    fn tell_all(&self, message: Message, out: &mut Vec<Output>) {
        self.setup.others().for_each(|to| self.send(to, message, out));
    }

    fn wait(&mut self, role: Role, until: u64, out: &mut Vec<Output>) {
        self.role = role;
        out.push(Output::SetTimer { id: WAIT, at: until });
    }

    /// Asks all higher ids but the one that does not want to.
    fn hold_election(&mut self, now: Now, unwilling: Option<NodeId>, out: &mut Vec<Output>) {
        self.step_back(Deposed::Lost, out);
        (self.aside, self.leader) = (false, None);
        out.push(Output::Observed(None));
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let own = self.setup.node;
        let higher: Vec<_> = self.setup.others().filter(|node| *node > own && Some(*node) != unwilling).collect();
        if higher.is_empty() {
            crate::mark!(BullyNobodyHigher);
            self.lead(now, out);
            // Whoever has resigned counts as lower.
            return unwilling
                .into_iter()
                .filter(|node| *node > own)
                .for_each(|to| self.send(to, Message::Coordinator, out));
        }
        higher.into_iter().for_each(|to| self.send(to, Message::Election, out));
        self.wait(Role::Asks, now.mono + self.timings().request_timeout, out);
    }

    fn lead(&mut self, now: Now, out: &mut Vec<Output>) {
        self.role = Role::Leads { announced_at: now.mono, beat_at: now.mono };
        self.campaigning = false;
        out.push(Output::CancelTimer(WAIT));
        let own = self.setup.node;
        self.setup.others().filter(|node| *node < own).for_each(|to| self.send(to, Message::Coordinator, out));
        out.push(Output::SetTimer { id: BEAT, at: now.mono + self.timings().renew_interval });
        // Nothing ends this belief but another leader.
        out.push(Output::Elected(Leadership { token: 0, valid_until: u64::MAX }));
    }

    fn beat(&mut self, now: Now, out: &mut Vec<Output>) {
        if let Role::Leads { beat_at, .. } = &mut self.role {
            *beat_at = now.mono;
        }
        out.push(Output::Point(Point::BeforeRenew));
        self.tell_all(Message::Heartbeat, out);
        out.push(Output::SetTimer { id: BEAT, at: now.mono + self.timings().renew_interval });
        out.push(Output::Point(Point::Renewed));
    }

    fn step_back(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if self.leads() {
            self.role = Role::Follows;
            out.push(Output::Deposed(why));
            out.push(Output::CancelTimer(BEAT));
        }
    }

    fn heard(&mut self, now: Now, from: NodeId, message: Message, out: &mut Vec<Output>) {
        match message {
            // Only a lower id asks; who stands aside is not there.
            Message::Election if !self.aside && from < self.setup.node => self.asked(now, from, out),
            Message::Ok if self.role == Role::Asks => {
                crate::mark!(BullyAnswered);
                self.wait(Role::Awaits, now.mono + 2 * self.timings().request_timeout, out);
            }
            Message::Coordinator | Message::Heartbeat => self.leader_heard(now, from, out),
            Message::Resigned if !self.leads() && self.leader.is_none_or(|leader| leader == from) => {
                self.hold_election(now, Some(from), out);
            }
            Message::Election | Message::Ok | Message::Resigned => {}
        }
    }

    fn asked(&mut self, now: Now, from: NodeId, out: &mut Vec<Output>) {
        self.send(from, Message::Ok, out);
        match self.role {
            Role::Follows => self.hold_election(now, None, out),
            Role::Leads { announced_at, .. } if !self.is_fresh(now, announced_at) => {
                self.send(from, Message::Coordinator, out);
            }
            Role::Leads { .. } | Role::Asks | Role::Awaits => {}
        }
    }

    /// May what arrives now have been sent before the announcement was heard?
    fn is_fresh(&self, now: Now, announced_at: u64) -> bool {
        now.mono < announced_at + self.timings().request_timeout
    }

    fn leader_heard(&mut self, now: Now, from: NodeId, out: &mut Vec<Output>) {
        if from > self.setup.node || self.aside {
            if self.leads() {
                crate::mark!(BullyBullied);
            }
            self.step_back(Deposed::Lost, out);
            (self.campaigning, self.leader) = (false, Some(from));
            out.push(Output::Observed(Some(from)));
            return self.wait(Role::Follows, now.mono + self.timings().lease_ttl, out);
        }
        match self.role {
            Role::Leads { announced_at, .. } if self.is_fresh(now, announced_at) => {
                self.send(from, Message::Coordinator, out);
            }
            Role::Follows | Role::Leads { .. } => self.hold_election(now, None, out),
            // It is about to be bullied.
            Role::Asks | Role::Awaits => {}
        }
    }
}

impl Elector for Bully {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // Before anything else: after a pause, messages and timers come in any order.
        if let Role::Leads { beat_at, .. } = self.role
            && now.mono > beat_at + self.timings().lease_ttl
        {
            crate::mark!(BullyOverslept);
            self.hold_election(now, None, out);
        }
        match input {
            Input::Start => self.wait(Role::Follows, now.mono, out),
            Input::Timer(WAIT) => match self.role {
                Role::Follows | Role::Awaits => self.hold_election(now, None, out),
                Role::Asks => self.lead(now, out),
                Role::Leads { .. } => {}
            },
            Input::Timer(BEAT) if self.leads() => self.beat(now, out),
            Input::Peer { from, message } => self.heard(now, from, message, out),
            Input::Resign if self.leads() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.step_back(Deposed::Resigned, out);
                self.aside = true;
                self.tell_all(Message::Resigned, out);
                // As long as others wait for a silent leader; when nobody leads by then, nobody can.
                self.wait(Role::Follows, now.mono + self.timings().lease_ttl, out);
            }
            Input::Fenced if self.leads() => {
                self.step_back(Deposed::Fenced, out);
                self.wait(Role::Follows, now.mono + self.timings().lease_ttl, out);
            }
            // Timers of a role that ended meanwhile; what other protocols say.
            _ => {}
        }
    }
}
