//! `raft`: the leader of a Raft term leads as long as a majority's lease lasts.
//!
//! **Where it comes from.** Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014), with
//! the leader lease, leadership transfer and pre-vote of Ongaro's dissertation (§6.4.1, §3.10, §9.6), by the openraft
//! crate (databendlabs/openraft, 0.10.0-alpha.37), which runs in the candidate's process
//! (`clients/src/raft/client.rs`). Election timeout 150 to 300 ms, heartbeat every 50 ms. openraft keeps leading after
//! it has lost its majority; only its lease reads end then (`openraft/src/proposer/leader.rs: is_lease_valid`), and so
//! does this belief.
//!
//! **What it assumes about time.** openraft's followers grant no vote within the *upper* end of the election timeout
//! after the leader's last message, by their own clocks (`openraft/src/engine/engine_config.rs: EngineConfig::new` sets
//! the lease, `engine_impl.rs: handle_vote_req, handle_pre_vote_req` refuse). The leader counts from when it *sent* the
//! last round that a majority acknowledged (`proposer/leader.rs: update_clock`; counting from the answer's arrival
//! would be sofa-jraft issue 34), and believes for nine tenths of that time: long enough to survive lost heartbeats,
//! and over before a successor can be elected if no two clocks differ by more than a tenth in rate. A new leader starts
//! without a lease, and believes from its first acknowledged round on. A restarted follower has forgotten its promises,
//! so it waits first (`raft/server.rs`).
//!
//! **What breaks it.** A pause between checking the belief and writing, as always: Raft protects its own log from a
//! stale leader, not an external resource. With the token the resource can tell.
//!
//! **What shows it.** `gc-pause`, and `isolate-leader` for the lease.
//!
//! **The token is the term.** openraft is used with the paper's leader ids, at most one leader per term, and a vote is
//! on disk before it is granted, so terms only rise, across restarts. The election itself draws the token. A token
//! belongs to one leadership: once a belief in a term has ended, for whatever reason, that term is not believed in
//! again. If its Raft leader is still acknowledged, it hands over, and the winner has a new term.
//!
//! **Resigning.** The belief ends first; then openraft is asked to hand over (openraft issue 1747: its lease outlives
//! the transfer; hashicorp/raft issue 487: so do writes).

use super::{
    Conditions, OwnTimers, Preference, Promise, Protocol, Setup, Timings, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, StreamNumber, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::raft::{self, Item, Reply, Request, StreamRequest},
    types::{Leadership, MILLISECOND, NodeId},
};

type Input = elector::Input<Nothing, raft::Api>;
type Output = elector::Output<Nothing, raft::Api>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "raft",
    about: "openraft in every candidate: leader of a term while a majority's lease lasts; the term is the token",
    service: &raft::SERVICE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: ELECTION_TIMEOUT.0,
    election_timeout: Some(ELECTION_TIMEOUT),
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    // A follower stands after the lease and its own timeout, and again after a split vote.
    takeover_max: |timings, _| {
        let (_, max) = timings.election_timeout.unwrap_or(ELECTION_TIMEOUT);
        (3 * max + 50 * MILLISECOND).saturating_sub(timings.lease_ttl)
    },
    // A restarted follower stands after the lease alone; others also wait for their own timeout.
    read_lease: Some(|timings| {
        let (_, max) = timings.election_timeout.unwrap_or(ELECTION_TIMEOUT);
        (max / 10 * 9, max)
    }),
    preference: Preference::Any,
    majority: true,
    ring: false,
    persists: true,
    forgets_to_wait: false,
    transfers: true,
    changes_members: true,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Raft::new(setup)),
    promise: |hazard, fencing| match (hazard, fencing) {
        (_, true) => Promise::Holds,
        (hazard::PAUSE_BEYOND_LEASE, false) => UNCHECKED,
        (hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::TRANSFER | hazard::CHURN, false) => {
            Promise::Holds
        }
        // The lease ends before anybody votes for another candidate, if the clocks are right.
        (hazard::CUT_OFF_FROM_PEERS | hazard::ONE_WAY_CUT | hazard::NO_QUORUM, false) => Promise::Holds,
        (hazard::SPLIT_VOTE | hazard::SLOW_PREFERRED | hazard::CLOCK_DRIFT | hazard::REJOIN, false) => Promise::Holds,
        (hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::RESTART_IN_ISOLATION, false) => Promise::Holds,
        (hazard::CLOCK_STEPS | hazard::STARVATION | hazard::FLAPPING | hazard::MISSING_LINK, false) => Promise::Holds,
        (hazard::DELAYED_RENEWALS, false) => Promise::Holds,
        (_, false) => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// The belief counts from sending, the followers' promise from the arrival; a restarted one first waits it out.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let (_, max) = timings.election_timeout.unwrap_or(ELECTION_TIMEOUT);
    Some(c.slow(max / 10 * 9).saturating_sub(c.fast(max / MILLISECOND * MILLISECOND)))
}

