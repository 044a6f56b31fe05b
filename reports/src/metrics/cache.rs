//! How long caches served older data than they had had.

use super::{Metrics, ms};
use crate::by_resource::ByResource;
use protocols::{
    message::Write,
    types::{Operation, Payload},
};

/// Folds accepted refreshes of caches.
#[derive(Default)]
pub(super) struct Caches {
    on: ByResource<On>,
    any: bool,
}

#[derive(Clone, Default)]
struct On {
    newest: u64,
    /// Since when it has had an older version, microseconds.
    set_back_us: Option<u64>,
    stale_us: u64,
}

impl Caches {
    pub(super) fn accepted(&mut self, t_us: u64, write: &Write, payload: Payload) {
        if write.operation != Operation::Refresh {
            return;
        }
        self.any = true;
        let on = self.on.at(write.resource);
        on.stale_us += on.set_back_us.take().map_or(0, |since_us| t_us.saturating_sub(since_us));
        on.set_back_us = (payload.number.get() < on.newest).then_some(t_us);
        on.newest = on.newest.max(payload.number.get());
    }

    pub(super) fn finish(&self, end_us: u64, metrics: &mut Metrics) {
        let stale_us = |on: &On| on.stale_us + on.set_back_us.map_or(0, |since_us| end_us.saturating_sub(since_us));
        let longest_us = self.on.iter().map(|(_, on)| stale_us(on)).max().unwrap_or(0);
        metrics.cache_stale_ms = self.any.then(|| ms(longest_us as i64));
    }
}
