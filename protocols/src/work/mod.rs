//! What a leader does: its works. Each is a core of its own that declares as data which resources it writes to; sealing
//! them, checking the lease, sending again and stopping is the node's business ([`crate::node`]).

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
    fence::charge_check::ChargeCheck,
    history::Kind as Happened,
    message::Message,
    point::Point,
    state::State,
    types::{NodeId, Operation, Payload, RequestId},
};
use outbox::Outbox;
use std::{
    hash::{Hash, Hasher},
    num::NonZeroU64,
};
pub use works::{Works, WorksError};

crate::registry! {
    /// Every work there is.
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

/// How many resources all of them write to.
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

/// What a leader does unless it is told otherwise.
pub const USUAL: [&Kind; 2] = [&sequencer::WORK, &scheduler::WORK];

/// The work of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.into_iter().find(|kind| kind.name == name)
}

/// A kind of work, as data.
#[derive(Debug)]
pub struct Kind {
    /// Its name in plans.
    pub name: &'static str,
    /// One sentence for people.
    pub about: &'static str,
    /// The names of the resources that it writes to. Each is sealed before the work starts.
    pub resources: &'static [&'static str],
    /// Does it answer clients' requests for numbers? These come from the first of its resources.
    pub serves: bool,
    /// How many timers it has.
    pub timers: TimerId,
    /// One for a leadership that begins.
    pub new: fn() -> Box<dyn Work>,
}

/// Kinds are what their names say: there are no two of one name.
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

/// A work's state can be compared, hashed and copied: every `Work + Clone + Eq + Hash` has this.
pub trait WorkState: State {
    /// Another work in the same state.
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

/// One work of one leadership. It ends with that leadership: whatever is left of it is dropped.
pub trait Work: WorkState {
    /// Everything is sealed: the work begins.
    fn start(&mut self, at: &mut Context);

    /// A client asks for a number; the lease has been checked. Only who serves is asked.
    fn request(&mut self, _request: RequestId, _at: &mut Context) {}

    /// The last number that is known to have been handed out. Only who serves is asked.
    fn last(&self) -> u64 {
        0
    }

    /// The timer of that number is over. Whatever is to be written needs [`Context::may_act`].
    fn timer(&mut self, _timer: TimerId, _at: &mut Context) {}

    /// The store has taken what was written for `request` to the `resource`-th of the work's resources, now or earlier, as
    /// number `seq`.
    fn done(&mut self, _resource: usize, _request: RequestId, _seq: u64, _at: &mut Context) {}

    /// Leadership is about to be given up, and nothing new will be done: writes what must be durable for whoever leads next.
    /// That needs [`Context::may_act`].
    fn leave(&mut self, _at: &mut Context) {}

    /// Is it at something that takes its time, and writes nothing?
    fn is_at_work(&self) -> bool {
        false
    }

    /// Is there nothing left to do in this leadership? Then it is given up.
    fn is_finished(&self) -> bool {
        false
    }

    /// May leadership be given up, as far as this work is concerned? Writes under way are waited for anyhow.
    fn idle(&self) -> bool {
        true
    }
}

/// Where a work stands, and what it can do there.
pub struct Context<'a> {
    /// The node's clocks.
    pub now: Now,
    /// The period of what happens again and again, nanoseconds.
    pub period: u64,
    node: NodeId,
    store: NodeId,
    generation: u32,
    token: u64,
    /// Does the belief last, and is it not being given up?
    acts: bool,
    works: &'a Works,
    outboxes: &'a mut [Outbox],
    first_timer: TimerId,
    out: &'a mut Vec<Output>,
}

impl Context<'_> {
    /// Checks the lease: may something new be written? A pause can fall right after.
    pub fn may_act(&mut self) -> bool {
        if self.acts {
            self.out.push(Output::Point(Point::LeaseChecked));
        }
        self.acts
    }

    /// Passes a point of the work's own, after [`Context::may_act`] and before what that was asked for.
    pub fn point(&mut self, point: Point) {
        self.out.push(Output::Point(point));
    }

    /// Is this bug switched on?
    pub fn has(&self, bug: &Bug) -> bool {
        self.works.bugs.has(bug)
    }

    /// What is asked of the work-set.
    pub fn work_set(&self) -> work_set::Asked {
        self.works.work_set
    }

    /// The fencing token; 0 when the protocol has none.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// A name for the `nth` write that the work makes of its own accord. Unique over all leaderships, or the ledger would
    /// take it for a retry.
    pub fn own_request(&self, nth: u32) -> RequestId {
        RequestId { client: self.node, number: u64::from(self.generation) << 32 | u64::from(nth) }
    }

    /// A name for what is done once for that item, whoever leads: who had it before knows it again.
    pub fn request_of(&self, item: NonZeroU64) -> RequestId {
        RequestId { client: self.store, number: item.get() }
    }

    /// Does an effect outside carry its item's name?
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

    /// Does something at the `resource`-th of the work's resources.
    #[inline(always)]
    pub fn operate(&mut self, resource: usize, request: RequestId, operation: Operation, payload: Option<Payload>) {
        let outbox = &mut self.outboxes[resource];
        let write = outbox.operate(request, operation, payload);
        self.out.push(Output::Record(Happened::Issue { node: self.node, write }));
        if !outbox.is_held() {
            self.out.push(Output::Send { to: self.store, message: Message::Write(write) });
        }
    }

    /// Tells a client something.
    #[inline]
    pub fn answer(&mut self, to: NodeId, message: Message) {
        self.out.push(Output::Send { to, message });
    }

    /// Sets the work's timer of that number, below [`Kind::timers`].
    pub fn set_timer(&mut self, timer: TimerId, at: u64) {
        self.out.push(Output::SetTimer { id: self.first_timer + timer, at });
    }
}
