//! Dark time: how long no write would have been accepted. Clients are open-loop, so their requests probe at a fixed
//! rate: a request that is not applied within the header's `dark_after_ms` stands for 1/rate of dark time.

use super::figures::{DarkStretch, Metrics};
use crate::requests::Requests;
use protocols::{history::Header, types::RequestId};
use std::collections::{BTreeMap, VecDeque};

/// Dark requests at most this many client periods apart belong to one stretch.
const PERIODS_APART: u64 = 5;
/// A stretch is reported if it is at least this many times as long as a request may take.
const TOLD_MIN: u64 = 4;
/// How many stretches are kept apart.
const STRETCHES_MOST: usize = 4_096;

/// Dark requests grouped into stretches: the first and the last request, and how many.
#[derive(Default)]
struct Stretches(BTreeMap<u64, (u64, u64)>);

impl Stretches {
    fn add(&mut self, asked_us: u64, apart_us: u64) {
        let near = self.0.range(..=asked_us + apart_us).next_back().map(|(from, of)| (*from, *of));
        let Some((from, (last, n))) = near.filter(|(_, (last, _))| *last + apart_us >= asked_us) else {
            if self.0.len() < STRETCHES_MOST {
                self.0.insert(asked_us, (asked_us, 1));
            }
            return;
        };
        self.0.remove(&from);
        let (mut first, mut last, mut n) = (from.min(asked_us), last.max(asked_us), n + 1);
        // The request may have closed the gap to the previous stretch.
        if let Some((before, (end, more))) = self.0.range(..first).next_back().map(|(from, of)| (*from, *of))
            && end + apart_us >= first
        {
            self.0.remove(&before);
            (first, last, n) = (before, last.max(end), n + more);
        }
        self.0.insert(first, (last, n));
    }
}

pub(super) struct Dark {
    after_us: u64,
    rate: u64,
    stretches: Stretches,
    first_elected_us: Option<u64>,
    /// The invocation time of each request that is not yet served.
    waiting: Requests<u64>,
    /// The times of the latest requests, as far back as may turn out to be too late to judge.
    latest: VecDeque<u64>,
    /// Requests since the first election.
    asked: u64,
    dark: u64,
    startup_dark: u64,
    served: u64,
    /// From request to application, microseconds, summed over all served requests.
    served_us: u64,
}

impl Dark {
    pub(super) fn new(header: &Header) -> Self {
        Dark {
            after_us: header.dark_after_ms.saturating_mul(1000),
            rate: header.rate,
            stretches: Stretches::default(),
            first_elected_us: None,
            waiting: Requests::default(),
            latest: VecDeque::new(),
            asked: 0,
            dark: 0,
            startup_dark: 0,
            served: 0,
            served_us: 0,
        }
    }

    fn apart_us(&self) -> u64 {
        PERIODS_APART * 1_000_000 / self.rate.max(1)
    }

    pub(super) fn elected(&mut self, t_us: u64) {
        self.first_elected_us.get_or_insert(t_us);
    }

    pub(super) fn invoked(&mut self, t_us: u64, request: RequestId) {
        if self.first_elected_us.is_some() {
            self.asked += 1;
            while self.latest.front().is_some_and(|asked_us| asked_us.saturating_add(self.after_us) < t_us) {
                self.latest.pop_front();
            }
            self.latest.push_back(t_us);
        }
        let apart_us = self.apart_us();
        let Dark { waiting, dark, startup_dark, after_us, first_elected_us, stretches, .. } = self;
        waiting.sweep(request.client, |asked_us| {
            let over = asked_us.saturating_add(*after_us) < t_us;
            if over {
                let startup = first_elected_us.is_none_or(|elected_us| *asked_us < elected_us);
                *if startup { &mut *startup_dark } else { &mut *dark } += 1;
                if !startup {
                    stretches.add(*asked_us, apart_us);
                }
            }
            over
        });
        waiting.insert(request, t_us);
    }

    pub(super) fn served(&mut self, t_us: u64, request: RequestId) {
        // A request served too late stays, and is counted when it is swept.
        let asked_us = self.waiting.get_mut(request).map(|asked_us| *asked_us);
        let Some(asked_us) = asked_us.filter(|asked_us| t_us <= asked_us.saturating_add(self.after_us)) else { return };
        self.waiting.remove(request);
        self.served += 1;
        self.served_us += t_us.saturating_sub(asked_us);
    }

    pub(super) fn finish(mut self, end_us: u64, metrics: &mut Metrics) {
        // A request made this late might have been served after the end: it is neither dark nor served.
        let (after_us, apart_us) = (self.after_us, self.apart_us());
        let too_late = |asked_us: &&u64| asked_us.saturating_add(after_us) >= end_us;
        for asked_us in self.waiting.values().filter(|asked_us| !too_late(asked_us)) {
            let startup = self.first_elected_us.is_none_or(|elected_us| *asked_us < elected_us);
            *if startup { &mut self.startup_dark } else { &mut self.dark } += 1;
            if !startup {
                self.stretches.add(*asked_us, apart_us);
            }
        }
        let stretch = |requests: u64| requests as f64 * 1000.0 / self.rate as f64;
        let period_us = 1_000_000 / self.rate.max(1);
        let told = self.stretches.0.iter().map(|(from, (last, n))| DarkStretch {
            from_us: *from,
            to_us: last + period_us,
            dark_us: n * 1_000_000 / self.rate.max(1),
        });
        metrics.dark = told.filter(|s| s.dark_us > (TOLD_MIN * after_us).max(apart_us)).collect();
        metrics.dark_ms = Some(stretch(self.dark));
        metrics.served_after_ms = (self.served > 0).then(|| self.served_us as f64 / 1e3 / self.served as f64);
        metrics.startup_dark_ms = Some(stretch(self.startup_dark));
        let judged = self.asked - self.latest.iter().filter(too_late).count() as u64;
        metrics.availability = (judged > 0).then(|| 1.0 - self.dark as f64 / judged as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dark_requests_are_of_one_stretch_in_whatever_order_they_are_found() {
        for order in [[10, 12, 14, 13, 40, 11], [14, 10, 40, 12, 11, 13], [40, 13, 11, 10, 14, 12]] {
            let mut stretches = Stretches::default();
            order.into_iter().for_each(|asked_us| stretches.add(asked_us, 1));
            // 12 lies between 10 and 14, which are two apart.
            let all: Vec<_> = stretches.0.into_iter().collect();
            assert_eq!(all, [(10, (14, 5)), (40, (40, 1))], "{order:?}");
        }
    }
}
