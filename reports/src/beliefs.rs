//! Which nodes believe that they lead: from an election until the belief or the process ends. A paused process still
//! believes but does not *run*: it can do nothing with its belief until it wakes up.
//!
//! A log may omit that a leader stopped, since a killed process records nothing. In a log a belief is therefore
//! *unsure* from the election of another node on. It counts as over until something shows that it went on: it ends
//! later, is renewed, sends a write, or has a write accepted too late to have been in flight since before.

use protocols::{
    history::{Event, Header, Kind, NodeState},
    message::WriteVerdict,
    types::{Incarnation, NodeId},
};

/// How long an accepted write may have been in flight, microseconds: until then it shows nothing about its writer's
/// belief.
const UNDER_WAY_US: u64 = 1_000_000;

/// The nodes' current beliefs.
#[derive(Debug, Default)]
pub(crate) struct Beliefs {
    nodes: Vec<Node>,
    all: Several,
    awake: Several,
    most: u64,
    /// State for logs only.
    log: Option<Box<OfLog>>,
}

/// Beliefs whose end a log does not report.
#[derive(Debug, Default)]
struct OfLog {
    unsure: Vec<Unsure>,
    shown: Vec<Shown>,
    /// Elections before which the log reports that the previous leader had stopped, and those before which it does not.
    told: u64,
    untold: Vec<Untold>,
    /// The node elected last, and the time of that.
    latest: Option<NodeId>,
    since_us: Option<u64>,
    now_us: u64,
}

/// An election before which nothing reports that the previous leader had stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untold {
    /// The previous leader.
    pub(crate) former: Incarnation,
    /// The elected one.
    pub(crate) newer: Incarnation,
    /// Time of the election, microseconds.
    pub(crate) t_us: u64,
}

/// A belief that may or may not have gone on when another began.
#[derive(Clone, Copy, Debug)]
struct Unsure {
    incarnation: Incarnation,
    /// The first leader elected beside it, and the time of that.
    beside: Incarnation,
    since_us: u64,
    /// How long others have believed since, and the most of them at once.
    us: u64,
    others: u64,
    /// Time has passed since, while the process ran.
    ran: bool,
}

/// Two beliefs that are shown to have overlapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The older one, which went on.
    pub(crate) former: Incarnation,
    /// The one elected meanwhile.
    pub(crate) newer: Incarnation,
    /// Start of the overlap, microseconds.
    pub(crate) from_us: u64,
    /// Its length, microseconds.
    pub(crate) us: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    belief: Option<Incarnation>,
    paused: bool,
    /// A deposition of it was reported earlier.
    stopped: bool,
}

impl Node {
    fn counts(&self) -> (u64, u64) {
        let believes = u64::from(self.belief.is_some());
        (believes, if self.paused { 0 } else { believes })
    }
}

/// How long more than one node was in a state at the same time.
#[derive(Clone, Copy, Debug, Default)]
struct Several {
    count: u64,
    since_us: u64,
    total_us: u64,
    longest: Option<Stretch>,
}

/// An interval of time, microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub(crate) from_us: u64,
    pub(crate) us: u64,
}

impl Several {
    fn change(&mut self, t_us: u64, before: u64, after: u64) {
        let several = self.count > 1;
        self.count = self.count + after - before;
        match (several, self.count > 1) {
            (false, true) => self.since_us = t_us,
            (true, false) => *self = self.until(t_us),
            _ => {}
        }
    }

    /// The same, with the current interval ending now.
    fn until(mut self, now_us: u64) -> Several {
        let us = now_us.saturating_sub(self.since_us);
        self.total_us += us;
        if self.longest.is_none_or(|l| us > l.us) {
            self.longest = Some(Stretch { from_us: self.since_us, us });
        }
        self
    }

    fn at(self, now_us: u64) -> Several {
        if self.count > 1 { self.until(now_us) } else { self }
    }
}

impl Beliefs {
    /// For a history with this header, or for a log without one.
    pub(crate) fn new(header: Option<&Header>) -> Self {
        Beliefs { log: header.is_none().then(Box::default), ..Beliefs::default() }
    }

