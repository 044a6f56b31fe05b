//! One row of the table: the faults, and the readings expected of the probes.

use scenarios::{fault::Fault, plan::Network};

/// When faults strike, and how long they last, in milliseconds.
pub(super) const STRIKES: f64 = 3_000.0;
pub(super) const LASTS: f64 = 3_000.0;
/// Readings stop this long before a change.
pub(super) const EDGE: f64 = 50.0;
/// When a fault has ended.
pub(super) const AFTER: f64 = STRIKES + LASTS + EDGE;

/// A reading's name, minimum and maximum.
pub(super) type Read = (&'static str, f64, f64);

/// One or more faults or a network, and the readings expected.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) protocol: &'static str,
    pub(super) faults: Vec<(f64, Fault)>,
    pub(super) network: fn(&mut Network),
    /// Whether readings before the fault must be as usual.
    pub(super) before: bool,
    /// Expected while it lasts.
    pub(super) during: Vec<Read>,
    /// The time window of `during`.
    pub(super) window: (f64, f64),
    /// Expected after it has ended.
    pub(super) after: Vec<Read>,
    /// The start of the window of `after`.
    pub(super) over: f64,
    /// Readings whose names contain one of these are skipped during the fault, unless the table names them.
    pub(super) skips: &'static [&'static str],
    /// The same after it has ended.
    pub(super) skips_after: &'static [&'static str],
}

/// A row of one fault that changes no reading.
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

    /// Skips these readings.
    pub(super) fn but(self, skips: &'static [&'static str]) -> Row {
        Row { skips, ..self }
    }

    pub(super) fn over(self, over: f64) -> Row {
        Row { over, ..self }
    }
}
