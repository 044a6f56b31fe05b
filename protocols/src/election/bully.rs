//! `bully`: the highest live id leads, and takes leadership from any lower one.
//!
//! **Where it comes from.** Garcia-Molina, "Elections in a Distributed Computing System" (IEEE Transactions on
//! Computers C-31(1), 1982), in the three messages of the textbooks (Coulouris et al., "Distributed Systems", 5th
//! edition, 15.3; Tanenbaum and van Steen, "Distributed Systems", 6.5.1). A process that misses the coordinator sends
//! ELECTION to every higher id. If nobody answers within `T`, it leads, and sends COORDINATOR to every lower id. If one
//! answers OK, it waits `2T` (the books' `T'`) for that one's COORDINATOR, and then starts over. A process that
//! receives ELECTION answers OK and holds an election of its own, unless it is already holding one. So does a process
//! that starts, or that hears of a leader lower than itself. For comparison: uwiger/gen_leader_revival,
//! `src/gen_leader.erl` (Stoller's variant, with a round of acknowledgements before a process leads).
//!
//! `T` is the request timeout here, since an ELECTION is a request. The paper detects failures by calls that time out;
//! here the leader sends a heartbeat every `renew_interval`, and is missed after one TTL.
//!
//! **What the textbooks leave out, and what is done here.**
//! - A leader that receives ELECTION answers OK, and announces itself to the sender unless it has just done so. It does
//!   not start an election with a known outcome.
//! - A heartbeat makes up for a lost COORDINATOR.
//! - A leader that hears of a lower leader has been away. It steps down and holds an election, so that it leads with
//!   freshly read state. Within `T` of its own announcement, however, the two messages may have crossed, and it only
//!   announces itself again.
//! - A leader that finds it has sent no heartbeat for a TTL does the same: the others have given it up, and this is its
//!   recovery.
//! - A leader that resigns tells all others, who elect without it at once. It stands aside as long as another leads.
//! - The paper's HALT, which every lower node must answer before a new coordinator acts, is missing in the textbooks
//!   and here: a bullied leader carries on until COORDINATOR reaches it.
//!
//! **What it assumes about time.** Synchrony: a live process always answers within `T`. A belief does not expire.
//!
//! **What breaks it.** A partition: each side elects its highest. A pause: a process that does not answer in time
//! counts as dead, and wakes up as a second leader. There is no quorum, no lease and no token. Nor is there hysteresis:
//! a top node that stalls repeatedly takes leadership back each time.
//!
//! **What shows it.** `isolate-leader`, `gc-pause`, `slow-top-node`. In `clean-kill` the old leader returns without its
//! memory, and bullies a leader in the middle of a write.

use super::{
    OwnTimers, Promise, Protocol, Setup, Timings, Transport, hazard,
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

/// The registry entry.
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
    // The dead one is asked as well, and does not answer.
    takeover_max: |timings, _| timings.request_timeout + 10 * MILLISECOND,
    preference: super::Preference::Highest,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: Some(|_, _, _| Message::Coordinator.erase()),
    read_lease: None,
    elector: |setup| boxed(Bully::new(setup)),
    promise: |hazard, _| match hazard {
        hazard::NONE | hazard::RESIGNATION | hazard::STARVATION => Promise::Holds,
        // A leader that believes it stops, and nobody leads until it is missed.
        hazard::FORGED_CLAIM => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_PEERS | hazard::NO_QUORUM => UNFENCED,
        hazard::BROKEN_RING | hazard::SLOW_PREFERRED | hazard::RESTART_IN_ISOLATION => UNFENCED,
        // A higher id that returns takes over while the other still writes.
        _ => Promise::May,
    },
    bounds: promise::calm,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To a higher id: asks whether it is up and so has to lead instead.
    Election,
    /// To a lower id, in answer: it is up, and the sender has to wait.
    Ok,
    /// To a lower id: announces the sender as leader.
    Coordinator,
    /// To all: the sender still leads.
    Heartbeat,
    /// To all: the sender has resigned, and the others elect without it.
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

/// The end of the role's wait: for the leader, for answers, or for the announcement.
const WAIT: TimerId = 0;
/// The next heartbeat.
const BEAT: TimerId = 1;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    /// Has a leader, or is waiting for one before it counts as missing.
    Follows,
    /// Has asked the higher ids.
    Asks,
    /// A higher id has answered, and should announce itself.
    Awaits,
    /// Leads; when it last announced itself to all lower ids, and when it last sent a heartbeat.
    Leads { announced_at: u64, beat_at: u64 },
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Bully {
    setup: Setup,
    role: Role,
    /// The leader that it follows.
    leader: Option<NodeId>,
    /// Whether [`Output::Campaign`] was sent for this vacancy.
    campaigning: bool,
    /// Has resigned, and lets any other candidate lead.
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

    /// Asks all higher ids but the one that has resigned.
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
            crate::mark!("bully: nobody higher is left to ask");
            self.lead(now, out);
            // A candidate that has resigned counts as lower.
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
        // Only another leader ends this belief.
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
            // Only lower ids ask, and a candidate that stands aside does not answer.
            Message::Election if !self.aside && from < self.setup.node => self.asked(now, from, out),
            Message::Ok if self.role == Role::Asks => {
                crate::mark!("bully: somebody higher answers");
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

    /// Whether a message arriving now may have been sent before the announcement was received.
    fn is_fresh(&self, now: Now, announced_at: u64) -> bool {
        now.mono < announced_at + self.timings().request_timeout
    }

    fn leader_heard(&mut self, now: Now, from: NodeId, out: &mut Vec<Output>) {
        if from > self.setup.node || self.aside {
            if self.leads() {
                crate::mark!("bully: a leader hears of a higher one");
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
            // The other leader is about to be bullied.
            Role::Asks | Role::Awaits => {}
        }
    }
}

impl Elector for Bully {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, messages and timers come in any order.
        if let Role::Leads { beat_at, .. } = self.role
            && now.mono > beat_at + self.timings().lease_ttl
        {
            crate::mark!("bully: a leader wakes up after its silence was noticed");
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
                // As long as others wait for a silent leader; if nobody leads by then, nobody else can.
                self.wait(Role::Follows, now.mono + self.timings().lease_ttl, out);
            }
            Input::Fenced if self.leads() => {
                self.step_back(Deposed::Fenced, out);
                self.wait(Role::Follows, now.mono + self.timings().lease_ttl, out);
            }
            // Timers of a role that has ended, and messages of other protocols.
            _ => {}
        }
    }
}
