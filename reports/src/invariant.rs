//! The invariants, one file each: the formula in words, its source, and when it could have failed.
//!
//! An invariant folds over the history as it streams, in memory that does not grow with the number of writes. It names
//! the kinds of events that it wants, and the judge sends it only those.

pub mod acts_on_belief;
pub mod copies_agree;
pub mod done_once;
pub mod dual_belief;
pub mod elections;
pub mod leaders_acting_by_effect;
pub mod liveness;
pub mod no_stale_cache_entry;
pub mod no_stale_deletion;
pub mod no_stale_read;
pub mod no_stale_write;
pub mod nothing_skipped;
pub mod one_number;
pub mod phantom_leader;
pub mod placed;
pub mod read_version;
pub mod records;
pub mod seq_strictly_increasing;
pub mod stopped_is_silent;
pub mod tokens_monotone;
pub mod vacuity;

use crate::{
    said::{At, Said, Sentence, sentence},
    words::Names,
};
use protocols::{
    history::{Event, Header, Kind},
    message::Write,
    types::Resource,
};
use serde::Serialize;

protocols::registry! {
    /// All invariants, in the order in which reports show them.
    pub const ALL: [&Entry] = [
        &leaders_acting_by_effect::ENTRY,
        &tokens_monotone::ENTRY,
        &seq_strictly_increasing::ENTRY,
        &no_stale_write::ENTRY,
        &no_stale_deletion::ENTRY,
        &no_stale_cache_entry::ENTRY,
        &no_stale_read::ENTRY,
        &read_version::ENTRY,
        &one_number::ENTRY,
        &records::ENTRY,
        &nothing_skipped::ENTRY,
        &done_once::ENTRY,
        &copies_agree::ENTRY,
        &elections::ENTRY,
        &phantom_leader::ENTRY,
        &dual_belief::ENTRY,
        &acts_on_belief::ENTRY,
        &stopped_is_silent::ENTRY,
        &liveness::ENTRY,
        &placed::ENTRY,
        &vacuity::ENTRY,
    ];
}

/// An invariant as registered.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// One sentence, for `list`.
    pub about: &'static str,
    /// What a violation means.
    pub class: Class,
    /// True if only a defect can violate it: a node that works without believing, a world that lets through what a stopped
    /// process says. No correct run can then prove that the check works; known histories must.
    pub only_defects: bool,
    /// Makes one for a run; a log without a header has none.
    pub new: fn(Option<&Header>) -> Box<dyn Invariant>,
}

/// The meaning of a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Something bad happened.
    Safety,
    /// Something good did not happen.
    Liveness,
    /// The situation under test did not arise.
    Vacuity,
}

/// A fold over a history.
pub trait Invariant: Send {
    /// Does it apply to this run? If not, the report omits it.
    fn concerns(&self) -> bool {
        true
    }

    fn wants(&self) -> Kinds;

    /// Takes the next event of a wanted kind.
    fn observe(&mut self, event: &Event);

    /// Takes those of the next events whose kind is in `wanted`; `kinds` has each one's [`Kinds::index`]. Provided, so
    /// that the loop is compiled with [`Invariant::observe`] in it.
    fn observe_all(&mut self, events: &[Event], kinds: &[u8], wanted: Kinds) {
        for (event, kind) in events.iter().zip(kinds) {
            if wanted.has(usize::from(*kind)) {
                self.observe(event);
            }
        }
    }

    /// When it was first violated, microseconds of true time, if known. Called once, after [`Invariant::finish`].
    fn violated_us(&self, _: &Ending) -> Option<u64> {
        None
    }

    /// Was it violated only while a process was half heard, so that others may have waited for it? Called once, after
    /// [`Invariant::finish`], if it was violated.
    fn while_half_heard(&self) -> bool {
        false
    }

    /// Sets how long two nodes of a log may believe at once, microseconds: a log has no header to say so.
    fn allow_overlap(&mut self, _us: u64) {}

    /// Returns the finding. Called once, after the last event.
    fn finish(&mut self, ending: &Ending) -> Finding;
}

/// How a history ended.
#[derive(Debug)]
pub struct Ending<'a> {
    /// The time of its last event, microseconds.
    pub t_us: u64,
    /// The names of its processes and resources.
    pub names: &'a Names,
}

/// The result of an invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// False if it was violated.
    pub holds: bool,
    /// Did the run give it at least one opportunity to fail? Otherwise holding means nothing.
    pub could_fail: bool,
    /// One sentence for people, with the numbers.
    pub detail: Sentence,
}

/// A [`Finding`] with its invariant, as in `--json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InvariantResult {
    /// The invariant's name.
    pub name: &'static str,
    /// What a violation means.
    #[serde(skip)]
    pub class: Class,
    /// False if it was violated.
    pub holds: bool,
    /// Did the run give it at least one opportunity to fail?
    pub could_fail: bool,
    /// One sentence for people.
    pub detail: Said,
    /// When it was first violated, microseconds, if it was and the time is known.
    #[serde(skip)]
    pub violated_us: Option<u64>,
    /// Was it violated, but only while a process was half heard?
    #[serde(skip)]
    pub while_half_heard: bool,
}

/// A set of kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds(u32);

