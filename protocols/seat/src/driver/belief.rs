//! From when a driver believes that it leads, and until when.

use super::{Driver, Ending, OVER};
use crate::{counts::Counts, ended::Ended, observer::News, state::Phase};
use protocols::{elector::Deposed, types::Leadership};
use protocols_clients::env::Env;
use std::sync::atomic::Ordering;

impl Driver {
    pub(super) fn elected(&mut self, leadership: Leadership) {
        if self.ending != Ending::No {
            return;
        }
        if self.state.env.now().mono >= self.course.defers_from {
            self.defers = true;
            return;
        }
        self.holds = true;
        self.leadership = leadership;
        self.believe();
        self.expire(self.state.env.now());
        if self.holds {
            tracing::info!(token = leadership.token, "leads");
            Counts::add(&self.course.counts.elections);
            self.led = true;
            self.state.phase.send_replace(Phase::Leading { token: leadership.token });
            let valid_until = self.state.deadline.load(Ordering::Acquire);
            self.tell(|| News::Leads(Leadership { valid_until, ..leadership }));
        }
    }

    /// Until when it believes.
    pub(super) fn believe(&mut self) {
        let lease_ends = match self.course.counted {
            Some(_) => self.confirmed.saturating_add(self.course.lease),
            None => u64::MAX,
        };
        let until = self.leadership.valid_until.min(lease_ends).saturating_sub(self.margin);
        self.state.deadline.store(until, Ordering::Release);
        let acts = matches!(*self.state.phase.borrow(), Phase::Campaigning | Phase::Leading { .. });
        if self.holds && acts {
            let wall_ms = self.state.env.now().wall / 1_000_000;
            self.course.counts.deadline.store(until, Ordering::Relaxed);
            self.course.counts.renewed_at_ms.store(wall_ms, Ordering::Relaxed);
            if self.led {
                self.tell(|| News::Renewed(until));
            }
        }
        if self.holds {
            self.timers.set(OVER, until);
        }
    }

    pub(super) fn deposed(&mut self, why: Deposed) {
        match why {
            Deposed::Expired => self.over(Ended::Expired),
            Deposed::Lost => self.over(Ended::Lost),
            Deposed::Fenced => self.over(Ended::Refused),
            Deposed::Resigned | Deposed::Stuck => self.over(Ended::Resigned),
        }
    }
}
