//! A leader's works. Each is a separate core, which declares as data the resources that it writes to; the node
//! ([`crate::node`]) seals them, checks the lease, resends and stops.

pub mod cache_invalidator;
pub mod duties;
pub mod enactor;
pub mod job_queue;
pub mod nightly_job;
pub mod once;
pub mod outbox;
pub mod scheduler;
pub mod sequencer;
pub mod work_set;
mod works;

use crate::{
    bug::Bug,
    clock::Now,
    core::{Output, TimerId},
    fence::checks::ChargeCheck,
    history::Kind as Happened,
    message::Message,
    parameter::{Parameter, Values},
    payload::State,
    point::Point,
    types::{NodeId, Operation, Payload, RequestId},
};
use outbox::Outbox;
use std::{
    hash::{Hash, Hasher},
    num::NonZeroU64,
};
pub use works::{Works, WorksError};

crate::registry! {
    /// All works.
    pub const ALL: [&Kind] = [
        &sequencer::WORK,
        &scheduler::WORK,
        &job_queue::WORK,
        &enactor::WORK,
        &work_set::COMPACTION,
        &work_set::PENDING_JOBS,
        &once::INVOICES,
        &once::QUEUE_WORKER,
        &cache_invalidator::WORK,
        &nightly_job::WORK,
    ];
}

/// The number of resources of all works.
pub const RESOURCES: usize = {
    let (mut count, mut place) = (0, 0);
    while place < ALL.len() {
        count += ALL[place].resources.len();
        place += 1;
    }
    count
};

/// The names of these resources, in the order of [`ALL`].
pub const fn resources() -> [&'static str; RESOURCES] {
    let (mut names, mut count, mut place) = ([""; RESOURCES], 0, 0);
    while place < ALL.len() {
        let mut own = 0;
        while own < ALL[place].resources.len() {
            names[count] = ALL[place].resources[own];
            count += 1;
            own += 1;
        }
        place += 1;
    }
    names
}

/// The default works.
pub const USUAL: [&Kind; 2] = [&sequencer::WORK, &scheduler::WORK];

pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.into_iter().find(|kind| kind.name == name)
}

/// A kind of work, as data.
#[derive(Debug)]
pub struct Kind {
    /// Its name in plans.
    pub name: &'static str,
    /// A description in one sentence.
    pub about: &'static str,
    /// The names of its resources. Each is sealed before the work starts.
    pub resources: &'static [&'static str],
    /// Whether it serves clients' requests for numbers, which come from the first of its resources.
    pub serves: bool,
    /// The number of its timers.
    pub timers: TimerId,
    /// What `--set` sets of it.
    pub parameters: &'static [Parameter],
    /// Creates the work for a new leadership.
    pub new: fn() -> Box<dyn Work>,
}

/// A kind is identified by its name.
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// A work's state can be compared, hashed and copied; every `Work + Clone + Eq + Hash` implements this.
pub trait WorkState: State {
    /// A copy in the same state.
    fn copy(&self) -> Box<dyn Work>;
}

impl<W: Work + Clone + Eq + Hash> WorkState for W {
    fn copy(&self) -> Box<dyn Work> {
        Box::new(self.clone())
    }
}

impl PartialEq for dyn Work {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for dyn Work {}

impl Hash for dyn Work {
    fn hash<H: Hasher>(&self, mut state: &mut H) {
        self.hash_into(&mut state);
    }
}

impl Clone for Box<dyn Work> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// A work during one leadership. It is dropped when the leadership ends.
pub trait Work: WorkState {
    /// Everything is sealed: starts the work.
    fn start(&mut self, at: &mut Context);

    /// A client requests a number; the lease has been checked. Only called if the work serves clients.
    fn request(&mut self, _request: RequestId, _at: &mut Context) {}

    /// The last number known to have been handed out. Only called if the work serves clients.
    fn last(&self) -> u64 {
        0
    }

    /// The timer with that number has fired. Writing requires [`Context::may_act`].
    fn timer(&mut self, _timer: TimerId, _at: &mut Context) {}

