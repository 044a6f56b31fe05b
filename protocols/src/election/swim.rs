//! `swim`: a failure detector in which members do not all watch each other; the lowest id that it considers alive
//! leads.
//!
//! **Where it comes from.** Das, Gupta, Motivala, "SWIM: Scalable Weakly-consistent Infection-style Process Group
//! Membership Protocol" (DSN 2002), with Lifeguard's suspicion, as in hashicorp/memberlist (`state.go`, `suspicion.go`,
//! `awareness.go`, `config.go: DefaultLANConfig`): each member probes one member per second, in random order. After 500
//! ms without an answer, three others are asked to try. Then the member becomes a suspect, and has at least 4 s to
//! refute that by a higher incarnation number. Updates travel on the probes, and every 200 ms to three other members.
//! The detector does not know about leaders ([`detector`]); people take the lowest id in such a list for the leader,
//! although its authors warn against it.
//!
//! **How it scales.** All constants are memberlist's, multiplied by the renewal interval in seconds: the default,
//! `--lease-ttl 3s`, makes that 1 s. The TTL here is the earliest time after which a silent member counts as dead: one
//! failed probe and the shortest suspicion, five intervals.
//!
//! **What it assumes about time.** A live member answers one of its probers in time, or hears the accusation and
//! refutes it in time. A belief does not expire.
//!
//! **What breaks it.** A pause or a partition: there is no quorum and no token, so each side declares the other dead
//! and leads. It is a detector, and cannot be a source of tokens. It does better than plain heartbeats (`lowest-id`) in
//! one respect: one bad link or a lost packet makes nobody dead.
//!
//! **What shows it.** `detector-comparison`, `isolate-leader`, `gc-pause`.

pub mod detector;
pub mod gossip;
mod message;
mod updates;

use super::{
    OwnTimers, Preference, Promise, Protocol, Setup, Transport, hazard,
    promise::{self, UNFENCED},
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, boxed},
    payload::Nothing,
    point::Point,
    service::Service,
    types::{Leadership, NodeId, SECOND},
};
use detector::{Detector, Effect};
pub use message::{Body, Message};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "swim",
    about: "SWIM's failure detector as in memberlist, and the lowest id that it holds alive leads; no quorum, no token",
    service: &Service::NONE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    // One probe and the shortest suspicion.
    granted_ttl: |ttl| ttl.saturating_mul(5) / 3,
    renew_interval: |granted| granted / 5,
    takeover_max: |timings, candidates| {
        // Where all have resigned, the first of them has to rejoin.
        let rejoins = (REJOIN_INTERVALS + JOIN_INTERVALS) * timings.renew_interval;
        let granted = timings.lease_ttl.saturating_mul(5) / 3;
        (takeover_intervals(candidates) * timings.renew_interval).max(rejoins.saturating_sub(granted))
    },
    preference: Preference::Lowest,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    read_lease: None,
    elector: |setup| boxed(Swim::new(setup)),
    promise: |hazard, _| match hazard {
        hazard::NONE | hazard::CLOCK_STEPS => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE | hazard::SLOW_PREFERRED | hazard::RESTART_IN_ISOLATION => UNFENCED,
        // Whether that member is mute or deaf, the other side declares it dead.
        hazard::CUT_OFF_FROM_PEERS | hazard::ONE_WAY_CUT | hazard::NO_QUORUM => UNFENCED,
        // A returning member with a better id leads once it has joined, whether or not the other has heard of it.
        _ => Promise::May,
    },
    bounds: promise::calm,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// The probe intervals, beyond the TTL's five, until all members have accused a dead one. Among up to nine members,
/// each probes it once in two rounds, and the suspicion is not at its shortest before two have confirmed it. Among
/// three nobody can confirm it: it is at its shortest at once, and what remains is the round until the dead one's turn.
fn takeover_intervals(candidates: u16) -> u64 {
    match candidates {
        // Who resigned has to rejoin.
        0 | 1 => REJOIN_INTERVALS + JOIN_INTERVALS,
        2 | 3 => 4,
        _ => 12,
    }
}

/// How many probe intervals a member waits to lead after it joined, so that a present leader hears of it first.
const JOIN_INTERVALS: u64 = 2;
/// How many probe intervals a member waits to rejoin after it resigned.
const REJOIN_INTERVALS: u64 = 5;

