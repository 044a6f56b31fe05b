//! The properties that every kind of fault has: whom it strikes, for how long, its effect on what is in flight, and its
//! wording. Code that validates, describes, bounds or plays plans asks for these and need not know the kind.

use super::Who;
use protocols::history::FaultKind;
use std::slice;

/// The properties of a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Parts<'a> {
    /// The kind, as plans and histories call it.
    pub kind: FaultKind,
    /// The processes it strikes.
    pub on: &'a [Who],
    /// The other ends of the links it strikes.
    pub to: &'a [Who],
    /// `None`: instantaneous. Otherwise its length in milliseconds; without a number, until the run ends.
    pub lasts: Option<Option<f64>>,
    /// Its strength, for the judge: microseconds of latency, or lost packets per million; 0 if it has none.
    pub strength: u64,
    /// What it slows down, and by how much.
    pub later: Option<Later>,
    /// For how many milliseconds messages may be lost; 0 for the rest of the run.
    pub silent_ms: Option<f64>,
    /// The plan's wording without the length: `pause leader`.
    pub(super) order: String,
    /// The report's wording without the length: `{on} paused`. `{on}`, `{on's}` and `{to}` stand for names.
    pub(super) event: String,
}

/// A slowdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Later {
    pub extra_us: u64,
    /// True if packets take longer.
    pub packets: bool,
    /// True if disk syncs take longer.
    pub syncs: bool,
}

impl<'a> Parts<'a> {
    /// A fault on `node`.
    pub(super) fn of(kind: FaultKind, node: &'a Who) -> Self {
        Parts::between(kind, slice::from_ref(node), &[])
    }

    pub(super) fn between(kind: FaultKind, on: &'a [Who], to: &'a [Who]) -> Self {
        let (order, event) = Default::default();
        Parts { kind, on, to, lasts: None, strength: 0, later: None, silent_ms: None, order, event }
    }

    /// Lasts for so many milliseconds, or until the run ends.
    pub(super) fn lasting(self, for_ms: Option<f64>) -> Self {
        Parts { lasts: Some(for_ms), ..self }
    }

    /// Like [`Parts::lasting`], and nothing gets through meanwhile.
    pub(super) fn silent(self, for_ms: Option<f64>) -> Self {
        Parts { silent_ms: Some(for_ms.unwrap_or(0.0)), ..self.lasting(for_ms) }
    }

    /// Slows something down; the delay is its strength.
    pub(super) fn later(self, later: Later) -> Self {
        Parts { strength: later.extra_us, later: Some(later), ..self }
    }

    /// Sets the wording of plans and of reports.
    pub(super) fn words(self, order: String, event: impl Into<String>) -> Self {
        Parts { order, event: event.into(), ..self }
    }
}
