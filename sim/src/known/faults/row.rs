//! One line of the table: what strikes, and what the probes must read.

use scenarios::{fault::Fault, plan::Network};

/// When faults strike, and for how long; milliseconds.
pub(super) const STRIKES: f64 = 3_000.0;
pub(super) const LASTS: f64 = 3_000.0;
/// What is looked at ends so long before something changes.
pub(super) const EDGE: f64 = 50.0;
/// From when on a fault is over.
pub(super) const AFTER: f64 = STRIKES + LASTS + EDGE;

/// A reading, and between what it must lie.
pub(super) type Read = (&'static str, f64, f64);

/// A fault, or several, or a network, and what the probes must read.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) protocol: &'static str,
    pub(super) faults: Vec<(f64, Fault)>,
    pub(super) network: fn(&mut Network),
    /// Is everything as ever before it strikes?
    pub(super) before: bool,
    /// While it lasts.
    pub(super) during: Vec<Read>,
    /// From when to when that is looked at.
    pub(super) window: (f64, f64),
    /// When it is over.
    pub(super) after: Vec<Read>,
    /// From when on that is looked at.
    pub(super) over: f64,
    /// What names contain that are not looked at meanwhile, if the table does not name them.
    pub(super) skips: &'static [&'static str],
    /// The same when it is over.
    pub(super) skips_after: &'static [&'static str],
}

/// A row of one fault, in which nothing moves.
pub(super) fn row(fault: &Fault, protocol: &'static str) -> Row {
    let times = if fault.for_ms().is_some() { format!(", {protocol}") } else { String::new() };
    Row {
        name: format!("{fault}{times}"),
        protocol,
        faults: vec![(STRIKES, fault.clone())],
        network: |_| {},
        before: true,
        during: Vec::new(),
        window: (STRIKES + EDGE, STRIKES + LASTS - EDGE),
        after: Vec::new(),
        over: AFTER,
        skips: &[],
        skips_after: &[],
    }
}

impl Row {
    pub(super) fn reads(self, during: &[Read]) -> Row {
        Row { during: during.into(), ..self }
    }

    pub(super) fn then(self, after: &[Read]) -> Row {
        Row { after: after.into(), ..self }
    }

    /// What is not looked at.
    pub(super) fn but(self, skips: &'static [&'static str]) -> Row {
        Row { skips, ..self }
    }

    pub(super) fn over(self, over: f64) -> Row {
        Row { over, ..self }
    }
}