/// The detector's next action.
const DETECT: TimerId = 0;
/// The time since joining or leaving is long enough.
const STAND: TimerId = 1;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Swim {
    setup: Setup,
    detector: Detector,
    leads: bool,
    /// When it may lead, nanoseconds; `None` after it has resigned.
    stands_at: Option<u64>,
    /// Whether it stays away because it has failed, for longer than others would.
    aside: bool,
    observed: Option<NodeId>,
    /// When [`DETECT`] is set to fire.
    detect_at: Option<u64>,
    effects: Vec<Effect>,
}

impl Swim {
    fn new(setup: Setup) -> Self {
        let interval = setup.timings.renew_interval;
        let detector = Detector::new(setup.node, setup.names.len(), interval, setup.nonce);
        let (stands_at, effects) = (None, Vec::new());
        Swim { setup, detector, leads: false, stands_at, aside: false, observed: None, detect_at: None, effects }
    }

    fn interval(&self) -> u64 {
        self.setup.timings.renew_interval
    }

    /// Runs the detector, and carries out its effects.
    fn detect(&mut self, out: &mut Vec<Output>, work: impl FnOnce(&mut Detector, &mut Vec<Effect>)) {
        work(&mut self.detector, &mut self.effects);
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Send { to, message } => out.push(Output::Send { to, message }),
                Effect::Probing if self.leads => out.push(Output::Point(Point::BeforeRenew)),
                Effect::Probed if self.leads => out.push(Output::Point(Point::Renewed)),
                Effect::Probing | Effect::Probed | Effect::Changed { .. } => {}
            }
        }
        let at = self.detector.deadline();
        if self.detect_at.is_none_or(|set| at < set) {
            self.detect_at = Some(at);
            out.push(Output::SetTimer { id: DETECT, at });
        }
    }

    /// Leads or follows, according to the detector.
    fn decide(&mut self, now: Now, out: &mut Vec<Output>) {
        let members = (0..self.setup.names.len() as u16).map(NodeId).find(|node| self.detector.is_member(*node));
        let own = self.setup.node;
        let best = members == Some(own);
        if self.leads && !best {
            self.step_back(Deposed::Lost, out);
        } else if !self.leads && best && self.stands_at.is_some_and(|at| now.mono >= at) {
            self.leads = true;
            out.push(Output::Campaign);
            out.push(Output::Point(Point::BeforeCampaign));
            // Only news of a better member ends this belief.
            out.push(Output::Elected(Leadership { token: 0, valid_until: u64::MAX }));
        }
        let observed = if best { self.leads.then_some(own) } else { members };
        if observed != self.observed {
            self.observed = observed;
            out.push(Output::Observed(observed));
        }
    }

    fn step_back(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.leads) {
            out.push(Output::Deposed(why));
        }
    }

    fn join_again(&mut self, now: Now, out: &mut Vec<Output>) {
        self.aside = false;
        self.stand_later(now, out);
        self.detect(out, |detector, effects| detector.join(now.mono, effects));
    }

    fn stand_later(&mut self, now: Now, out: &mut Vec<Output>) {
        let at = now.mono + JOIN_INTERVALS * self.interval();
        self.stands_at = Some(at);
        out.push(Output::SetTimer { id: STAND, at });
    }
}

impl Elector for Swim {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => {
                self.stand_later(now, out);
                self.detect(out, |detector, effects| detector.start(now.mono, effects));
            }
            Input::Timer(DETECT) => {
                self.detect_at = None;
                self.detect(out, |detector, effects| detector.poll(now.mono, effects));
            }
            Input::Timer(STAND) if self.stands_at.is_none() => self.join_again(now, out),
            Input::Peer { from, message } if from.index() < self.setup.names.len() => {
                self.detect(out, |detector, effects| detector.message(now.mono, from, message, effects));
            }
            Input::Resign if self.leads => {
                out.push(Output::Point(Point::BeforeRelease));
                self.step_back(Deposed::Resigned, out);
                self.stands_at = None;
                out.push(Output::SetTimer { id: STAND, at: now.mono + REJOIN_INTERVALS * self.interval() });
                self.detect(out, |detector, effects| detector.leave(now.mono, effects));
            }
            Input::StandAside(length) if self.stands_at.is_none() => {
                self.aside = true;
                let rejoins_at = now.mono.saturating_add(length.max(REJOIN_INTERVALS * self.interval()));
                out.push(Output::SetTimer { id: STAND, at: rejoins_at });
            }
            Input::Fenced => {
                self.step_back(Deposed::Fenced, out);
                self.stand_later(now, out);
            }
            // A timer that only triggers the decision, and messages of other protocols.
            _ => {}
        }
        // No other member is left to stand aside for.
        if self.aside && !self.setup.others().any(|node| self.detector.is_member(node)) {
            self.join_again(now, out);
        }
        self.decide(now, out);
    }
}
