//! Faults in words: what plans say of them, and what histories and reports do.

use super::{Fault, Trigger, Who};
use protocols::{
    history::{FaultEvent, Phase},
    types::NodeId,
};
use std::fmt;

/// Milliseconds as people write them.
fn duration(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{} s", round(ms / 1_000.0)) } else { format!("{} ms", round(ms)) }
}

fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// `n1's`, `the followers'`.
fn possessive(on: &str) -> String {
    if on.ends_with('s') { format!("{on}'") } else { format!("{on}'s") }
}

impl Fault {
    /// What histories say of it; `names` says what processes are called.
    pub fn event(
        &self,
        index: u32,
        phase: Phase,
        (on, to): (&[NodeId], &[NodeId]),
        names: impl Fn(&[NodeId]) -> String,
    ) -> FaultEvent {
        let detail = self.describe(&names(on), &names(to));
        // A partition strikes both sides.
        let (sides, on, to) = match self {
            Fault::Partition { .. } => ([on.to_vec(), to.to_vec()], [on, to].concat(), Vec::new()),
            _ => (Default::default(), on.to_vec(), to.to_vec()),
        };
        let one_way = matches!(self, Fault::Partition { one_way: true, .. });
        let parts = self.parts();
        FaultEvent {
            index,
            fault: parts.kind.to_owned(),
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

    /// One line for people; `on` and `to` name whom it strikes.
    pub fn describe(&self, on: &str, to: &str) -> String {
        let lasting = |for_ms: &Option<f64>| for_ms.map_or(String::new(), |ms| format!(" for {}", duration(ms)));
        let back = |after: &Option<f64>| after.map_or(String::new(), |ms| format!(", back after {}", duration(ms)));
        match self {
            Fault::Pause { for_ms, .. } => format!("{on} paused for {}", duration(*for_ms)),
            Fault::Kill { restart_after_ms, .. } => format!("{on} killed{}", back(restart_after_ms)),
            Fault::PowerLoss { restart_after_ms, .. } => format!("{on} loses power{}", back(restart_after_ms)),
            Fault::Restart { .. } => format!("{on} started again"),
            Fault::Partition { one_way: true, for_ms, .. } => format!("{on} cannot reach {to}{}", lasting(for_ms)),
            Fault::Partition { for_ms, .. } => format!("{on} and {to} cut off from each other{}", lasting(for_ms)),
            Fault::Latency { extra_us, for_ms, .. } => {
                let extra = duration(*extra_us as f64 / 1_000.0);
                format!("{on} to {to} takes {extra} longer{}", lasting(for_ms))
            }
            Fault::Loss { probability, for_ms, .. } => {
                format!("{on} to {to} loses {} %{}", round(probability * 100.0), lasting(for_ms))
            }
            Fault::SlowDisk { extra_us, for_ms, .. } => {
                let extra = duration(*extra_us as f64 / 1_000.0);
                format!("{} disk takes {extra} longer to sync{}", possessive(on), lasting(for_ms))
            }
            Fault::SyncHang { for_ms, .. } => format!("no sync of {} disk ends{}", possessive(on), lasting(for_ms)),
            Fault::SyncFail { silent, for_ms, .. } => {
                let unnoticed = if *silent { " unnoticed" } else { "" };
                format!("syncs of {} disk fail{unnoticed}{}", possessive(on), lasting(for_ms))
            }
            Fault::ClockStep { by_ms, .. } => format!("{} wall clock steps by {by_ms} ms", possessive(on)),
            Fault::ClockRate { ppm, for_ms, .. } => {
                format!("{} clocks run at {ppm:+} ppm{}", possessive(on), lasting(for_ms))
            }
            Fault::Resign { .. } => format!("{on} asked to resign"),
            Fault::Transfer { .. } => format!("{on} asked to hand over to {to}"),
            Fault::Join { .. } => format!("{on} starts, to join"),
            Fault::Leave { .. } => format!("{on} is to leave"),
            Fault::DropLease { .. } => format!("{} lease is dropped by the service", possessive(on)),
            Fault::DropKey { node: Who::Service } => "the service loses its counter of tokens".to_owned(),
            Fault::DropKey { .. } => format!("{} key is dropped by the service", possessive(on)),
        }
    }
}

/// One line for people, such as `pause leader for 3500 ms`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Fault::Pause { node, .. } => write!(f, "pause {node}")?,
            Fault::Kill { node, restart_after_ms } => {
                write!(f, "kill {node}")?;
                restart(f, *restart_after_ms)?;
            }
            Fault::PowerLoss { node, restart_after_ms } => {
                write!(f, "cut the power of {node}")?;
                restart(f, *restart_after_ms)?;
            }
            Fault::Restart { node } => write!(f, "restart {node}")?,
            Fault::Partition { from, to, one_way: false, .. } => {
                write!(f, "cut {} off from {}", group(from), group(to))?
            }
            Fault::Partition { from, to, one_way: true, .. } => {
                write!(f, "lose everything from {} to {}", group(from), group(to))?;
            }
            Fault::Latency { from, to, extra_us, .. } => {
                write!(f, "delay {} to {} by {} ms", group(from), group(to), *extra_us as f64 / 1e3)?;
            }
            Fault::Loss { from, to, probability, .. } => {
                let percent = (probability * 1e6).round() / 1e4;
                write!(f, "lose {percent} % from {} to {}", group(from), group(to))?;
            }
            Fault::SlowDisk { node, extra_us, .. } => {
                write!(f, "slow each sync of {node}'s disk by {} ms", *extra_us as f64 / 1e3)?;
            }
            Fault::SyncHang { node, .. } => write!(f, "hang each sync of {node}'s disk")?,
            Fault::SyncFail { node, silent: false, .. } => write!(f, "fail each sync of {node}'s disk")?,
            Fault::SyncFail { node, silent: true, .. } => write!(f, "fail each sync of {node}'s disk unnoticed")?,
            Fault::ClockStep { node, by_ms } => write!(f, "step the wall clock of {node} by {by_ms:+} ms")?,
            Fault::ClockRate { node, ppm, .. } => write!(f, "run the clocks of {node} at {ppm:+} ppm")?,
            Fault::Resign { node } => write!(f, "ask {node} to resign")?,
            Fault::Transfer { node, to } => write!(f, "ask {node} to hand over to {to}")?,
            Fault::Join { node } => write!(f, "have {node} join")?,
            Fault::Leave { node } => write!(f, "have {node} leave")?,
            Fault::DropLease { node } => write!(f, "drop the lease of {node}")?,
            Fault::DropKey { node: Who::Service } => write!(f, "drop the counter of tokens")?,
            Fault::DropKey { node } => write!(f, "drop the key of {node}")?,
        }
        self.for_ms().map_or(Ok(()), |for_ms| write!(f, " for {for_ms} ms"))
    }
}

/// One line for people, such as `at 4000 ms`.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "at {}", self.moment())
    }
}

impl Trigger {
    fn moment(&self) -> String {
        match self {
            Trigger::At { ms } => format!("{ms} ms"),
            Trigger::Passage { point, node, nth, after: None, .. } => format!("passage {nth} of {point} by {node}"),
            Trigger::Passage { point, node, nth, after: Some(after), delay_ms } => {
                format!("passage {nth} of {point} by {node}, counted from {delay_ms} ms after {}", after.moment())
            }
        }
    }
}

fn restart(f: &mut fmt::Formatter, after_ms: Option<f64>) -> fmt::Result {
    after_ms.map_or(Ok(()), |after_ms| write!(f, " and restart it after {after_ms} ms"))
}

fn group(group: &[Who]) -> String {
    let words: Vec<&str> = group.iter().map(Who::word).collect();
    words.join(" and ")
}