    /// The store has applied the write for `request` to the `resource`-th of the work's resources, now or earlier, as
    /// number `seq`.
    fn done(&mut self, _resource: usize, _request: RequestId, _seq: u64, _at: &mut Context) {}

    /// The leader is about to resign, and will do nothing new: writes whatever the next leader needs. That requires
    /// [`Context::may_act`].
    fn leave(&mut self, _at: &mut Context) {}

    /// Whether it is busy with something that takes time and does not write.
    fn is_at_work(&self) -> bool {
        false
    }

    /// Whether nothing is left to do in this leadership. The node then resigns.
    fn is_finished(&self) -> bool {
        false
    }

    /// Whether the leader may resign, as far as this work is concerned. Writes under way are waited for anyway.
    fn idle(&self) -> bool {
        true
    }
}

/// A work's context, and its actions.
pub struct Context<'a> {
    /// The node's clocks.
    pub now: Now,
    /// The period of periodic works, nanoseconds.
    pub period: u64,
    node: NodeId,
    store: NodeId,
    generation: u32,
    token: u64,
    /// Whether the belief is valid, and the node is not resigning.
    acts: bool,
    works: &'a Works,
    /// What `--set` gave for the work's own parameters.
    pub values: Values,
    outboxes: &'a mut [Outbox],
    first_timer: TimerId,
    out: &'a mut Vec<Output>,
}

impl Context<'_> {
    /// Checks the lease: whether new writes are allowed. A pause can fall right after.
    pub fn may_act(&mut self) -> bool {
        if self.acts {
            self.out.push(Output::Point(Point::LeaseChecked));
        }
        self.acts
    }

    /// Passes a point of the work's own, after [`Context::may_act`] and before the action that it allowed.
    pub fn point(&mut self, point: Point) {
        self.out.push(Output::Point(point));
    }

    /// Whether this bug is switched on.
    pub fn has(&self, bug: &Bug) -> bool {
        self.works.bugs.has(bug)
    }

    /// The settings of the work-set.
    pub fn work_set(&self) -> work_set::Asked {
        self.works.work_set
    }

    /// The fencing token; 0 if the protocol has none.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// The id of the `nth` write that the work makes on its own. Unique across all leaderships, or the ledger would
    /// take it for a retry.
    pub fn own_request(&self, nth: u32) -> RequestId {
        RequestId { client: self.node, number: u64::from(self.generation) << 32 | u64::from(nth) }
    }

    /// The id for an action to be done once per item, whichever leader does it: it is recognised if repeated.
    pub fn request_of(&self, item: NonZeroU64) -> RequestId {
        RequestId { client: self.store, number: item.get() }
    }

    /// Whether an external effect carries its item's id.
    pub fn effects_are_named(&self) -> bool {
        self.works.charge_check.is_none_or(ChargeCheck::is_keyed)
    }

    /// The writes to the `resource`-th of the work's resources.
    pub fn outbox(&self, resource: usize) -> &Outbox {
        &self.outboxes[resource]
    }

    /// Writes to the `resource`-th of the work's resources.
    #[inline(always)]
    pub fn write(&mut self, resource: usize, request: RequestId, payload: Option<Payload>) {
        self.operate(resource, request, Operation::Record, payload);
    }

    /// Performs an operation at the `resource`-th of the work's resources.
    #[inline(always)]
    pub fn operate(&mut self, resource: usize, request: RequestId, operation: Operation, payload: Option<Payload>) {
        let outbox = &mut self.outboxes[resource];
        let write = outbox.operate(request, operation, payload);
        self.out.push(Output::Record(Happened::Issue { node: self.node, write }));
        if !outbox.is_held() {
            self.out.push(Output::Send { to: self.store, message: Message::Write(write) });
        }
    }

    /// Sends a message to a client.
    #[inline]
    pub fn answer(&mut self, to: NodeId, message: Message) {
        self.out.push(Output::Send { to, message });
    }

    /// Sets the work's timer with that number, below [`Kind::timers`].
    pub fn set_timer(&mut self, timer: TimerId, at: u64) {
        self.out.push(Output::SetTimer { id: self.first_timer + timer, at });
    }
}
