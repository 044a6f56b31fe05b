//! A candidate: its elector, and its works while it leads.
//!
//! The order of actions is the safety argument. Elected: seal every resource, read its state, then act. Deposed: the
//! work stops within the same step. Asked to resign: accept no new work, wait for the work under way, and only then
//! release the lease, so that the old leader has stopped before a successor can start.

mod bugs;
mod in_office;
mod letting_go;
mod reconnecting;
mod telling;

use crate::{
    bug::Bugs,
    clock::Now,
    core::{Core, Input, Output, TimerId},
    elector::{self, AnyElector, ELECTOR_TIMERS},
    history::{Kind, NodeState},
    message::{Message, WriteVerdict},
    point::Point,
    types::{Incarnation, Leadership, MILLISECOND, NodeId},
    work::{
        Works,
        duties::{Duties, Post, Sealed, Written},
    },
};
pub use bugs::{
    NOT_CANCELLED, RELEASED_BEFORE_JOINED, RENEWS_BETWEEN_JOBS, SHUTDOWN_STARTS_WORK, STANDS_ONCE, WORKS_ON_AFTER_LOSS,
};
pub use in_office::{CHECKED_EVERY, Tenure};
use std::sync::Arc;
pub use telling::Standing;

/// Default of [`Place::silence`]: longer than three consecutive losses delay a TCP connection (0.2 + 0.4 + 0.8 s), and
/// short enough for a leader to reach a store within 2 s of its return.
pub const STORE_SILENCE: u64 = 1_500 * MILLISECOND;
/// The shortest interval between checks for a silent store.
const LOOK_MIN: u64 = 25 * MILLISECOND;
/// The pause before reconnecting after a broken connection, nanoseconds; doubled up to [`PAUSE_MAX`]. The same as in
/// the real link.
const PAUSE_MIN: u64 = 20 * MILLISECOND;
const PAUSE_MAX: u64 = 1_000 * MILLISECOND;

/// The next check for a silent store.
const LOOK: TimerId = ELECTOR_TIMERS;
/// The end of the pause after a broken connection.
const AGAIN: TimerId = ELECTOR_TIMERS + 1;
/// The works' first timer.
const WORK: TimerId = ELECTOR_TIMERS + 2;

/// A node's configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub node: NodeId,
    /// The fenced store.
    pub store: NodeId,
    /// How often this node's process was started before; keeps its generations distinct across restarts.
    pub starts: u32,
    /// The period of periodic works, nanoseconds.
    pub tick: u64,
    /// How long the store may owe an answer, nanoseconds, before the connection is dropped and everything unanswered is
    /// resent over a new one.
    pub silence: u64,
    /// Whether reads are answered from memory while the belief is valid. Otherwise the store is asked.
    pub read_lease: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Node {
    place: Place,
    works: Arc<Works>,
    elector: Box<AnyElector>,
    elections: u32,
    lead: Option<Lead>,
    observed: Option<NodeId>,
    resigning: bool,
    /// The successor named by a transfer.
    successor: Option<NodeId>,
    /// Whether leadership was released with work under way.
    released: bool,
    bugs: Bugs,
    tenure: Tenure,
    /// How many connections to the store have broken since its last answer.
    broken: u32,
    /// How often it has stepped down since then because the store was silent.
    given_up: u32,
    /// Whether it is stepping down because the store is silent.
    stuck: bool,
    /// Whether its only election is over: [`STANDS_ONCE`].
    retired: bool,
    /// Whether the renewing task has failed without anybody having noticed: [`NOT_CANCELLED`].
    renewal_failed: bool,
    /// The elector's inputs that wait for the end of a job, with [`RENEWS_BETWEEN_JOBS`] or [`NOT_CANCELLED`].
    unheard: Vec<elector::Input>,
    scratch: Vec<elector::Output>,
}

