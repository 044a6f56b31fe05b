//! What has happened to a fleet.

use crate::{fault::Fault, ledger::Write};
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// How much is told of a fleet that is stuck.
const LAST: usize = 12;

#[derive(Default)]
pub struct Record {
    /// Writes that the database has acknowledged, and when each was told.
    pub acknowledged: Vec<(Instant, Write)>,
    pub struck: Vec<Struck>,
    /// How many leaderships there were.
    pub reigns: usize,
    /// Processes that ended by themselves, after an unclean stop.
    pub ended: usize,
    /// Why the service failed, as members said, and when.
    pub failing: Vec<(Instant, String)>,
    /// The last that members said, but for later writes of a leadership, what was done to them, and when; the newest first.
    last: VecDeque<(Instant, String)>,
}

impl Record {
    pub fn remember(&mut self, at: Instant, what: String) {
        self.last.truncate(LAST - 1);
        self.last.push_front((at, what));
    }

    /// The last events, a line each.
    pub fn last(&self) -> String {
        let ago = |(at, what): &(Instant, String)| format!("\n  {:.1} s ago: {what}", at.elapsed().as_secs_f64());
        self.last.iter().map(ago).collect()
    }
}

/// A fault, and how long it kept others from leading.
#[derive(Clone, Copy, Debug)]
pub struct Struck {
    pub fault: Fault,
    /// From the fault until another said that it leads.
    pub led: Duration,
    /// From the fault until the database had acknowledged its first write.
    pub wrote: Duration,
}
