//! A correct migration from one lock to another: a new version takes the old lock as well as the new one.
//!
//! ```text
//!  before          first roll-out             second roll-out             after
//!  the old lock    the old lock, or both      both, or the new lock       the new lock
//! ```
//! At every moment at most two versions run, and each such pair shares a lock, so only one candidate leads. The step
//! from the old lock to the new one without the middle must be avoided ([`super::redis_common::MIXED_LOCKS`]).
//!
//! **Where it comes from.** cockroachdb/cockroach pull request 101942 lets two kinds of leases exclude each other by
//! their holder's epoch; for two independent locks, only this remains.
//!
//! **What is run.** The first roll-out, half done: candidates with odd numbers run the old version, those with even
//! numbers take both locks. Each lock works as it does alone. The wrapper starts the new lock once it first holds the
//! old one, leads while it holds both, and gives one back when it loses the other. The order is always old lock first,
//! so no candidates wait for each other. The token is the old lock's, which every leader has.
//!
//! **What it costs.** Two renewals instead of one, and up to one more lease without a leader: a leader that dies leaves
//! both locks, and a candidate that gives one back holds off.
//!
//! **What shows it.** `mixed-locks`, beside the inner protocol: that one breaks in every run, and this one holds.

use super::{Promise, Protocol, Setup, hazard, redis_common::MIXED_LOCKS, redis_fenced, redis_lease};
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
                    hazard::MIXED_LOCKS => Promise::Holds,
                    hazard => ($inner::PROTOCOL.promise)(hazard, fencing),
                },
                bounds: |_| super::Bounds::default(),
                ..$inner::PROTOCOL
            };
        )*

        /// All of them. They can be selected by name; lists of all protocols leave them out.
        pub const MIGRATING: &[&Protocol] = &[$(&$name),*];
    };
}

migrating! {
    LEASE = redis_lease, "redis-lease-migrating", "redis-lease during a migration: half of the candidates take a second lock as well";
    FENCED = redis_fenced, "redis-fenced-migrating",
        "redis-fenced during a migration: half of the candidates take a second lock as well";
}

/// The one called `name`.
pub fn find(name: &str) -> Option<&'static Protocol> {
    MIGRATING.iter().copied().find(|protocol| protocol.name == name)
}

/// Offset of the new lock's timer ids; the old lock's are lower.
const NEW_TIMERS: TimerId = 8;

fn migrating(setup: Setup, inner: fn(Setup) -> Box<AnyElector>) -> Box<AnyElector> {
    // Counted from 1, these are the odd numbers.
    if setup.node.0 % 2 == 0 {
        return inner(setup);
    }
    // With the bug, candidates with even numbers take only the new lock.
    let of_new = Setup { bugs: Bugs::new([&MIXED_LOCKS]), nonce: setup.nonce.rotate_left(32), ..setup.clone() };
    let locks = [inner(setup), inner(of_new)];
    boxed(Both { locks, held: [None, None], started: false, leads: false, due: VecDeque::new() })
}

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
    /// Each lock's leadership while it is held.
    held: [Option<Leadership>; 2],
    /// Whether the new lock has been started.
    started: bool,
    leads: bool,
    /// Inputs that the locks are still to get.
    due: VecDeque<(Which, Input)>,
}

impl Both {
    /// The leadership from holding both; `None` if one is missing.
    fn worth(&self) -> Option<Leadership> {
        let [old, new] = self.held;
        let (old, new) = (old?, new?);
        Some(Leadership { valid_until: old.valid_until.min(new.valid_until), ..old })
    }

    /// Steps the locks with the pending inputs, and handles their outputs.
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
            // Other candidates see only what this one does with the old lock, which all of them take.
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
            // Too late: the old lock is already lost.
            Which::New if self.held[Which::Old as usize].is_none() => self.due.push_back((Which::New, Input::Resign)),
            _ => {}
        }
        if let Some(worth) = self.worth() {
            self.leads = true;
            out.push(Output::Elected(worth));
        }
    }

    /// Handles the loss of one lock: gives the other back.
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

/// Requests for the old lock get even numbers, those for the new one odd numbers.
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

/// The lock that an answer belongs to.
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
    type Service = Erased;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Timer(id) if id >= NEW_TIMERS => self.due.push_back((Which::New, Input::Timer(id - NEW_TIMERS))),
            Input::Service(input) => {
                let (which, input) = answered(input);
                self.due.push_back((which, Input::Service(input)));
            }
            // The new lock first: nobody else can take it while this candidate holds the old one.
            Input::Resign | Input::Fenced => {
                self.due.extend([(Which::New, input.clone()), (Which::Old, input)]);
            }
            input => self.due.push_back((Which::Old, input)),
        }
        self.tell(now, out);
    }
}
