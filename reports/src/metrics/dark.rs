//! Dark time: how long no write would have been accepted. The clients are open-loop, so their requests are a probe at a
//! fixed rate: a request that is not applied within the header's `dark_after_ms` stands for a dark stretch of 1/rate.

use super::figures::Metrics;
use crate::requests::Requests;
use protocols::{history::Header, types::RequestId};
use std::collections::VecDeque;

pub(super) struct Dark {
    after_us: u64,
    rate: u64,
    first_elected_us: Option<u64>,
    /// When each request that is not yet served was made.
    waiting: Requests<u64>,
    /// When the latest requests were made, as far back as may turn out to be too late to be judged.
    latest: VecDeque<u64>,
    /// Requests since the first election.
    asked: u64,
    dark: u64,
    startup_dark: u64,
    served: u64,
    /// From request to application, microseconds, over all that were served.
    served_us: u64,
}

impl Dark {
    pub(super) fn new(header: &Header) -> Self {
        Dark {
            after_us: header.dark_after_ms.saturating_mul(1000),
            rate: header.rate,
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
        let Dark { waiting, dark, startup_dark, after_us, first_elected_us, .. } = self;
        waiting.sweep(request.client, |asked_us| {
            let over = asked_us.saturating_add(*after_us) < t_us;
            if over {
                let startup = first_elected_us.is_none_or(|elected_us| *asked_us < elected_us);
                *if startup { &mut *startup_dark } else { &mut *dark } += 1;
            }
            over
        });
        waiting.insert(request, t_us);
    }

    pub(super) fn served(&mut self, t_us: u64, request: RequestId) {
        // One that is served too late stays, and is counted when it is swept.
        let asked_us = self.waiting.get_mut(request).map(|asked_us| *asked_us);
        let Some(asked_us) = asked_us.filter(|asked_us| t_us <= asked_us.saturating_add(self.after_us)) else { return };
        self.waiting.remove(request);
        self.served += 1;
        self.served_us += t_us.saturating_sub(asked_us);
    }

    pub(super) fn finish(mut self, end_us: u64, metrics: &mut Metrics) {
        // Whoever asked this late might have been served after the end: neither dark nor served.
        let after_us = self.after_us;
        let too_late = |asked_us: &&u64| asked_us.saturating_add(after_us) >= end_us;
        for asked_us in self.waiting.values().filter(|asked_us| !too_late(asked_us)) {
            let startup = self.first_elected_us.is_none_or(|elected_us| *asked_us < elected_us);
            *if startup { &mut self.startup_dark } else { &mut self.dark } += 1;
        }
        let stretch = |requests: u64| requests as f64 * 1000.0 / self.rate as f64;
        metrics.dark_ms = Some(stretch(self.dark));
        metrics.served_after_ms = (self.served > 0).then(|| self.served_us as f64 / 1e3 / self.served as f64);
        metrics.startup_dark_ms = Some(stretch(self.startup_dark));
        let judged = self.asked - self.latest.iter().filter(too_late).count() as u64;
        metrics.availability = (judged > 0).then(|| 1.0 - self.dark as f64 / judged as f64);
    }
}
