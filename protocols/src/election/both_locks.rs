//! A migration from one lock to another done right: who takes the new lock holds the old one as well.
//!
//! ```text
//!  before          first roll-out             second roll-out             after
//!  the old lock    the old lock, or both      both, or the new lock       the new lock
//! ```
//! At every moment two versions run, and any two that do have a lock in common; so of all of them one leads. What has to be
//! avoided is the step from the old lock to the new one without the middle ([`super::redis_common::MIXED_LOCKS`]).
//!
//! **Where it comes from.** cockroachdb/cockroach pull request 101942 makes the two kinds of leases exclude each other by their
//! holder's epoch; two locks that know nothing of each other leave only this.
//!
//! **What is run.** The first roll-out, half done: candidates of odd numbers have the old version, those of even numbers take
//! both locks. Each lock is what it is alone; the wrapper starts the new one when the old one is held for the first time, leads
//! when both are held, and gives the other one back when either is lost. The old lock comes first, always in that order, so that
//! nobody waits for one who waits for it. The token is the old lock's: everybody has one of those.
//!
//! **What it costs.** Two renewals instead of one, and up to a lease more until somebody leads: a leader that dies leaves both
//! locks, and whoever gives one back holds off.
//!
//! **What shows it.** `mixed-locks`, beside the protocol inside: that breaks in every run, and this holds.

use super::{Hazard, Promise, Protocol, Setup, redis_common::MIXED_LOCKS, redis_fenced, redis_lease};
use crate::{
    bug::Bugs,
    clock::Now,
    core::TimerId,
    elector::{self, AnyElector, Deposed, Elector, ServiceInput, ServiceOutput, boxed},
    payload::Opaque,
    point::Point,
    service::Erased,
    types::Leadership,
};
use std::collections::VecDeque;

type Input = elector::Input<Opaque>;
type Output = elector::Output<Opaque>;

macro_rules! migrating {
    ($($name:ident = $inner:ident, $called:literal, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $name: Protocol = Protocol {
                name: $called,
                about: $about,
                transfers: false,
                takeover_max: |timings, nodes| {
                    ($inner::PROTOCOL.takeover_max)(timings, nodes) + timings.lease_ttl + timings.retry_period()
                },
                elector: |setup| migrating(setup, $inner::PROTOCOL.elector),
                promise: |hazard, fencing| match hazard {
                    Hazard::MixedLocks => Promise::Holds,
                    hazard => ($inner::PROTOCOL.promise)(hazard, fencing),
                },
                bounds: |_| super::Bounds::default(),
                ..$inner::PROTOCOL
            };
        )*

        /// Each of them. They can be asked for by name; lists of all protocols are of what there is without them.
        pub const MIGRATING: &[&Protocol] = &[$(&$name),*];
    };
}

migrating! {
    LEASE = redis_lease, "redis-lease-migrating", "redis-lease during a migration: half of the candidates take a second lock as well";
    FENCED = redis_fenced, "redis-fenced-migrating",
        "redis-fenced during a migration: half of the candidates take a second lock as well";
}

/// The one of that name.
pub fn find(name: &str) -> Option<&'static Protocol> {
    MIGRATING.iter().copied().find(|protocol| protocol.name == name)
}

/// The new lock's timers are so much higher; the old one's are below.
const NEW_TIMERS: TimerId = 8;

fn migrating(setup: Setup, inner: fn(Setup) -> Box<AnyElector>) -> Box<AnyElector> {
    // The first candidate is number 1.
    if setup.node.0 % 2 == 0 {
        return inner(setup);
    }
    // Where the bug is switched on, those of even numbers have the new lock alone.
    let of_new = Setup { bugs: Bugs::new([&MIXED_LOCKS]), nonce: setup.nonce.rotate_left(32), ..setup.clone() };
    let locks = [inner(setup), inner(of_new)];
    boxed(Both { locks, held: [None, None], started: false, leads: false, due: VecDeque::new() })
}

/// One of the two locks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Which {
    Old,
    New,
}

impl Which {
    fn other(self) -> Which {
        match self {
            Which::Old => Which::New,
            Which::New => Which::Old,
        }
    }
}

/// A candidate that takes both locks.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Both {
    /// The electors of the two locks.
    locks: [Box<AnyElector>; 2],
    /// What each lock is worth while it is held.
    held: [Option<Leadership>; 2],
    /// Has the new lock been asked for?
    started: bool,
    leads: bool,
    /// What the locks are still to be told.
    due: VecDeque<(Which, Input)>,
}

