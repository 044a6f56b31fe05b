//! The JVM's unified log (JEP 158, JEP 271), as `-Xlog:gc` and `-Xlog:safepoint` write it.
//!
//! ```text
//! [2026-11-02T10:15:30.123+0000][12.345s][info][safepoint] Safepoint "G1CollectForAllocation", …, Total: 3456000 ns
//! [12.345s][info][safepoint] Total time for which application threads were stopped: 0.0034560 seconds, Stopping …
//! [12.345s][info][gc       ] GC(12) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(64M) 3.456ms
//! ```
//! JDK 13 and later write the first line, JDK 9 to 12 the second (OpenJDK, `runtime/safepoint.cpp`). A safepoint stops
//! the threads, whether for the collector or not, so if a log has safepoints its collections are not counted again.

use super::form::{Form, Pauses, span_ms};

const OLD: &str = "Total time for which application threads were stopped: ";

pub(super) fn read(text: &str) -> Option<Pauses> {
    let lines = || text.lines().filter_map(Line::parse);
    let mut lengths_ms: Vec<f64> = lines().filter_map(|line| line.safepoint_ms()).collect();
    let mut form = Form::JvmSafepoints;
    if lengths_ms.is_empty() {
        lengths_ms = lines().filter_map(|line| line.collection_ms()).collect();
        form = Form::JvmCollections;
    }
    let over_ms = span_ms(text.lines().filter_map(Line::parse).filter_map(|line| line.at_s));
    (!lengths_ms.is_empty()).then_some(Pauses { lengths_ms, over_ms, form })
}

struct Line<'t> {
    /// The JVM's uptime, seconds.
    at_s: Option<f64>,
    message: &'t str,
}

impl<'t> Line<'t> {
    /// `None` if the line has no decorations.
    fn parse(line: &'t str) -> Option<Self> {
        let (mut rest, mut at_s, mut decorated) = (line.trim(), None, false);
        while let Some((decoration, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            decorated = true;
            at_s = at_s.or_else(|| age_s(decoration.trim()));
            rest = behind;
        }
        decorated.then_some(Line { at_s, message: rest.trim_start() })
    }

    fn safepoint_ms(&self) -> Option<f64> {
        if let Some(stopped) = self.message.strip_prefix(OLD) {
            return number(stopped.split_once(" seconds")?.0).map(|seconds| seconds * 1e3);
        }
        let total = self.message.strip_prefix("Safepoint ")?.split_once(" Total: ")?.1;
        number(total.split_once(" ns")?.0).map(|ns| ns / 1e6)
    }

    fn collection_ms(&self) -> Option<f64> {
        let (_, pause) = self.message.strip_prefix("GC(")?.split_once(") ")?;
        // Lines that announce a pause or one of its phases have no length.
        let length = pause.strip_prefix("Pause ")?.rsplit_once(' ')?.1;
        number(length.strip_suffix("ms")?)
    }
}

/// `12.345s` or `12345ms`: the JVM's uptime.
fn age_s(decoration: &str) -> Option<f64> {
    match decoration.strip_suffix("ms") {
        Some(ms) => number(ms).map(|ms| ms / 1e3),
        None => number(decoration.strip_suffix('s')?),
    }
}

/// A plain number; the decimal separator is a point or a comma, depending on the JVM's locale.
fn number(text: &str) -> Option<f64> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b',');
    plain(text).then(|| text.replace(',', ".").parse().ok()).flatten()
}
