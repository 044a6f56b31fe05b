//! What every fault says of itself, whatever its kind: whom it strikes, for how long, what it does to what is under way, and
//! in which words. Whoever validates, describes, bounds or plays plans asks this, and not which kind it is.

use super::Who;
use protocols::history::FaultKind;
use std::slice;

/// What a fault says of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Parts<'a> {
    /// The kind, as plans and histories call it.
    pub kind: FaultKind,
    /// Those that it strikes.
    pub on: &'a [Who],
    /// Those between whom and the first it strikes.
    pub to: &'a [Who],
    /// `None`: it is over at once. Otherwise it goes on for so many milliseconds; without a number, until the run ends.
    pub lasts: Option<Option<f64>>,
    /// How strong it is, for the judge: microseconds of latency, lost packets in a million; 0 when that says nothing.
    pub strength: u64,
    /// What takes longer, and how much.
    pub later: Option<Later>,
    /// For how many milliseconds something may be sent in vain; 0 for as long as the run lasts.
    pub silent_ms: Option<f64>,
    /// As a plan has it, but for how long it lasts: `pause leader`.
    pub(super) order: String,
    /// As a report has it, but for how long it lasts: `{on} paused`. `{on}`, `{on's}` and `{to}` stand for names.
    pub(super) event: String,
}

/// Something takes longer than usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Later {
    /// How much, microseconds.
    pub extra_us: u64,
    /// Do packets?
    pub packets: bool,
    /// Do syncs of a disk?
    pub syncs: bool,
}

impl<'a> Parts<'a> {
    /// A fault that strikes `node`.
    pub(super) fn of(kind: FaultKind, node: &'a Who) -> Self {
        Parts::between(kind, slice::from_ref(node), &[])
    }

    /// A fault between two groups.
    pub(super) fn between(kind: FaultKind, on: &'a [Who], to: &'a [Who]) -> Self {
        let (order, event) = Default::default();
        Parts { kind, on, to, lasts: None, strength: 0, later: None, silent_ms: None, order, event }
    }

    /// It goes on for so many milliseconds, or until the run ends.
    pub(super) fn lasting(self, for_ms: Option<f64>) -> Self {
        Parts { lasts: Some(for_ms), ..self }
    }

    /// The same, and nothing comes through meanwhile.
    pub(super) fn silent(self, for_ms: Option<f64>) -> Self {
        Parts { silent_ms: Some(for_ms.unwrap_or(0.0)), ..self.lasting(for_ms) }
    }

    /// Something takes longer, which is how strong it is.
    pub(super) fn later(self, later: Later) -> Self {
        Parts { strength: later.extra_us, later: Some(later), ..self }
    }

    /// How plans and reports say it.
    pub(super) fn words(self, order: String, event: impl Into<String>) -> Self {
        Parts { order, event: event.into(), ..self }
    }
}
