//! Progress of the triggers of a plan's faults, for the simulated world and for the one of real processes.

use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
    topology::{Moment, Topology},
};
use protocols::{point::Point, types::NodeId};

/// Milliseconds of a plan as nanoseconds.
pub fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

/// The triggers that the plan's faults still wait for. Times are nanoseconds of true time since the start of the run.
pub struct Triggers {
    passages: Vec<Passages>,
    scheduled: Vec<(u64, u32)>,
    /// One bit per point that some fault waits for.
    watched: u32,
    /// Whether every point is of interest, whether a fault waits for it or not.
    all: bool,
}

/// Progress along a chain of passages.
struct Passages {
    fault: u32,
    group: u16,
    stages: Vec<Stage>,
    stage: usize,
    armed_from: u64,
    count: u64,
}

struct Stage {
    point: Point,
    who: Who,
    nth: u64,
    matching: Option<String>,
    delay: u64,
}

impl Triggers {
    pub fn new(plan: &Plan) -> Self {
        let mut triggers = Triggers { passages: Vec::new(), scheduled: Vec::new(), watched: 0, all: false };
        for (index, fault) in plan.faults.iter().enumerate() {
            triggers.wait_for(index as u32, fault);
        }
        triggers.watch();
        triggers
    }

    /// Adds a fault by its index; its passages count from now on.
    pub fn add(&mut self, index: u32, fault: &PlannedFault) {
        self.wait_for(index, fault);
        self.watch();
    }

    fn wait_for(&mut self, index: u32, fault: &PlannedFault) {
        if let Trigger::At { ms } = fault.when {
            self.scheduled.push((nanoseconds(ms), index));
            return;
        }
        let (mut stages, mut armed_from) = (Vec::new(), 0);
        let mut trigger = &fault.when;
        loop {
            match trigger {
                Trigger::At { ms } => {
                    armed_from = nanoseconds(*ms);
                    break;
                }
                Trigger::Passage { point, node, nth, matching, after, delay_ms } => {
                    let Some(point) = Point::from_name(point) else { break };
                    let (who, matching, delay) = (node.clone(), matching.clone(), nanoseconds(*delay_ms));
                    stages.push(Stage { point, who, nth: *nth, matching, delay });
                    match after {
                        Some(before) => trigger = before,
                        None => break,
                    }
                }
            }
        }
        stages.reverse();
        if let Some(first) = stages.first() {
            armed_from += first.delay;
            let group = fault.group;
            self.passages.push(Passages { fault: index, group, stages, stage: 0, armed_from, count: 0 });
        }
    }

    /// The faults with a time as trigger, each with that time.
    pub fn scheduled(&self) -> &[(u64, u32)] {
        &self.scheduled
    }

    /// Watches every point from now on.
    pub fn watch_all(&mut self) {
        self.all = true;
        self.watch();
    }

    fn watch(&mut self) {
        let nothing = if self.all { u32::MAX } else { 0 };
        self.watched = self.passages.iter().fold(nothing, |bits, p| bits | 1 << p.stages[p.stage].point as u32);
    }

    /// True if some fault waits for this point now.
    #[inline]
    pub fn watches(&self, point: Point) -> bool {
        self.watched & (1 << point as u32) != 0
    }

    /// Every point that some fault will ever wait for.
    pub fn points(&self) -> Vec<Point> {
        let waits =
            |point: &Point| self.all || self.passages.iter().any(|p| p.stages.iter().any(|s| s.point == *point));
        Point::ALL.into_iter().filter(waits).collect()
    }

    /// Records that a watched point of a group was passed at `now`, by the node for which `is_meant` answers; if it is a send,
    /// with these first bytes. Returns the faults that strike.
    pub fn passage(
        &mut self,
        now: u64,
        (group, point): (u16, Point),
        head: &[u8],
        is_meant: impl Fn(&Who) -> bool,
    ) -> Vec<u32> {
        let mut ripe = Vec::new();
        for passage in &mut self.passages {
            let stage = &passage.stages[passage.stage];
            let concerns = passage.group == group && stage.point == point;
            let matches = stage.matching.as_ref().is_none_or(|text| contains(head, text.as_bytes()));
            if !concerns || now < passage.armed_from || !matches || !is_meant(&stage.who) {
                continue;
            }
            passage.count += 1;
            if passage.count < stage.nth {
                continue;
            }
            passage.count = 0;
            passage.stage += 1;
            match passage.stages.get(passage.stage) {
                Some(next) => passage.armed_from = now + next.delay,
                None => ripe.push(passage.fault),
            }
        }
        self.passages.retain(|p| p.stage < p.stages.len());
        self.watch();
        ripe
    }
}

/// Are these bytes somewhere in `head`?
pub fn contains(head: &[u8], bytes: &[u8]) -> bool {
    head.windows(bytes.len().max(1)).any(|window| window == bytes)
}

/// The two groups that a fault means at this moment; `None` if they depend on a leader and nobody leads. A transfer has
/// one successor: the first of those named that it does not strike.
pub fn groups(topology: &Topology, what: &Fault, moment: Moment) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
    let (from, to) = what.groups();
    let on = resolve_all(topology, from, moment)?;
    let mut to = resolve_all(topology, to, moment)?;
    if matches!(what, Fault::Transfer { .. }) {
        to.retain(|node| !on.contains(node));
        to.truncate(1);
    }
    Some((on, to))
}

/// The processes that a group means at this moment, without duplicates; `None` as for [`groups`].
fn resolve_all(topology: &Topology, group: &[Who], moment: Moment) -> Option<Vec<NodeId>> {
    let mut nodes = Vec::new();
    for who in group {
        nodes.extend(topology.resolve_at(who, moment)?);
    }
    nodes.sort();
    nodes.dedup();
    Some(nodes)
}
