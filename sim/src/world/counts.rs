//! What the history's last event counts.

use super::World;
use protocols::{
    elector::ServiceOutput,
    history::{Kind, SERVICE_REQUESTS, SERVICE_REQUESTS_BURST, SERVICE_REQUESTS_PEAK},
    types::{MILLISECOND, SECOND},
};
use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
pub(super) struct Counts {
    pub delivered: u64,
    /// Messages sent for elections, by kind.
    by_kind: BTreeMap<&'static str, u64>,
    /// The times of requests to services in the last second, counted from the first fault on.
    asked: Option<VecDeque<u64>>,
}

impl World {
    /// Counts a message of the election.
    pub fn count(&mut self, kind: &'static str) {
        *self.counts.by_kind.entry(kind).or_default() += 1;
    }

    /// Counts a request of an elector to its service's client.
    pub fn count_request(&mut self, output: &ServiceOutput) {
        let asks =
            matches!(output, ServiceOutput::Request { .. } | ServiceOutput::Push(_) | ServiceOutput::Open { .. });
        if asks {
            self.count(SERVICE_REQUESTS);
            let now = self.now;
            let Counts { by_kind, asked: Some(asked), .. } = &mut self.counts else { return };
            asked.push_back(now);
            while asked.front().is_some_and(|at| at + SECOND <= now) {
                asked.pop_front();
            }
            let burst = asked.iter().rev().take_while(|at| **at + 10 * MILLISECOND > now).count();
            for (kind, many) in [(SERVICE_REQUESTS_PEAK, asked.len()), (SERVICE_REQUESTS_BURST, burst)] {
                let most = by_kind.entry(kind).or_default();
                *most = (*most).max(many as u64);
            }
        }
    }

    /// A fault strikes. Peaks count from the first fault on, since requests at the start are not due to faults.
    pub(super) fn count_peak(&mut self) {
        self.counts.asked.get_or_insert_default();
    }

    /// The history's last event.
    pub(super) fn end_of_history(&mut self) -> Kind {
        let by_kind = std::mem::take(&mut self.counts.by_kind).into_iter().map(|(kind, n)| (kind.to_owned(), n));
        Kind::End { messages: self.counts.delivered, by_kind: by_kind.collect() }
    }
}