/// The paper's range, nanoseconds.
const ELECTION_TIMEOUT: (u64, u64) = (150 * MILLISECOND, 300 * MILLISECOND);

/// The end of the belief.
const EXPIRE: TimerId = 0;
/// The next request for a change of membership.
const RETRY: TimerId = 1;
/// The only stream, which watches the Raft node.
const WATCH: StreamNumber = 1;

/// An unanswered request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    Transfer,
    Change(Change),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Change {
    AddVoter(NodeId),
    RemoveVoter(NodeId),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Raft {
    setup: Setup,
    belief: Option<Leadership>,
    /// Terms up to this one are not believed in.
    ended: u64,
    /// The highest term in which this node has stood.
    stood: u64,
    observed: Option<Option<NodeId>>,
    requests: RequestNumber,
    under_way: Option<(RequestNumber, Asked)>,
    /// Membership changes to be requested.
    changes: Vec<Change>,
}

impl Raft {
    fn new(setup: Setup) -> Self {
        let (under_way, changes) = (None, Vec::new());
        Raft { setup, belief: None, ended: 0, stood: 0, observed: None, requests: 0, under_way, changes }
    }

    /// How long an acknowledged round supports the belief, counted from its sending.
    fn bound(&self) -> u64 {
        let (_, max) = self.setup.timings.election_timeout.unwrap_or(ELECTION_TIMEOUT);
        max / 10 * 9
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.requests += 1;
        self.under_way = Some((self.requests, asked));
        // A change of membership takes several rounds, and the newcomer has to catch up; a transfer takes an election.
        let (_, max) = self.setup.timings.election_timeout.unwrap_or(ELECTION_TIMEOUT);
        out.push(Output::Service(ServiceOutput::Request {
            number: self.requests,
            request,
            timeout: self.setup.timings.request_timeout.max(4 * max),
            concurrent: false,
        }));
    }

    /// Asks openraft to hand over, unless it has been asked already. Other requests can wait.
    fn hand_over(&mut self, to: Option<NodeId>, out: &mut Vec<Output>) {
        match self.under_way {
            Some((_, Asked::Transfer)) => return,
            Some((number, Asked::Change(_))) => out.push(Output::Service(ServiceOutput::Cancel(number))),
            None => {}
        }
        crate::mark!("raft: leadership is handed over");
        self.ask(Request::Transfer { to }, Asked::Transfer, out);
    }

    fn observe(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != Some(leader) {
            self.observed = Some(leader);
            out.push(Output::Observed(leader));
        }
    }

    fn stand(&mut self, term: u64, out: &mut Vec<Output>) {
        if term > self.stood {
            self.stood = term;
            out.push(Output::Point(Point::BeforeCampaign));
            out.push(Output::Campaign);
        }
    }

    fn item(&mut self, now: Now, item: Item, out: &mut Vec<Output>) {
        match item {
            Item::Leading { term, acked_at } => self.acknowledged(now, term, acked_at, out),
            Item::Candidate { term } => {
                self.depose(Deposed::Lost, out);
                self.observe(None, out);
                self.stand(term, out);
            }
            Item::Following { leader, .. } => {
                self.depose(Deposed::Lost, out);
                self.observe(leader, out);
            }
        }
    }

    /// Handles a majority's acknowledgement of what this node sent at `acked_at` as the leader of `term`.
    fn acknowledged(&mut self, now: Now, term: u64, acked_at: u64, out: &mut Vec<Output>) {
        if self.belief.is_some_and(|belief| belief.token < term) {
            crate::mark!("raft: a newer term is won while an older one is believed in");
            self.depose(Deposed::Lost, out);
        }
        let valid_until = acked_at.saturating_add(self.bound());
        if valid_until <= now.mono {
            crate::mark!("raft: a round is acknowledged too late to be worth anything");
            return;
        }
        let leadership = Leadership { token: term, valid_until };
        match self.belief {
            Some(belief) if belief.token != term => {}
            Some(belief) if belief.valid_until >= valid_until => {}
            Some(_) => {
                self.belief = Some(leadership);
                out.push(Output::Point(Point::Renewed));
                out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
                out.push(Output::Renewed(leadership));
            }
            None if term > self.ended => {
                // A candidate that wins at once may never have been observed as one.
                self.stand(term, out);
                self.belief = Some(leadership);
                self.observed = None;
                out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
                out.push(Output::Elected(leadership));
            }
            None => self.hand_over(None, out),
        }
    }

    /// Ends the belief, and its term for good.
    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        let Some(belief) = self.belief.take() else { return };
        self.ended = belief.token;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(EXPIRE));
        // A former leader admits nobody; it may only still request its own removal.
        let own = Change::RemoveVoter(self.setup.node);
        self.changes.retain(|change| *change == own);
    }

    fn give_up(&mut self, why: Deposed, to: Option<NodeId>, out: &mut Vec<Output>) {
        if self.belief.is_some() {
            if why != Deposed::Fenced {
                out.push(Output::Point(Point::BeforeRelease));
            }
            self.depose(why, out);
            self.hand_over(to, out);
        }
    }

    fn change(&mut self, change: Change, out: &mut Vec<Output>) {
        if self.belief.is_none() {
            return;
        }
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
        // A leader does not remove itself; its successor does.
        if change == Change::RemoveVoter(self.setup.node) {
            crate::mark!("raft: the leader itself is to leave");
        }
        match change == Change::RemoveVoter(self.setup.node) {
            true => self.give_up(Deposed::Resigned, None, out),
            false => self.next_change(out),
        }
    }

    fn next_change(&mut self, out: &mut Vec<Output>) {
        let Some(change) = self.changes.first().copied().filter(|_| self.under_way.is_none()) else { return };
        if change == Change::RemoveVoter(self.setup.node) && self.belief.is_some() {
            // Elected again before the successor could remove it.
            return self.give_up(Deposed::Resigned, None, out);
        }
        let request = match change {
            Change::AddVoter(node) => Request::AddVoter { node },
            Change::RemoveVoter(node) => Request::RemoveVoter { node },
        };
        self.ask(request, Asked::Change(change), out);
    }

    fn replied(&mut self, now: Now, asked: Asked, reply: &Result<Reply, Failure>, out: &mut Vec<Output>) {
        let done = matches!(reply, Ok(Reply::Done));
        if let (Asked::Change(change), true) = (asked, done) {
            self.changes.retain(|waiting| *waiting != change);
            out.push(match change {
                Change::AddVoter(node) => Output::Membership(node, true),
                Change::RemoveVoter(node) => Output::Membership(node, false),
            });
        }
        if !self.changes.is_empty() {
            crate::mark!("raft: a change of the members is asked for again");
            // Not at once: a new leader must be known first, and a refused request would be refused again.
            out.push(Output::SetTimer { id: RETRY, at: now.mono + self.setup.timings.renew_interval });
        }
    }
}

