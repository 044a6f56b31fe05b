//! `lowest-id`: nodes signal that they are alive, and the lowest live id leads.
//!
//! **Where it comes from.** VRRP with ids as priorities (RFC 5798, section 6.4; acassen/keepalived,
//! `keepalived/vrrp/vrrp.c: vrrp_state_backup, vrrp_state_master_rx`). Only the leader advertises, once per
//! `renew_interval`. A backup without an advertisement for `Master_Down_Interval` (three intervals, here the TTL, plus
//! a skew that is shorter for better ids) takes over. A backup with a better id than the leader's ignores its
//! advertisements (`Preempt_Mode`, the default), and so takes over in the end; a leader that hears a better one steps
//! down at once. A leader that shuts down announces it (priority 0), and the next one waits only for its skew.
//!
//! **What it assumes about time.** Advertisements always arrive within the TTL. A belief does not expire.
//!
//! **What breaks it.** Everything: a partition, a one-way loss of advertisements, a pause of the leader. There is no
//! quorum, no lease and no token: both sides lead, and the resource cannot tell them apart.
//!
//! **What shows it.** `asymmetric-partition` (acassen/keepalived issue 1528), `isolate-leader`, `gc-pause`.

use super::{
    OwnTimers, Promise, Protocol, Setup, Timings, Transport, hazard,
    phi::Phi,
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
    name: "lowest-id",
    about: "VRRP's rule: the leader advertises, the lowest live id takes over after silence; no quorum, no token",
    service: &Service::NONE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timings.renew_interval + 10 * MILLISECOND,
    read_lease: None,
    preference: super::Preference::Lowest,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: Some(|_, _, _| Message::Advertisement.erase()),
    elector: |setup| boxed(LowestId::new(setup)),
    promise: |hazard, _| match hazard {
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_PEERS | hazard::NO_QUORUM => UNFENCED,
        hazard::SLOW_PREFERRED | hazard::RESTART_IN_ISOLATION => UNFENCED,
        // A leader that believes it stops, and nobody leads until it is missed.
        hazard::FORGED_CLAIM => Promise::Holds,
        // A better id that returns, or starts a moment later, takes over while the other still writes.
        _ => Promise::May,
    },
    bounds: promise::preferring,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// The sender leads.
    Advertisement,
    /// The sender has resigned: priority 0 in VRRP.
    Release,
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Advertisement => "advertisement",
            Message::Release => "release",
        }
    }
}

/// The leader's next advertisement.
const ADVERTISE: TimerId = 0;
/// The leader has been silent for too long.
const MASTER_DOWN: TimerId = 1;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct LowestId {
    setup: Setup,
    /// Decides how long a silence may last, if not the TTL.
    phi: Option<Phi>,
    leads: bool,
    /// Whether [`Output::Campaign`] was sent for the present vacancy.
    campaigning: bool,
    /// Until then it accepts worse ids as leaders too, and comes last if nobody leads.
    aside_until: u64,
}

impl LowestId {
    fn new(setup: Setup) -> Self {
        LowestId { setup, phi: None, leads: false, campaigning: false, aside_until: 0 }
    }

    /// An elector with an adaptive failure detector.
    pub(super) fn adaptive(setup: Setup) -> Self {
        let phi = Some(Phi::new(setup.timings.renew_interval, setup.timings.lease_ttl));
        LowestId { phi, ..LowestId::new(setup) }
    }

    fn timings(&self) -> &Timings {
        &self.setup.timings
    }

    /// `Skew_Time`: the better the id, the shorter. A node that stands aside comes after all others.
    fn skew(&self, now: Now) -> u64 {
        let (count, interval) = (self.setup.names.len().max(1) as u64, self.timings().renew_interval);
        let skew = interval * (u64::from(self.setup.node.0) + 1) / (count + 1);
        if self.stands_aside(now) { interval + skew } else { skew }
    }

    fn stands_aside(&self, now: Now) -> bool {
        now.mono < self.aside_until
    }

    fn wait_for_silence(&self, now: Now, out: &mut Vec<Output>) {
        let patience = self.phi.as_ref().map_or(self.timings().lease_ttl, Phi::patience);
        if patience > 2 * self.timings().lease_ttl {
            crate::mark!("phi: others wait for a leader twice as long as usual");
        }
        out.push(Output::SetTimer { id: MASTER_DOWN, at: now.mono.saturating_add(patience) + self.skew(now) });
    }

    fn tell_all(&self, message: Message, out: &mut Vec<Output>) {
        for to in self.setup.others() {
            out.push(Output::Send { to, message });
        }
    }

    fn lead(&mut self, now: Now, out: &mut Vec<Output>) {
        self.leads = true;
        if !self.campaigning {
            out.push(Output::Campaign);
        }
        self.campaigning = false;
        out.push(Output::Point(Point::BeforeCampaign));
        out.push(Output::CancelTimer(MASTER_DOWN));
        self.advertise(now, out);
        // Only a better advertisement ends this belief.
        out.push(Output::Elected(Leadership { token: 0, valid_until: u64::MAX }));
    }

    fn advertise(&self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeRenew));
        self.tell_all(Message::Advertisement, out);
        out.push(Output::SetTimer { id: ADVERTISE, at: now.mono + self.timings().renew_interval });
    }

    fn step_back(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        if !std::mem::take(&mut self.leads) {
            return;
        }
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(ADVERTISE));
        self.wait_for_silence(now, out);
    }

    fn heard(&mut self, now: Now, from: NodeId, message: Message, out: &mut Vec<Output>) {
        match message {
            Message::Advertisement if self.leads => {
                if from < self.setup.node {
                    crate::mark!("lowest-id: a leader hears of a better one");
                    self.step_back(now, Deposed::Lost, out);
                    out.push(Output::Observed(Some(from)));
                } else {
                    crate::mark!("lowest-id: a leader hears of a worse one");
                    // At once, so that the worse one steps down.
                    self.tell_all(Message::Advertisement, out);
                }
            }
            Message::Advertisement => {
                out.push(Output::Observed(Some(from)));
                // A worse leader's advertisements do not count, unless this node stands aside.
                if from < self.setup.node || self.stands_aside(now) {
                    self.campaigning = false;
                    if let Some(phi) = &mut self.phi {
                        phi.heard(from, now.mono);
                    }
                    self.wait_for_silence(now, out);
                }
            }
            Message::Release if !self.leads => {
                crate::mark!("lowest-id: a leader lets go");
                out.push(Output::Observed(None));
                self.campaigning = true;
                out.push(Output::Campaign);
                out.push(Output::SetTimer { id: MASTER_DOWN, at: now.mono + self.skew(now) });
            }
            Message::Release => {}
        }
    }
}

impl Elector for LowestId {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => self.wait_for_silence(now, out),
            Input::Timer(MASTER_DOWN) if !self.leads => self.lead(now, out),
            Input::Timer(ADVERTISE) if self.leads => {
                self.advertise(now, out);
                out.push(Output::Point(Point::Renewed));
            }
            Input::Peer { from, message } => self.heard(now, from, message, out),
            Input::Resign if self.leads => {
                out.push(Output::Point(Point::BeforeRelease));
                self.step_back(now, Deposed::Resigned, out);
                self.tell_all(Message::Release, out);
            }
            Input::StandAside(length) if !self.leads => {
                self.aside_until = now.mono.saturating_add(length);
                self.wait_for_silence(now, out);
            }
            Input::Fenced => self.step_back(now, Deposed::Fenced, out),
            // Timers of a role that has ended, and messages of other protocols.
            _ => {}
        }
    }
}
