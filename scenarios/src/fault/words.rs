//! The wording of faults in plans, histories and reports.

use super::{
    Fault, Parts, Trigger,
    parts::{duration, possessive},
};
use protocols::{
    history::{FaultEvent, Phase},
    types::NodeId,
};
use std::fmt;

impl Fault {
    /// The fault's event in a history; `names` gives the processes' names.
    pub fn event(
        &self,
        index: u32,
        phase: Phase,
        (on, to): (&[NodeId], &[NodeId]),
        names: impl Fn(&[NodeId]) -> String,
    ) -> FaultEvent {
        let parts = self.parts();
        // A node on both sides of a cut, such as a service's leader that is also one of its members, is named once.
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

    /// One line of prose; `on` and `to` name the processes it strikes.
    pub fn describe(&self, on: &str, to: &str) -> String {
        self.parts().describe(on, to)
    }
}

impl Parts<'_> {
    fn describe(&self, on: &str, to: &str) -> String {
        // Placeholders are found once, before any name is in the text: a name may look like one.
        let mut pieces = self.event.split(['{', '}']);
        let mut event = pieces.next().unwrap_or_default().to_owned();
        while let (Some(place), Some(text)) = (pieces.next(), pieces.next()) {
            match place {
                "on's" => event += &possessive(on),
                "on" => event += on,
                _ => event += to,
            }
            event += text;
        }
        self.lasts.flatten().map_or(event.clone(), |ms| format!("{event} for {}", duration(ms)))
    }
}

/// One line of prose, such as `pause leader for 3500 ms`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parts = self.parts();
        f.write_str(&parts.order)?;
        parts.lasts.flatten().map_or(Ok(()), |for_ms| write!(f, " for {for_ms} ms"))
    }
}

/// One line of prose, such as `at 4000 ms`.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "at {}", self.moment())
    }
}

impl Trigger {
    /// The earliest time at which it can trigger, milliseconds.
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
            Trigger::Passage { point, node, nth, after: Some(after), delay_ms, .. } => {
                format!("passage {nth} of {point} by {node}, counted from {delay_ms} ms after {}", after.moment())
            }
        }
    }
}
