//! Grants that ended in the service, and when their holders stopped writing.

use super::figures::ms;
use crate::effects::Effects;
use protocols::{
    history::{Event, Kind},
    types::{Incarnation, NodeId},
};
use std::collections::BTreeMap;

/// Ended grants, with holder and time; bounded by elections.
#[derive(Default)]
pub(super) struct Losses {
    latest: BTreeMap<NodeId, Incarnation>,
    ended_us: BTreeMap<Incarnation, u64>,
}

impl Losses {
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.latest.insert(incarnation.node, *incarnation);
            }
            Kind::GrantEnd { node, token, .. } => {
                if let Some(incarnation) = self.latest.get(node).filter(|i| i.fencing_token() == *token) {
                    self.ended_us.entry(*incarnation).or_insert(event.t_us);
                }
            }
            _ => {}
        }
    }

    /// From the end of each grant to the last write that its incarnation sent, in the order of the grants' ends. An
    /// incarnation that never wrote had nothing to stop.
    pub(super) fn stopped_after_ms(&self, issues: &Effects) -> Vec<f64> {
        let mut last_us: BTreeMap<Incarnation, u64> = BTreeMap::new();
        for interval in issues.resources().flat_map(|resource| issues.intervals(resource)) {
            let last = last_us.entry(interval.incarnation).or_default();
            *last = interval.last.t_us.max(*last);
        }
        let stopped =
            |(i, ended_us): (&Incarnation, &u64)| Some((*ended_us, *last_us.get(i)? as i64 - *ended_us as i64));
        let mut stopped: Vec<_> = self.ended_us.iter().filter_map(stopped).collect();
        stopped.sort();
        stopped.into_iter().map(|(_, after_us)| ms(after_us)).collect()
    }
}
