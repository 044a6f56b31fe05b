//! What clients saw of a cluster, and what that comes to.

use protocols::{error::Failure, types::MILLISECOND};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Something that a client saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// It has what it asked for: a write, a renewal, a connection of its session.
    Answered,
    /// It has not, for a reason of this kind.
    Failed(String),
    /// Its lease or session is over.
    Lost,
}

/// What clients saw, with nanoseconds of one clock.
#[derive(Clone)]
pub struct Log {
    seen: Arc<Mutex<Vec<(u64, Seen)>>>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Log {
    /// Nothing was seen.
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Log {
        Log { seen: Arc::default(), clock: Arc::new(clock) }
    }

    fn seen(&self) -> MutexGuard<'_, Vec<(u64, Seen)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now it sees this.
    pub fn sees(&self, seen: Seen) {
        let now = (self.clock)();
        self.seen().push((now, seen));
    }

    /// It has no answer, and why.
    pub fn fails(&self, why: &Failure) {
        self.sees(Seen::Failed(kind(why)));
    }

    /// Was it ever answered?
    pub fn was_answered(&self) -> bool {
        self.seen().iter().any(|(_, seen)| *seen == Seen::Answered)
    }
}

/// What kind of failure it is, without addresses, numbers, and what is the machine's own way to say that there is no connection.
fn kind(why: &Failure) -> String {
    let text = match why {
        Failure::Rejected(text) | Failure::Unknown(text) => text,
    };
    let known = [
        ("etcdserver: request timed out", "request timed out"),
        ("etcdserver: leader changed", "leader changed"),
        ("etcdserver: no leader", "no leader"),
        ("etcdserver: not capable", "not capable"),
        ("requested lease not found", "lease not found"),
        ("lease not found", "lease not found"),
        ("not a primary lessor", "not a primary lessor"),
        ("connection loss", "connection loss"),
        ("No cluster leader", "No cluster leader"),
        ("leadership lost", "leadership lost"),
        ("not the leader", "not the leader"),
        ("rpc error", "rpc error"),
        ("timed out", "no answer in time"),
        ("session expired", "session expired"),
    ];
    if let Some((_, kind)) = known.into_iter().find(|(words, _)| text.contains(words)) {
        return kind.to_owned();
    }
    let unconnected = [
        "no connection",
        "connection error",
        "onnection refused",
        "h2 protocol error",
        "http2 error",
        "transport",
        "the stream ended",
        "no answer:",
    ];
    match unconnected.into_iter().any(|words| text.contains(words)) {
        true => "no connection".to_owned(),
        false => text.clone(),
    }
}

/// When what happened, nanoseconds of the clock that clients are read by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// The fault struck.
    pub struck: u64,
    /// It was over: healed, or everybody was started again.
    pub over: u64,
    /// Nobody looked any more.
    pub ended: u64,
}

/// What came of a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Came {
    /// For how long at most nothing was written, milliseconds; from the fault's end on where there could be no service before.
    pub dark_ms: u64,
    /// Was the lease lost that its holder kept alive?
    pub lost: bool,
    /// Why writes and renewals failed, and how often.
    pub failures: BTreeMap<String, u32>,
}

/// What came of a fault, by what the holder of a lease and who writes all the time saw. `without` says that there could be no
/// service while it lasted.
pub fn came(holder: &Log, prober: &Log, times: Times, without: bool) -> Came {
    let since = if without { times.over } else { times.struck };
    let mut written: Vec<u64> =
        prober.seen().iter().filter(|(_, seen)| *seen == Seen::Answered).map(|(at, _)| *at).collect();
    written.retain(|at| *at >= since);
    // Who was never answered again is dark to the end.
    let first = written.first().copied().unwrap_or(times.ended) - since;
    let last = times.ended.saturating_sub(written.last().copied().unwrap_or(since));
    let between = written.windows(2).map(|two| two[1] - two[0]).chain([last]).max().unwrap_or(0);
    let dark = if without { first } else { first.max(between) };
    let mut failures = BTreeMap::new();
    for log in [holder, prober] {
        for (_, seen) in log.seen().iter().filter(|(at, _)| *at >= times.struck) {
            if let Seen::Failed(kind) = seen {
                *failures.entry(kind.clone()).or_default() += 1;
            }
        }
    }
    Came { dark_ms: dark / MILLISECOND, lost: holder.seen().iter().any(|(_, seen)| *seen == Seen::Lost), failures }
}