impl Elector for Raft {
    type Peer = Nothing;
    type Service = raft::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, items and timers come in any order.
        if self.belief.is_some_and(|belief| belief.valid_until <= now.mono) {
            crate::mark!("raft: the belief ends by the clock");
            self.depose(Deposed::Expired, out);
        }
        match input {
            Input::Start => {
                out.push(Output::Service(ServiceOutput::Open { number: WATCH, request: StreamRequest::Watch }))
            }
            Input::Service(ServiceInput::Item { item, .. }) => self.item(now, item, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some((_, asked)) = self.under_way.take_if(|(under_way, _)| *under_way == number) {
                    self.replied(now, asked, &reply, out);
                }
            }
            Input::Timer(RETRY) => self.next_change(out),
            // A candidate withdraws with its node.
            Input::Resign | Input::Withdraw => self.give_up(Deposed::Resigned, None, out),
            Input::Transfer(to) => self.give_up(Deposed::Resigned, Some(to), out),
            Input::Fenced => self.give_up(Deposed::Fenced, None, out),
            Input::AddVoter(node) => self.change(Change::AddVoter(node), out),
            Input::RemoveVoter(node) => self.change(Change::RemoveVoter(node), out),
            // The timer of a renewed or ended belief; openraft handles its peers, state and watch itself.
            Input::Timer(_) | Input::Service(_) | Input::Peer { .. } | Input::Persisted | Input::StandAside(_) => {}
        }
    }
}
