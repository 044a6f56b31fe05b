//! One call of `tryAcquireOrRenew`: up to three requests, and the state after each.

use super::client_go::{COMPARES_CLOCKS, OWN_DURATION, granted, token};
use crate::{
    clock::Now,
    election::Setup,
    error::Failure,
    service::kubernetes::{Record, Reply, Request, micro_time::whole_seconds},
    types::{MICROSECOND, SECOND},
};

/// The next action of a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Outcome {
    Ask(Request),
    /// The candidate has the lease.
    Held,
    /// The candidate does not have the lease, or does not know.
    Failed,
}

/// The request under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Step {
    /// A renewal that assumes an unchanged record.
    Fast(Record),
    Get,
    Create(Record),
    Update(Record),
}

/// A candidate's view of the record, under one identity.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Observed {
    identity: String,
    /// The record as last read or written, and its version.
    pub(super) record: Record,
    version: String,
    /// When that was, by the candidate's monotonic clock.
    at: u64,
    /// The compared form of the last record read: times in whole seconds (`metav1.Time` in JSON).
    raw: Option<(String, u32, u64, u64, u32)>,
    step: Option<Step>,
    /// When the call began.
    began: Now,
}

impl Observed {
    pub(super) fn new(identity: String) -> Self {
        let (record, version) = (Record::default(), String::new());
        Observed { identity, record, version, at: 0, raw: None, step: None, began: Now { mono: 0, wall: 0 } }
    }

    /// Whether the record, as last seen, is this candidate's.
    pub(super) fn is_leader(&self) -> bool {
        self.record.holder == self.identity
    }

    /// The token of the record as it is.
    pub(super) fn token(&self) -> u64 {
        token(self.record.transitions)
    }

    /// The token of the record once this candidate has taken it.
    pub(super) fn next_token(&self) -> u64 {
        token(self.record.transitions.saturating_add(u32::from(!self.version.is_empty())))
    }

    fn is_valid(&self, now: Now, setup: &Setup) -> bool {
        let duration = match setup.bugs.has(&OWN_DURATION) {
            true => granted(setup.timings.lease_ttl),
            false => u64::from(self.record.duration_s) * SECOND,
        };
        if setup.bugs.has(&COMPARES_CLOCKS) {
            return (self.record.renewed_us * MICROSECOND).saturating_add(duration) > now.wall;
        }
        self.at.saturating_add(duration) > now.mono
    }

    /// The record that this candidate writes.
    fn own(&self, setup: &Setup) -> Record {
        let us = self.began.wall / MICROSECOND;
        Record {
            holder: self.identity.clone(),
            duration_s: u32::try_from(granted(setup.timings.lease_ttl) / SECOND).unwrap_or(u32::MAX),
            acquired_us: us,
            renewed_us: us,
            transitions: 0,
        }
    }

    /// Begins a call.
    pub(super) fn begin(&mut self, now: Now, setup: &Setup, name: String) -> Request {
        self.began = now;
        if self.is_leader() && self.is_valid(now, setup) {
            let Record { acquired_us, transitions, .. } = self.record;
            let record = Record { acquired_us, transitions, ..self.own(setup) };
            self.step = Some(Step::Fast(record.clone()));
            return Request::Update { name, version: self.version.clone(), record };
        }
        self.step = Some(Step::Get);
        Request::Get { name }
    }

    /// Gives the call up.
    pub(super) fn give_up(&mut self) {
        self.step = None;
    }

    fn see(&mut self, record: Record, now: u64) {
        self.record = record;
        self.at = now;
    }

    /// Handles the answer to the request under way.
    pub(super) fn answered(&mut self, now: u64, reply: Result<Reply, Failure>, setup: &Setup, name: String) -> Outcome {
        match (self.step.take(), reply) {
            (
                Some(Step::Fast(record) | Step::Create(record) | Step::Update(record)),
                Ok(Reply::Lease { version, .. }),
            ) => {
                self.see(record, now);
                self.version = version;
                Outcome::Held
            }
            (Some(Step::Fast(_)), _) => {
                crate::mark!("k8s-lease: a renewal by what was seen last fails, and the record is read first");
                self.step = Some(Step::Get);
                Outcome::Ask(Request::Get { name })
            }
            (Some(Step::Get), Ok(Reply::NotFound)) => {
                let record = self.own(setup);
                self.step = Some(Step::Create(record.clone()));
                Outcome::Ask(Request::Create { name, record })
            }
            (Some(Step::Get), Ok(Reply::Lease { record, version })) => self.found(now, record, version, setup, name),
            _ => Outcome::Failed,
        }
    }

    fn found(&mut self, now: u64, old: Record, version: String, setup: &Setup, name: String) -> Outcome {
        let [acquired, renewed] = [old.acquired_us, old.renewed_us].map(whole_seconds);
        let raw = Some((old.holder.clone(), old.duration_s, acquired, renewed, old.transitions));
        if self.raw != raw {
            self.raw = raw;
            self.see(old.clone(), now);
        }
        self.version = version;
        if !old.holder.is_empty() && self.is_valid(self.began, setup) && !self.is_leader() {
            return Outcome::Failed;
        }
        let mut record = self.own(setup);
        if self.is_leader() {
            (record.acquired_us, record.transitions) = (old.acquired_us, old.transitions);
        } else {
            record.transitions = old.transitions.saturating_add(1);
        }
        self.step = Some(Step::Update(record.clone()));
        Outcome::Ask(Request::Update { name, version: self.version.clone(), record })
    }

    /// The request that releases the lease just read; `None` if it is not this candidate's.
    pub(super) fn release(&self, now: Now, reply: Result<Reply, Failure>, name: String) -> Option<Request> {
        let Ok(Reply::Lease { record: old, version }) = reply else { return None };
        let us = now.wall / MICROSECOND;
        (old.holder == self.identity).then(|| Request::Update {
            name,
            version,
            record: Record {
                holder: String::new(),
                duration_s: 1,
                acquired_us: us,
                renewed_us: us,
                transitions: old.transitions,
            },
        })
    }
}
