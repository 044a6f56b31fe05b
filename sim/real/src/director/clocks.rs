//! The clocks of nodes: each process adjusts its own, as the director orders.
//!
//! An order reaches a process within a millisecond, and a stopped process when it resumes.

use protocols::{history::Kind, types::NodeId};
use protocols_real::points::ClockOrder;
use scenarios::plan::Plan;
use std::collections::BTreeMap;
use tokio::sync::mpsc::UnboundedSender;

/// Microseconds in a millisecond.
const MILLI: i64 = 1_000;

pub(super) struct Clocks {
    candidates: Vec<Course>,
    /// The running processes that receive clock orders.
    listening: BTreeMap<NodeId, UnboundedSender<ClockOrder>>,
    /// The rates before each active fault.
    before: BTreeMap<u32, Vec<i64>>,
}

/// A node's wall clock relative to the machine's, and its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Course {
    /// How far a freshly started process is ahead, in microseconds.
    at_start_us: i64,
    /// How far it was ahead when this rate began, in microseconds.
    ahead_us: i64,
    /// When this rate began, in nanoseconds since the run began.
    since: u64,
    rate_ppm: i64,
    /// Whether it has been changed. Until then, a process knows its clock from its arguments.
    changed: bool,
}

impl Course {
    fn ahead_us(&self, now: u64) -> i64 {
        let elapsed_us = i128::from(now.saturating_sub(self.since) / 1_000);
        self.ahead_us + (elapsed_us * i128::from(self.rate_ppm) / 1_000_000) as i64
    }

    fn go_on(&mut self, now: u64) {
        (self.ahead_us, self.since, self.changed) = (self.ahead_us(now), now, true);
    }
}

impl Clocks {
    /// The plan's initial clocks.
    pub(super) fn new(plan: &Plan) -> Self {
        let course = |offset_ms: i64, rate_ppm| {
            let ahead_us = offset_ms.saturating_mul(MILLI);
            Course { at_start_us: ahead_us, ahead_us, since: 0, rate_ppm, changed: false }
        };
        let candidates = plan.candidates.iter().map(|c| course(c.wall_offset_ms, c.rate_ppm)).collect();
        Clocks { candidates, listening: BTreeMap::new(), before: BTreeMap::new() }
    }

    /// A process has started: tells it how its clock has changed since the run began.
    pub(super) fn heard_by(&mut self, node: NodeId, listener: UnboundedSender<ClockOrder>, now: u64) {
        if let Some(course) = self.candidates.get(node.index()).filter(|course| course.changed) {
            let by_ms = (course.ahead_us(now) - course.at_start_us) / MILLI;
            // The process may already be dead.
            let _ =
                listener.send(ClockOrder::Step(by_ms)).and_then(|()| listener.send(ClockOrder::Rate(course.rate_ppm)));
        }
        self.listening.insert(node, listener);
    }

    /// Steps the wall clocks of `nodes`. Returns the events for the history.
    pub(super) fn step(&mut self, nodes: &[NodeId], by_ms: i64, now: u64) -> Vec<Kind> {
        self.change(nodes, now, |course| {
            course.ahead_us += by_ms.saturating_mul(MILLI);
            ClockOrder::Step(by_ms)
        })
    }

    /// Sets the clock rate of `nodes` until [`Clocks::as_before`] ends the fault.
    pub(super) fn set_rate(&mut self, fault: u32, nodes: &[NodeId], ppm: i64, now: u64) -> Vec<Kind> {
        let rate = |node: &NodeId| self.candidates.get(node.index()).map_or(0, |course| course.rate_ppm);
        self.before.insert(fault, nodes.iter().map(rate).collect());
        nodes.iter().flat_map(|node| self.run_at(*node, ppm, now)).collect()
    }

    /// Restores the rates from before the fault.
    pub(super) fn as_before(&mut self, fault: u32, nodes: &[NodeId], now: u64) -> Vec<Kind> {
        let rates = self.before.remove(&fault).unwrap_or_default();
        nodes.iter().zip(rates).flat_map(|(node, ppm)| self.run_at(*node, ppm, now)).collect()
    }

    fn run_at(&mut self, node: NodeId, ppm: i64, now: u64) -> Vec<Kind> {
        self.change(&[node], now, |course| {
            course.rate_ppm = ppm;
            ClockOrder::Rate(ppm)
        })
    }

    fn change(&mut self, nodes: &[NodeId], now: u64, change: impl Fn(&mut Course) -> ClockOrder) -> Vec<Kind> {
        let mut told = Vec::new();
        for node in nodes {
            let Some(course) = self.candidates.get_mut(node.index()) else { continue };
            course.go_on(now);
            let order = change(course);
            if let Some(listener) = self.listening.get(node) {
                // The process may be dead; its successor is told when it starts.
                let _ = listener.send(order);
            }
            told.push(Kind::Clock { node: *node, wall_offset_us: course.ahead_us, rate_ppm: course.rate_ppm });
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{election, types::MILLISECOND};
    use scenarios::{Params, scenario};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    const SECOND: u64 = 1_000 * MILLISECOND;
    const N1: NodeId = NodeId(0);

    fn clocks() -> Clocks {
        let (scenario, protocol) = (scenario::find("steady"), election::find("raft"));
        let params = Params { clock_skew_ms: 0, clock_drift_ppm: 0, ..Params::default() };
        let plan = scenario.expect("a scenario").compile(&params, protocol.expect("a protocol"), 1);
        Clocks::new(&plan.expect("a plan"))
    }

    fn heard(orders: &mut UnboundedReceiver<ClockOrder>) -> Vec<ClockOrder> {
        std::iter::from_fn(|| orders.try_recv().ok()).collect()
    }

    #[test]
    fn a_process_hears_of_changes_and_the_history_of_what_they_come_to() {
        let (mut clocks, (sender, mut orders)) = (clocks(), unbounded_channel());
        clocks.heard_by(N1, sender, 0);
        assert!(heard(&mut orders).is_empty(), "it knows the plan");
        clocks.step(&[N1], 250, SECOND);
        clocks.set_rate(0, &[N1, NodeId(1)], -100_000, 2 * SECOND);
        let told = clocks.as_before(0, &[N1, NodeId(1)], 12 * SECOND);
        // A tenth of ten seconds was lost.
        assert_eq!(told[0], Kind::Clock { node: N1, wall_offset_us: 250_000 - 1_000_000, rate_ppm: 0 });
        assert_eq!(told[1], Kind::Clock { node: NodeId(1), wall_offset_us: -1_000_000, rate_ppm: 0 });
        assert_eq!(heard(&mut orders), [ClockOrder::Step(250), ClockOrder::Rate(-100_000), ClockOrder::Rate(0)]);
    }

    #[test]
    fn a_machine_keeps_its_clock_when_its_process_starts_again() {
        let mut clocks = clocks();
        clocks.set_rate(0, &[N1], 200_000, SECOND);
        let (sender, mut orders) = unbounded_channel();
        clocks.heard_by(N1, sender, 11 * SECOND);
        assert_eq!(heard(&mut orders), [ClockOrder::Step(2_000), ClockOrder::Rate(200_000)]);
    }
}