/// A leadership that this node believes in.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lead {
    incarnation: Incarnation,
    valid_until: u64,
    elected_at: u64,
    /// Each resource's state at its seal.
    sealed: Vec<Option<Sealed>>,
    /// When seals were last requested.
    asked_at: u64,
    /// Since when the store has owed an answer, as of the last check.
    owed_since: Option<u64>,
    work: Option<Duties>,
    /// Whether the work continues although the belief has ended: [`WORKS_ON_AFTER_LOSS`].
    outlived: bool,
}

impl Node {
    /// A candidate with the default works, which has not started yet.
    pub fn new(place: Place, elector: Box<AnyElector>) -> Self {
        let (lead, observed, successor, scratch) = (None, None, None, Vec::new());
        let (works, bugs, resigning, released) = (Arc::default(), Bugs::default(), false, false);
        let (retired, renewal_failed, stuck) = (false, false, false);
        let (elections, broken, given_up, unheard, tenure) = (0, 0, 0, Vec::new(), Tenure::default());
        Node {
            place,
            works,
            elector,
            elections,
            lead,
            observed,
            resigning,
            successor,
            released,
            bugs,
            tenure,
            broken,
            given_up,
            stuck,
            retired,
            renewal_failed,
            unheard,
            scratch,
        }
    }

    /// Sets the bugs.
    pub fn with_bugs(self, bugs: Bugs) -> Self {
        Node { bugs, ..self }
    }

    /// Sets the works.
    pub fn with_works(self, works: Arc<Works>) -> Self {
        Node { works, ..self }
    }

    /// The number of timers of a node with these works.
    pub fn timers(works: &Works) -> TimerId {
        WORK + works.timers() + in_office::TIMERS
    }