impl Both {
    /// What holding both is worth; `None` when one is missing.
    fn worth(&self) -> Option<Leadership> {
        let [old, new] = self.held;
        let (old, new) = (old?, new?);
        Some(Leadership { valid_until: old.valid_until.min(new.valid_until), ..old })
    }

    /// Tells the locks what is due, and what follows from that.
    fn tell(&mut self, now: Now, out: &mut Vec<Output>) {
        while let Some((which, input)) = self.due.pop_front() {
            let mut said = Vec::new();
            self.locks[which as usize].step(now, input, &mut said);
            said.into_iter().for_each(|output| self.heard(which, output, out));
        }
    }

    fn heard(&mut self, which: Which, output: Output, out: &mut Vec<Output>) {
        match (which, output) {
            (_, Output::Elected(leadership)) => self.taken(which, leadership, out),
            (_, Output::Renewed(leadership)) => {
                self.held[which as usize] = Some(leadership);
                out.extend(self.worth().filter(|_| self.leads).map(Output::Renewed));
            }
            (_, Output::Deposed(why)) => self.lost(which, why, out),
            (_, Output::Service(output)) => out.push(Output::Service(numbered(which, output))),
            (Which::New, Output::SetTimer { id, at }) => out.push(Output::SetTimer { id: id + NEW_TIMERS, at }),
            (Which::New, Output::CancelTimer(id)) => out.push(Output::CancelTimer(id + NEW_TIMERS)),
            // What others see of this candidate is what it does about the old lock, which all of them take.
            (Which::New, _) => {}
            (Which::Old, Output::Point(Point::BeforeRenew | Point::Renewed)) if !self.leads => {}
            (Which::Old, output) => out.push(output),
        }
    }

    fn taken(&mut self, which: Which, leadership: Leadership, out: &mut Vec<Output>) {
        self.held[which as usize] = Some(leadership);
        match which {
            Which::Old if !self.started => {
                self.started = true;
                self.due.push_back((Which::New, Input::Start));
            }
            // It came too late: the old one is lost.
            Which::New if self.held[Which::Old as usize].is_none() => self.due.push_back((Which::New, Input::Resign)),
            _ => {}
        }
        if let Some(worth) = self.worth() {
            self.leads = true;
            out.push(Output::Elected(worth));
        }
    }

    /// One of them is lost: the other is given back.
    fn lost(&mut self, which: Which, why: Deposed, out: &mut Vec<Output>) {
        self.held[which as usize] = None;
        if std::mem::take(&mut self.leads) {
            out.push(Output::Deposed(why));
        }
        if self.held[which.other() as usize].is_some() {
            self.due.push_back((which.other(), Input::Resign));
        }
    }
}

/// Requests of the old lock have even numbers, those of the new one odd ones.
fn numbered(which: Which, output: ServiceOutput) -> ServiceOutput {
    let place = |number: u64| 2 * number + which as u64;
    match output {
        ServiceOutput::Request { number, request, timeout, concurrent } => {
            ServiceOutput::Request { number: place(number), request, timeout, concurrent }
        }
        ServiceOutput::Cancel(number) => ServiceOutput::Cancel(place(number)),
        ServiceOutput::Open { number, request } => ServiceOutput::Open { number: place(number), request },
        ServiceOutput::Push(number) => ServiceOutput::Push(place(number)),
        ServiceOutput::Close(number) => ServiceOutput::Close(place(number)),
    }
}

/// Whose answer that is.
fn answered(input: ServiceInput) -> (Which, ServiceInput) {
    let which = |number: u64| if number % 2 == 0 { Which::Old } else { Which::New };
    match input {
        ServiceInput::Reply { number, reply } => (which(number), ServiceInput::Reply { number: number / 2, reply }),
        ServiceInput::Item { number, item } => (which(number), ServiceInput::Item { number: number / 2, item }),
        ServiceInput::Ended { number, failure } => (which(number), ServiceInput::Ended { number: number / 2, failure }),
    }
}

impl Elector for Both {
    type Peer = Opaque;
    /// The locks'.
    type Service = Erased;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Timer(id) if id >= NEW_TIMERS => self.due.push_back((Which::New, Input::Timer(id - NEW_TIMERS))),
            Input::Service(input) => {
                let (which, input) = answered(input);
                self.due.push_back((which, Input::Service(input)));
            }
            // The new one first: nobody else can have it while the old one is held.
            Input::Resign | Input::Fenced => {
                self.due.extend([(Which::New, input.clone()), (Which::Old, input)]);
            }
            input => self.due.push_back((Which::Old, input)),
        }
        self.tell(now, out);
    }
}
