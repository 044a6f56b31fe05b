//! Faults in words: what plans say of them, and what histories and reports do.

use super::{Fault, Parts, Trigger, Who};
use protocols::{
    history::{FaultEvent, Phase},
    types::NodeId,
};
use std::fmt;

/// Milliseconds as people write them.
pub(super) fn duration(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{} s", round(ms / 1_000.0)) } else { format!("{} ms", round(ms)) }
}

/// Microseconds as people write them.
pub(super) fn us(us: u64) -> String {
    duration(us as f64 / 1_000.0)
}

pub(super) fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// `n1's`, `the followers'`.
fn possessive(on: &str) -> String {
    if on.ends_with('s') { format!("{on}'") } else { format!("{on}'s") }
}

impl Fault {
    /// What histories say of it; `names` says what processes are called.
    pub fn event(
        &self,
        index: u32,
        phase: Phase,
        (on, to): (&[NodeId], &[NodeId]),
        names: impl Fn(&[NodeId]) -> String,
    ) -> FaultEvent {
        let parts = self.parts();
        let detail = parts.describe(&names(on), &names(to));
        // A partition strikes both sides.
        let (sides, on, to) = match self {
            Fault::Partition { .. } => ([on.to_vec(), to.to_vec()], [on, to].concat(), Vec::new()),
            _ => (Default::default(), on.to_vec(), to.to_vec()),
        };
        let one_way = matches!(self, Fault::Partition { one_way: true, .. });
        FaultEvent {
            index,
            fault: parts.kind.to_owned(),
            phase,
            on,
            to,
            sides,
            one_way,
            strength: parts.strength,
            point: None,
            detail,
        }
    }

    /// One line for people; `on` and `to` name whom it strikes.
    pub fn describe(&self, on: &str, to: &str) -> String {
        self.parts().describe(on, to)
    }
}

impl Parts<'_> {
    fn describe(&self, on: &str, to: &str) -> String {
        let event = self.event.replace("{on's}", &possessive(on)).replace("{on}", on).replace("{to}", to);
        self.lasts.flatten().map_or(event.clone(), |ms| format!("{event} for {}", duration(ms)))
    }
}

/// One line for people, such as `pause leader for 3500 ms`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parts = self.parts();
        f.write_str(&parts.order)?;
        parts.lasts.flatten().map_or(Ok(()), |for_ms| write!(f, " for {for_ms} ms"))
    }
}

/// One line for people, such as `at 4000 ms`.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "at {}", self.moment())
    }
}

impl Trigger {
    fn moment(&self) -> String {
        match self {
            Trigger::At { ms } => format!("{ms} ms"),
            Trigger::Passage { point, node, nth, after: None, .. } => format!("passage {nth} of {point} by {node}"),
            Trigger::Passage { point, node, nth, after: Some(after), delay_ms } => {
                format!("passage {nth} of {point} by {node}, counted from {delay_ms} ms after {}", after.moment())
            }
        }
    }
}

/// How plans say that a process comes back.
pub(super) fn restart_after(after_ms: Option<f64>) -> String {
    after_ms.map_or(String::new(), |after_ms| format!(" and restart it after {after_ms} ms"))
}

/// Everyone of a group.
pub(super) fn group(group: &[Who]) -> String {
    let words: Vec<&str> = group.iter().map(Who::word).collect();
    words.join(" and ")
}