    /// Takes any event: elections, depositions and states of processes count, and in a log, writes.
    pub(crate) fn observe(&mut self, event: &Event) {
        let t_us = event.t_us;
        if self.log.is_some() {
            self.observe_log(event);
        }
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.set(t_us, incarnation.node, |node| node.belief = Some(*incarnation));
            }
            Kind::Deposed { incarnation, .. } if self.of(incarnation.node) == Some(*incarnation) => {
                self.set(t_us, incarnation.node, |node| (node.belief, node.stopped) = (None, true));
            }
            Kind::Node { node, state: NodeState::Down | NodeState::Off | NodeState::Up } => {
                self.set(t_us, *node, |node| *node = Node::default());
            }
            Kind::Node { node, state: NodeState::Paused } => self.set(t_us, *node, |node| node.paused = true),
            Kind::Node { node, state: NodeState::Resumed } => self.set(t_us, *node, |node| node.paused = false),
            _ => {}
        }
    }

    fn observe_log(&mut self, event: &Event) {
        let (t_us, others, nodes) = (event.t_us, self.all.count, &self.nodes);
        let Some(log) = &mut self.log else { return };
        let passed = t_us.saturating_sub(log.now_us);
        // A paused process does nothing with its belief.
        let runs = |unsure: &&mut Unsure| nodes.get(unsure.incarnation.node.index()).is_none_or(|node| !node.paused);
        for unsure in log.unsure.iter_mut().filter(runs).filter(|_| passed > 0) {
            unsure.ran = true;
            if others > 0 {
                (unsure.us, unsure.others) = (unsure.us + passed, others.max(unsure.others));
            }
        }
        log.now_us = t_us;
        match &event.kind {
            Kind::Elected(incarnation) => self.elected_in_log(t_us, *incarnation),
            Kind::Deposed { incarnation, .. } => {
                self.is_shown(*incarnation, 0);
            }
            Kind::Issue { node, write } => self.goes_on(t_us, write.incarnation(*node), 0),
            Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } => {
                self.goes_on(t_us, write.incarnation(*node), UNDER_WAY_US);
            }
            // A killed process may have stopped leading before.
            Kind::Node { node, state: NodeState::Down | NodeState::Off | NodeState::Up } => {
                log.unsure.retain(|unsure| unsure.incarnation.node != *node);
            }
            _ => {}
        }
    }

    fn elected_in_log(&mut self, t_us: u64, elected: Incarnation) {
        // A second election of the same leadership shows that it went on.
        let again = self.is_shown(elected, 0);
        let open: Vec<Incarnation> = self.nodes.iter().filter_map(|node| node.belief).collect();
        let goes_on = again || open.contains(&elected);
        let others: Vec<Incarnation> = open.into_iter().filter(|other| other.node != elected.node).collect();
        let Some(log) = &mut self.log else { return };
        log.unsure.retain(|unsure| unsure.incarnation.node != elected.node);
        if goes_on {
            return;
        }
        log.since_us = Some(t_us);
        let takes_over = log.latest.replace(elected.node).is_some_and(|latest| latest != elected.node);
        log.told += u64::from(others.is_empty() && takes_over);
        for former in &others {
            log.untold.push(Untold { former: *former, newer: elected, t_us });
            log.unsure.push(Unsure {
                incarnation: *former,
                beside: elected,
                since_us: t_us,
                us: 0,
                others: 0,
                ran: false,
            });
        }
        for former in others {
            self.set(t_us, former.node, |node| node.belief = None);
        }
    }

    /// Takes an unsure belief as continuing until now, if it is older than `under_way_us`, which is how old the
    /// evidence may be.
    fn is_shown(&mut self, incarnation: Incarnation, under_way_us: u64) -> bool {
        let Some(log) = &mut self.log else { return false };
        let (now_us, at_least_us) = (log.now_us, if under_way_us > 0 { under_way_us + 1 } else { 0 });
        let shown = |unsure: &Unsure| unsure.incarnation == incarnation && now_us - unsure.since_us >= at_least_us;
        let Some(place) = log.unsure.iter().position(shown) else { return false };
        let Unsure { beside, since_us, us, others, ran, .. } = log.unsure.swap_remove(place);
        log.untold.retain(|untold| untold.former != incarnation || untold.t_us != since_us);
        log.told += 1;
        // If another came and went within one moment, times are too coarse to say how long both believed.
        if us > 0 || ran {
            log.shown.push(Shown { former: incarnation, newer: beside, from_us: since_us, us });
        }
        if us > 0 {
            for several in [&mut self.all, &mut self.awake] {
                several.total_us += us;
                if several.longest.is_none_or(|longest| us > longest.us) {
                    several.longest = Some(Stretch { from_us: since_us, us });
                }
            }
            self.most = self.most.max(others + 1);
        }
        true
    }

    fn goes_on(&mut self, t_us: u64, incarnation: Incarnation, under_way_us: u64) {
        if self.is_shown(incarnation, under_way_us) {
            self.set(t_us, incarnation.node, |node| node.belief = Some(incarnation));
        } else {
            self.leads_untold(t_us, incarnation, under_way_us);
        }
    }

    /// A node with no reported election writes while another leads: either both lead, or the other has stopped.
    fn leads_untold(&mut self, t_us: u64, writer: Incarnation, under_way_us: u64) {
        let Some(log) = &mut self.log else { return };
        let is_its = |of: &Incarnation| of.node == writer.node;
        let known = self.nodes.get(writer.node.index()).is_some_and(|node| node.belief.is_some() || node.stopped);
        if known {
            return;
        }
        // It leads as long as it goes on writing.
        for beside in log.unsure.iter_mut().filter(|unsure| is_its(&unsure.beside)) {
            beside.us = beside.us.max(t_us - beside.since_us);
        }
        let led = log.since_us.filter(|since_us| t_us - since_us > under_way_us);
        if led.is_none() || log.unsure.iter().any(|unsure| is_its(&unsure.incarnation)) {
            return;
        }
        if self.nodes.iter().filter_map(|node| node.belief).any(|of| !is_its(&of)) {
            // How long it has led is unknown.
            self.elected_in_log(t_us, writer);
        }
    }

    /// The overlaps shown since the last call.
    pub(crate) fn take_shown(&mut self) -> Vec<Shown> {
        self.log.as_mut().map(|log| std::mem::take(&mut log.shown)).unwrap_or_default()
    }

    /// For a log: the number of elections before which it reports that the previous leader had stopped.
    pub(crate) fn told(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.told)
    }

    /// For a log: the elections before which it does not.
    pub(crate) fn untold(&self) -> &[Untold] {
        self.log.as_ref().map_or(&[], |log| &log.untold)
    }

    fn set(&mut self, t_us: u64, node: NodeId, change: impl FnOnce(&mut Node)) {
        if self.nodes.len() <= node.index() {
            self.nodes.resize(node.index() + 1, Node::default());
        }
        let node = &mut self.nodes[node.index()];
        let before = node.counts();
        change(node);
        let after = node.counts();
        self.all.change(t_us, before.0, after.0);
        self.awake.change(t_us, before.1, after.1);
        self.most = self.most.max(self.all.count);
    }

    pub(crate) fn of(&self, node: NodeId) -> Option<Incarnation> {
        self.nodes.get(node.index()).and_then(|n| n.belief)
    }

    /// Beliefs of nodes that run, in the order of node ids.
    pub(crate) fn awake(&self) -> impl Iterator<Item = Incarnation> + '_ {
        self.nodes.iter().filter(|n| !n.paused).filter_map(|n| n.belief)
    }

    /// How many nodes believe and run.
    pub(crate) fn awake_count(&self) -> u64 {
        self.awake.count
    }

    /// The most nodes that believed at the same time.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// How long more than one node believed, until `now_us`; microseconds.
    pub(crate) fn several_us(&self, now_us: u64) -> u64 {
        self.all.at(now_us).total_us
    }

    /// How long more than one node believed and ran, until `now_us`; microseconds.
    pub(crate) fn several_awake_us(&self, now_us: u64) -> u64 {
        self.awake.at(now_us).total_us
    }

    /// The longest uninterrupted time for which more than one node believed and ran; `None` if there was none.
    pub(crate) fn longest_awake(&self, now_us: u64) -> Option<Stretch> {
        self.awake.at(now_us).longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::elector::Deposed;

    fn incarnation(node: u16) -> Incarnation {
        Incarnation { token: u64::from(node) + 1, node: NodeId(node), generation: 1 }
    }

    fn fold(events: impl IntoIterator<Item = (u64, Kind)>) -> Beliefs {
        let mut beliefs = Beliefs::default();
        events.into_iter().for_each(|(t_us, kind)| beliefs.observe(&Event { t_us, group: 0, kind }));
        beliefs
    }

    #[test]
    fn a_paused_node_believes_but_does_not_run() {
        let state = |node, state| Kind::Node { node: NodeId(node), state };
        let deposed = Kind::Deposed { incarnation: incarnation(0), reason: Deposed::Expired };
        let story = |wakes_for: u64| {
            [
                (1, Kind::Elected(incarnation(0))),
                (10, state(0, NodeState::Paused)),
                (20, Kind::Elected(incarnation(1))),
                (50, state(0, NodeState::Resumed)),
                (50 + wakes_for, deposed.clone()),
            ]
        };
        let beliefs = fold(story(0));
        assert_eq!((beliefs.several_us(99), beliefs.several_awake_us(99)), (30, 0));
        assert_eq!(beliefs.longest_awake(99), Some(Stretch { from_us: 50, us: 0 }));
        let beliefs = fold(story(7));
        assert_eq!((beliefs.several_us(99), beliefs.several_awake_us(99)), (37, 7));
        // An interval still in progress counts until now.
        let beliefs = fold(story(7).into_iter().take(4));
        assert_eq!(beliefs.longest_awake(99), Some(Stretch { from_us: 50, us: 49 }));
        assert_eq!(beliefs.awake_count(), 2);
    }
}