    fn elect(&mut self, now: Now, input: elector::Input, out: &mut Vec<Output>) {
        if self.retired {
            return;
        }
        self.note_failed_renewal(&input);
        if self.is_deaf() {
            return self.unheard.push(input);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        self.elector.step(now, input, &mut scratch);
        for output in scratch.drain(..) {
            if self.retired && !letting_go::cleans_up(&output) {
                continue;
            }
            match output {
                elector::Output::Service(output) => out.push(Output::Service(Box::new(output))),
                elector::Output::Send { to, message } => out.push(Output::Tell { to, message }),
                elector::Output::Persist(state) => out.push(Output::Persist(state)),
                elector::Output::PowerOff { node, restart_after } => {
                    out.push(Output::PowerOff { node, restart_after });
                }
                elector::Output::SetTimer { id, at } => out.push(Output::SetTimer { id, at }),
                elector::Output::CancelTimer(id) => out.push(Output::CancelTimer(id)),
                elector::Output::Point(point) => out.push(Output::Point(point)),
                elector::Output::Campaign => out.push(Output::Record(Kind::Campaign { node: self.place.node })),
                elector::Output::Elected(leadership) => self.elected(now, leadership, out),
                elector::Output::Renewed(leadership) => {
                    if let Some(lead) = &mut self.lead {
                        lead.valid_until = leadership.valid_until;
                    }
                }
                elector::Output::Deposed(reason) => self.deposed(now, reason, out),
                elector::Output::Membership(node, joined) => {
                    let state = if joined { NodeState::Joined } else { NodeState::Left };
                    out.push(Output::Record(Kind::Node { node, state }));
                }
                elector::Output::Observed(leader) => self.observed = leader,
                elector::Output::Voted { candidate, token } => {
                    out.push(Output::Record(Kind::Vote { voter: self.place.node, candidate, token }));
                }
            }
        }
        self.scratch = scratch;
    }

    fn elected(&mut self, now: Now, leadership: Leadership, out: &mut Vec<Output>) {
        self.stop_outlived(out);
        self.elections += 1;
        let generation = (self.place.starts << 16) + self.elections;
        let incarnation = Incarnation { token: leadership.token, node: self.place.node, generation };
        out.push(Output::Record(Kind::Elected(incarnation)));
        out.push(Output::Point(Point::AfterElected));
        let sealed = self.works.each().map(|_| None).collect();
        let (valid_until, elected_at) = (leadership.valid_until, now.mono);
        let (asked_at, owed_since, work, outlived) = (now.mono, None, None, false);
        self.lead = Some(Lead { incarnation, valid_until, elected_at, sealed, asked_at, owed_since, work, outlived });
        (self.resigning, self.released) = (false, false);
        out.push(Output::Point(Point::BeforeSeal));
        self.seal(out);
        self.look_later(now, out);
        self.take_office(now, out);
    }

    /// Requests every missing seal.
    fn seal(&self, out: &mut Vec<Output>) {
        let Some(Lead { incarnation, sealed, .. }) = &self.lead else { return };
        for (resource, sealed) in self.works.each().zip(sealed) {
            if sealed.is_none() {
                let message = Message::Seal { resource, generation: incarnation.generation, token: incarnation.token };
                out.push(Output::Send { to: self.place.store, message });
            }
        }
    }

    fn deposed(&mut self, now: Now, reason: elector::Deposed, out: &mut Vec<Output>) {
        if reason == elector::Deposed::Resigned && !self.is_joined() && self.bugs.has(&RELEASED_BEFORE_JOINED) {
            self.released = true;
            return;
        }
        let Some(lead) = self.lead.take() else { return };
        let reason = if std::mem::take(&mut self.stuck) { elector::Deposed::Stuck } else { reason };
        self.resigning = false;
        self.retire_after(reason);
        let incarnation = lead.incarnation;
        match self.outlives(reason, &lead) {
            true => self.work_on(now, lead),
            false => self.stop_work(out),
        }
        out.push(Output::Record(Kind::Deposed { incarnation, reason }));
        out.push(Output::Point(Point::AfterDeposed));
    }

    fn message(&mut self, now: Now, message: Message, out: &mut Vec<Output>) {
        match message {
            Message::Next { request } => match &mut self.lead {
                Some(Lead { valid_until, work: Some(work), .. })
                    if now.mono < *valid_until && !self.resigning && !work.is_full(&self.works) =>
                {
                    out.push(Output::Point(Point::LeaseChecked));
                    work.serve(&self.works, now, request, out);
                }
                lead => {
                    // A leader that cannot act knows of no better one.
                    let leader = if lead.is_some() { None } else { self.observed };
                    out.push(Output::Send { to: request.client, message: Message::NotLeader { request, leader } });
                }
            },
            Message::Written { resource, generation, seq, request, verdict } => {
                self.store_answers();
                let Some(Lead { work: Some(work), valid_until, .. }) = &mut self.lead else { return };
                let acts = now.mono < *valid_until && !self.resigning;
                let answer = Written { resource, generation, seq, request, verdict, acts };
                if !work.written(&self.works, now, answer, out) {
                    crate::mark!("node: fenced at a write");
                    self.fenced(now, out);
                } else if self.resigning {
                    self.let_go_when_joined(now, out);
                } else if work.is_finished() {
                    self.let_go(now, None, out);
                }
            }
            Message::Sealed { generation, token, .. } | Message::SealRefused { generation, token, .. } => {
                self.store_answers();
                let Some(lead) = &mut self.lead else { return };
                if lead.incarnation.generation != generation || lead.incarnation.token != token || lead.work.is_some() {
                    crate::mark!("node: a seal is answered that nobody waits for any more");
                    return;
                }
                let Message::Sealed { resource, seq, version, payload, .. } = message else {
                    crate::mark!("node: fenced at the seal");
                    return self.elect(now, elector::Input::Fenced, out);
                };
                if let Some(sealed) = lead.sealed.get_mut(resource.index()) {
                    *sealed = Some(Sealed { seq, version, payload });
                }
                self.work_when_sealed(now, out);
            }
            Message::Read { request } => self.read(now, request, out),
            Message::StoreIs { request, generation, token, verdict, seq } => {
                if verdict == WriteVerdict::Ok {
                    // The store's answer was valid at some time between request and answer, whoever leads by now.
                    return out
                        .push(Output::Send { to: request.client, message: Message::ReadIs { request, token, seq } });
                }
                out.push(Output::Send { to: request.client, message: Message::NotLeader { request, leader: None } });
                if self
                    .lead
                    .as_ref()
                    .is_some_and(|l| l.incarnation.generation == generation && l.incarnation.token == token)
                {
                    crate::mark!("node: fenced at a read");
                    self.fenced(now, out);
                }
            }
            // Not for a node.
            _ => {}
        }
    }

    fn work_when_sealed(&mut self, now: Now, out: &mut Vec<Output>) {
        let warm = self.lead.as_ref().is_some_and(|lead| self.is_warm(now, lead.elected_at));
        let Some(lead) = self.lead.as_mut().filter(|lead| warm && lead.work.is_none()) else { return };
        let Some(sealed) = lead.sealed.iter().copied().collect::<Option<Vec<Sealed>>>() else { return };
        let Place { store, tick, .. } = self.place;
        out.push(Output::Point(Point::AfterSeal));
        let post = Post { store, incarnation: lead.incarnation, period: tick, first_timer: WORK };
        lead.work = Some(Duties::start(&self.works, post, &sealed, now, out));
        // An order to resign may have arrived before the seals.
        if self.resigning {
            self.let_go_when_joined(now, out);
        }
    }

    fn timer(&mut self, now: Now, id: TimerId, out: &mut Vec<Output>) {
        if id < ELECTOR_TIMERS {
            return self.elect(now, elector::Input::Timer(id), out);
        }
        if self.in_office(now, id, out) {
            return;
        }
        let deaf = self.is_deaf();
        let Some(lead) = &mut self.lead else { return };
        let valid = now.mono < lead.valid_until;
        match (id, &mut lead.work) {
            (LOOK, _) if lead.outlived && !valid => self.stop_outlived(out),
            (LOOK, work) => {
                let silence = self.place.silence;
                let overdue = match work {
                    Some(work) => work.is_overdue(now.mono, silence),
                    // Everything is sealed, but it is still warming up.
                    None if lead.sealed.iter().all(Option::is_some) => false,
                    None => now.mono - lead.asked_at >= silence,
                };
                if overdue && valid {
                    out.push(Output::Redial { to: self.place.store });
                    self.start_over(now, out);
                }
                self.look_later(now, out);
                self.step_down_if_stuck(now, out);
            }
            (AGAIN, _) if valid => self.start_over(now, out),
            (id, Some(work)) if id >= WORK => {
                let valid = valid || deaf;
                work.timer(&self.works, now, id - WORK, valid && !self.resigning, out);
                self.hear(now, out);
                if self.resigning {
                    self.let_go_when_joined(now, out);
                }
            }
            _ => {}
        }
    }
}

impl Core for Node {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Peer { from, message } => self.elect(now, elector::Input::Peer { from, message }, out),
            Input::Message { message, .. } => self.message(now, message, out),
            Input::Disconnected { peer } => self.disconnected(now, peer, out),
            Input::Persisted => self.elect(now, elector::Input::Persisted, out),
            Input::Timer(id) => self.timer(now, id, out),
            Input::Service(input) => self.elect(now, elector::Input::Service(*input), out),
            Input::Start => self.start(now, out),
            Input::Resign => self.let_go(now, None, out),
            Input::Transfer(to) => self.let_go(now, Some(to), out),
            Input::AddVoter(node) => self.elect(now, elector::Input::AddVoter(node), out),
            Input::RemoveVoter(node) => self.elect(now, elector::Input::RemoveVoter(node), out),
            // It stands in one group only, without a number.
            Input::OfGroup(..) => {}
        }
    }
}