impl Kinds {
    pub const NONE: Kinds = Kinds(0);
    /// [`Kind::Campaign`].
    pub const CAMPAIGN: Kinds = Kinds(1);
    /// [`Kind::Elected`].
    pub const ELECTED: Kinds = Kinds(1 << 1);
    /// [`Kind::Deposed`].
    pub const DEPOSED: Kinds = Kinds(1 << 2);
    /// [`Kind::Seal`].
    pub const SEAL: Kinds = Kinds(1 << 3);
    /// [`Kind::Issue`].
    pub const ISSUE: Kinds = Kinds(1 << 4 | Kinds::ISSUE_ASIDE.0);
    /// [`Kind::Apply`].
    pub const APPLY: Kinds = Kinds(1 << 5 | Kinds::APPLY_ASIDE.0);
    /// [`Kind::Issue`], except of writes that only take a number for a client, which are many.
    pub const ISSUE_ASIDE: Kinds = Kinds(1 << 16);
    /// [`Kind::Apply`], except of those writes.
    pub const APPLY_ASIDE: Kinds = Kinds(1 << 17);
    /// [`Kind::Invoke`].
    pub const INVOKE: Kinds = Kinds(1 << 6);
    /// [`Kind::Reply`].
    pub const REPLY: Kinds = Kinds(1 << 7);
    /// [`Kind::Fault`].
    pub const FAULT: Kinds = Kinds(1 << 8);
    /// [`Kind::Node`].
    pub const NODE: Kinds = Kinds(1 << 9);
    /// [`Kind::ReadInvoke`].
    pub const READ_INVOKE: Kinds = Kinds(1 << 11);
    /// [`Kind::ReadReply`].
    pub const READ_REPLY: Kinds = Kinds(1 << 12);
    /// [`Kind::Grant`] and [`Kind::GrantEnd`].
    pub const GRANT: Kinds = Kinds(1 << 13);
    /// [`Kind::Vote`].
    pub const VOTE: Kinds = Kinds(1 << 14);
    /// [`Kind::Clock`].
    pub const CLOCK: Kinds = Kinds(1 << 15);
    /// [`Kind::Deleted`].
    pub const DELETED: Kinds = Kinds(1 << 18);
    /// [`Kind::Promoted`] and [`Kind::Rewound`].
    pub const COPIES: Kinds = Kinds(1 << 19);
    /// [`Kind::Work`].
    pub const WORK: Kinds = Kinds(1 << 20);
    /// The number of kinds.
    pub const COUNT: usize = 22;

    /// The union of both sets.
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Is the kind with this [`Kinds::index`] in the set?
    #[inline]
    pub const fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    /// Is a kind in both sets?
    pub const fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The set with this [`Kinds::index`] in it, too.
    pub const fn with(self, index: usize) -> Kinds {
        Kinds(self.0 | 1 << index)
    }

    /// The index of an event's kind, below [`Kinds::COUNT`].
    pub const fn index(kind: &Kind) -> usize {
        match kind {
            Kind::Campaign { .. } => 0,
            Kind::Elected(_) => 1,
            Kind::Deposed { .. } => 2,
            Kind::Seal { .. } => 3,
            Kind::Issue { write, .. } if is_aside(write) => 16,
            Kind::Issue { .. } => 4,
            Kind::Apply { write, .. } if is_aside(write) => 17,
            Kind::Apply { .. } => 5,
            Kind::Invoke { .. } => 6,
            Kind::Reply { .. } => 7,
            Kind::Fault(_) => 8,
            Kind::Node { .. } => 9,
            Kind::End { .. } => 10,
            Kind::ReadInvoke { .. } => 11,
            Kind::ReadReply { .. } => 12,
            Kind::Grant { .. } | Kind::GrantEnd { .. } => 13,
            Kind::Vote { .. } => 14,
            Kind::Clock { .. } => 15,
            Kind::Deleted(_) => 18,
            Kind::Promoted { .. } | Kind::Rewound { .. } => 19,
            Kind::Work { .. } => 20,
            Kind::MemberLeads { .. } => 21,
        }
    }
}

/// Does a write do more than take a number for a client?
const fn is_aside(write: &Write) -> bool {
    write.resource.0 != Resource::SEQUENCE.0 || write.payload.is_some()
}

/// The finding of an invariant that has nothing to judge.
fn not_applicable(why: &str) -> Finding {
    Finding { holds: true, could_fail: false, detail: format!("not applicable: {why}").into() }
}

/// The first violation, and how many there were: later ones often follow from it.
#[derive(Debug)]
struct Violations<T> {
    first: Option<(u64, T)>,
    count: u64,
}

impl<T> Default for Violations<T> {
    fn default() -> Self {
        Violations { first: None, count: 0 }
    }
}

impl<T> Violations<T> {
    fn add(&mut self, t_us: u64, what: T) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((t_us, what));
        }
    }

    /// The time of the first violation, microseconds.
    fn first_us(&self) -> Option<u64> {
        self.first.as_ref().map(|(t_us, _)| *t_us)
    }

    /// The first violation in the words of `say`, and how many followed; `None` if there was none.
    fn sentence<S: Into<Sentence>>(&self, say: impl FnOnce(&T) -> S) -> Option<Sentence> {
        let (t_us, what) = self.first.as_ref()?;
        let first = sentence!["at ", At(*t_us), " ", say(what)];
        Some(match self.count {
            1 => first,
            n => first.and(format!("; {} more like it", n - 1)),
        })
    }
}
