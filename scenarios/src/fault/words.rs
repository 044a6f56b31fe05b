//! Faults in words: what plans say of them, and what histories and reports do.

use super::{
    Fault, Parts, Trigger,
    text::{duration, possessive},
};
use protocols::{
    history::{FaultEvent, Phase},
    types::NodeId,
};
use std::fmt;

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
        // Who is on both sides of a cut, as the one that leads a service and is one of its members, is told of once.
        let twice = |node: &NodeId| matches!(self, Fault::Partition { .. }) && on.contains(node);
        let others: Vec<NodeId> = to.iter().copied().filter(|node| !twice(node)).collect();
        let detail = parts.describe(&names(on), &names(if others.is_empty() { to } else { &others }));
        // A partition strikes both sides.
        let (sides, on, to) = match self {
            Fault::Partition { .. } => ([on.to_vec(), to.to_vec()], [on, to].concat(), Vec::new()),
            _ => (Default::default(), on.to_vec(), to.to_vec()),
        };
        let one_way = matches!(self, Fault::Partition { one_way: true, .. });
        FaultEvent {
            index,
            kind: parts.kind,
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
    /// When it can set a fault off at the earliest, milliseconds.
    pub fn earliest_ms(&self) -> f64 {
        match self {
            Trigger::At { ms } => *ms,
            Trigger::Passage { after, delay_ms, .. } => {
                after.as_ref().map_or(0.0, |after| after.earliest_ms()) + delay_ms
            }
        }
    }

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
