//! What a leader does: its works. Each is a core of its own that declares as data which resources it writes to; sealing
//! them, checking the lease, sending again and stopping is the node's business ([`crate::node`]).

pub mod duties;
pub mod enactor;
pub mod job_queue;
pub mod outbox;
pub mod scheduler;
pub mod sequencer;
pub mod work_set;

use crate::{
    bug::{Bug, Bugs},
    clock::Now,
    core::{Output, TimerId},
    history::Kind as Happened,
    message::Message,
    point::Point,
    state::State,
    types::{NodeId, Operation, Payload, RequestId, Resource},
};
use outbox::{Outbox, UNDER_WAY_MAX};
use std::hash::{Hash, Hasher};

crate::registry! {
    /// Every work there is.
    pub const ALL: [&Kind] = [
        &sequencer::WORK,
        &scheduler::WORK,
        &job_queue::WORK,
        &enactor::WORK,
        &work_set::COMPACTION,
        &work_set::PENDING_JOBS,
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

/// The works of a leader, and the tables that follow from them: of all resources, and of all timers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Works {
    all: Vec<Placed>,
    /// Whose each resource is, by its place in `all`.
    owners: Vec<u8>,
    /// How many writes may be under way before clients are refused.
    room: usize,
    work_set: work_set::Asked,
    bugs: Bugs,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Placed {
    kind: &'static Kind,
    first_resource: usize,
    first_timer: TimerId,
}

impl Default for Works {
    fn default() -> Self {
        Works::place(&USUAL)
    }
}

impl Works {
    /// These works, in this order. The first serves clients, and is the only one that does.
    ///
    /// # Errors
    /// What is wrong with them: one sentence.
    pub fn new(kinds: &[&'static Kind]) -> Result<Works, String> {
        let mut resources: Vec<&str> = kinds.iter().flat_map(|kind| kind.resources).copied().collect();
        let all = resources.len();
        resources.sort_unstable();
        resources.dedup();
        if kinds.first().is_none_or(|kind| !kind.serves) {
            return Err("the first work must be one that serves clients, such as `sequencer`".to_owned());
        }
        if let Some(kind) = kinds[1..].iter().find(|kind| kind.serves) {
            return Err(format!("`{}` serves clients, and only the first work does", kind.name));
        }
        if all > resources.len() {
            return Err("two works write to a resource of one name; each has its own".to_owned());
        }
        if all > Resource::MOST {
            return Err(format!("the works write to {all} resources; at most {}", Resource::MOST));
        }
        Ok(Works::place(kinds))
    }

    /// The works of these names, of those that there are.
    ///
    /// # Errors
    /// There is no work of a name, or they do not go together: one sentence.
    pub fn named<'n>(all: &[&'static Kind], names: impl IntoIterator<Item = &'n str>) -> Result<Works, String> {
        let known = || all.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ");
        let find = |name| all.iter().copied().find(|kind| kind.name == name);
        let find = |name| find(name).ok_or_else(|| format!("there is no work `{name}`; there are {}", known()));
        Works::new(&names.into_iter().map(find).collect::<Result<Vec<_>, _>>()?)
    }

    fn place(kinds: &[&'static Kind]) -> Works {
        let (all, owners, work_set, bugs) = (Vec::new(), Vec::new(), work_set::Asked::default(), Bugs::default());
        let mut works = Works { all, owners, room: UNDER_WAY_MAX, work_set, bugs };
        let mut first_timer = 0;
        for (place, kind) in kinds.iter().enumerate() {
            works.all.push(Placed { kind, first_resource: works.owners.len(), first_timer });
            works.owners.extend(kind.resources.iter().map(|_| place as u8));
            first_timer += kind.timers;
        }
        works
    }

    /// The same with a work-set like this.
    pub fn with_work_set(self, work_set: work_set::Asked) -> Works {
        Works { work_set, ..self }
    }

    /// The same with these bugs.
    pub fn with_bugs(self, bugs: Bugs) -> Works {
        Works { bugs, ..self }
    }

    /// The same for each of so many groups that share a connection to the store.
    pub fn shared_by(self, groups: u16) -> Works {
        Works { room: UNDER_WAY_MAX / usize::from(groups.max(1)), ..self }
    }

    /// The kinds of works, in their order.
    pub fn kinds(&self) -> impl Iterator<Item = &'static Kind> + '_ {
        self.all.iter().map(|placed| placed.kind)
    }

    /// The names of all resources, by [`Resource`].
    pub fn resources(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.kinds().flat_map(|kind| kind.resources).copied()
    }

    /// Every resource.
    pub fn each(&self) -> impl Iterator<Item = Resource> + use<> {
        (0..self.owners.len()).map(|place| Resource(place as u8))
    }

    /// How many timers they have together.
    pub fn timers(&self) -> TimerId {
        self.kinds().map(|kind| kind.timers).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_that_do_not_go_together_are_refused_in_one_sentence() {
        for (names, why) in [
            (vec![], "the first work must be one that serves clients"),
            (vec!["scheduler", "sequencer"], "the first work must be one that serves clients"),
            (vec!["sequencer", "sequencer"], "`sequencer` serves clients, and only the first work does"),
            (vec!["sequencer", "scheduler", "scheduler"], "two works write to a resource of one name"),
            (vec!["sequencer", "cron"], "there is no work `cron`; there are `sequencer`, `scheduler`, `job-queue`"),
        ] {
            let refused = Works::named(&ALL, names.iter().copied()).err().unwrap_or_default();
            assert!(refused.starts_with(why), "{names:?}: {refused}");
        }
    }

    #[test]
    fn resources_are_numbered_in_the_order_of_the_works() {
        let works = Works::named(&ALL, ["sequencer", "job-queue", "scheduler"]).unwrap();
        assert_eq!(works.resources().collect::<Vec<_>>(), ["sequence", "jobs", "schedule"]);
        assert_eq!(Works::default().resources().collect::<Vec<_>>(), crate::types::USUAL_RESOURCES);
        assert_eq!(works.each().last(), Some(Resource(2)));
    }
}
