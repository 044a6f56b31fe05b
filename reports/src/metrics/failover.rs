//! Changes of leadership: how long they took, and whether they were necessary.

use super::figures::{Metrics, ms};
use protocols::{
    elector::Deposed,
    history::{Event, FaultEvent, FaultKind, Header, Kind, NodeState, Phase},
    types::{Incarnation, NodeId},
};
use std::collections::BTreeMap;

pub(super) struct Failovers {
    /// `None` without a header: then it is unknown whether a change was necessary.
    ttl_us: Option<u64>,
    /// A leader that still writes this long after a fault has survived it: lease, takeover and some slack.
    survive_us: u64,
    candidates: u16,
    nodes: Vec<Node>,
    /// Faults of the service or the store, or of the network between them.
    backend: Spell,
    faults: BTreeMap<u32, FaultEvent>,
    ranks: BTreeMap<Incarnation, u64>,
    incumbent: Option<Reign>,
    /// When the service's last grant ended, if grants are known.
    grant_ended_us: Option<u64>,
    strike: Option<Strike>,
    failover_ms: Vec<f64>,
    election_time_ms: Vec<f64>,
    election_latency_ms: Vec<f64>,
    false_failovers: u64,
    avoidable_failovers: u64,
}

/// The troubles of a candidate.
#[derive(Clone, Copy, Default)]
struct Node {
    campaign_us: Option<u64>,
    paused: Spell,
    dead: Spell,
    resigning: Spell,
    cut: Spell,
}

/// The last period in which something was true.
#[derive(Clone, Copy, Default)]
struct Spell {
    /// From and to, microseconds; `u64::MAX` while it lasts.
    last: Option<(u64, u64)>,
    /// The number of current causes.
    causes: u32,
}

impl Spell {
    fn begin(&mut self, t_us: u64) {
        if self.causes == 0 {
            self.last = Some((t_us, u64::MAX));
        }
        self.causes += 1;
    }

    fn end(&mut self, t_us: u64) {
        self.causes = self.causes.saturating_sub(1);
        if let (0, Some((_, to))) = (self.causes, &mut self.last) {
            *to = t_us.min(*to);
        }
    }

    fn touches(&self, from_us: u64, to_us: u64) -> bool {
        self.last.is_some_and(|(from, to)| from <= to_us && to >= from_us)
    }
}

/// The latest elected incarnation.
#[derive(Clone, Copy)]
struct Reign {
    incarnation: Incarnation,
    ended_us: Option<u64>,
    resigned: bool,
}

/// A fault that struck an incumbent.
#[derive(Clone, Copy)]
struct Strike {
    t_us: u64,
    incarnation: Incarnation,
    /// From when on an accepted write shows that the incumbent survived: the end of the fault or, before that, the time
    /// by which a successor would have been there. Not the end of its lease: a service may notice later, and until then
    /// the incumbent may rightly write.
    survived_from_us: u64,
    last_accepted_us: u64,
    /// A newer incarnation has had a write accepted.
    over: bool,
}

impl Failovers {
    pub(super) fn new(header: Option<&Header>) -> Self {
        Failovers {
            ttl_us: header.map(|h| h.lease_ttl_ms.saturating_mul(1000)),
            survive_us: header.map_or(0, |h| h.liveness_bound_ms.saturating_mul(1000)),
            candidates: header.map_or(u16::MAX, |h| h.candidates),
            nodes: Vec::new(),
            backend: Spell::default(),
            faults: BTreeMap::new(),
            ranks: BTreeMap::new(),
            incumbent: None,
            grant_ended_us: None,
            strike: None,
            failover_ms: Vec::new(),
            election_time_ms: Vec::new(),
            election_latency_ms: Vec::new(),
            false_failovers: 0,
            avoidable_failovers: 0,
        }
    }

    fn node(&mut self, node: NodeId) -> &mut Node {
        if self.nodes.len() <= node.index() {
            self.nodes.resize(node.index() + 1, Node::default());
        }
        &mut self.nodes[node.index()]
    }

    /// Takes an accepted write. Costs a comparison while no failover is in progress.
    pub(super) fn accepted(&mut self, t_us: u64, incarnation: Incarnation) {
        let Some(strike) = self.strike.as_mut().filter(|s| !s.over) else { return };
        if incarnation == strike.incarnation {
            strike.last_accepted_us = t_us;
            return;
        }
        let newer = match (incarnation.fencing_token(), strike.incarnation.fencing_token()) {
            (None, None) => self.ranks.get(&incarnation) > self.ranks.get(&strike.incarnation),
            (token, struck) => token > struck,
        };
        if newer {
            strike.over = true;
            self.failover_ms.push(ms((t_us - strike.t_us) as i64));
        }
    }

    pub(super) fn observe(&mut self, event: &Event) {
        let t_us = event.t_us;
        match &event.kind {
            Kind::Campaign { node } => {
                self.node(*node).campaign_us.get_or_insert(t_us);
            }
            Kind::Elected(incarnation) => self.elected(t_us, *incarnation),
            Kind::Deposed { incarnation, reason } => {
                self.node(incarnation.node).campaign_us = None;
                if let Some(reign) = self.incumbent.as_mut().filter(|r| r.incarnation == *incarnation) {
                    reign.ended_us = Some(t_us);
                    reign.resigned = *reason == Deposed::Resigned;
                }
            }
            Kind::GrantEnd { .. } => self.grant_ended_us = Some(t_us),
            Kind::Fault(fault) => self.fault(t_us, fault),
            Kind::Node { node, state } => self.state(t_us, *node, *state),
            _ => {}
        }
    }

    fn elected(&mut self, t_us: u64, incarnation: Incarnation) {
        let rank = self.ranks.len() as u64;
        self.ranks.insert(incarnation, rank);
        let grant_ended_us = self.grant_ended_us.take();
        let winner = self.node(incarnation.node);
        winner.resigning = Spell::default();
        let campaign_us = winner.campaign_us.take();
        if self.strike.is_some_and(|s| s.survived()) {
            self.strike = None;
        }
        let start_us = match self.incumbent {
            None => campaign_us,
            Some(reign) => {
                self.classify(t_us, reign);
                let struck_us = self.strike.filter(|s| s.incarnation == reign.incarnation).map(|s| s.t_us);
                // If nothing shows when the vacancy began, the election's duration is unknown.
                let vacant_us = [struck_us, reign.ended_us].into_iter().flatten().min();
                self.election_time_ms.extend(vacant_us.map(|vacant_us| ms((t_us - vacant_us) as i64)));
                let vacant_us = grant_ended_us.or(vacant_us);
                vacant_us.map(|vacant_us| campaign_us.map_or(vacant_us, |c| c.max(vacant_us)))
            }
        };
        self.election_latency_ms.extend(start_us.map(|start_us| ms((t_us - start_us) as i64)));
        self.incumbent = Some(Reign { incarnation, ended_us: None, resigned: false });
    }

    /// Was the end of `reign` necessary?
    fn classify(&mut self, t_us: u64, reign: Reign) {
        let Some(ttl_us) = self.ttl_us else { return };
        let vacant_us = reign.ended_us.unwrap_or(t_us);
        let window = (vacant_us.saturating_sub(ttl_us), vacant_us);
        let backend = self.backend;
        let node = *self.node(reign.incarnation.node);
        let touched = |spell: Spell| spell.touches(window.0, window.1);
        if reign.resigned || [node.dead, node.resigning, node.cut, backend].into_iter().any(touched) {
            return;
        }
        match touched(node.paused) {
            true => self.avoidable_failovers += 1,
            false => self.false_failovers += 1,
        }
    }

    /// Records a fault of `node`, if it is the current leader.
    fn strike(&mut self, t_us: u64, node: NodeId) {
        // A fault that ends a belief may be reported before or after that end.
        let struck = |r: &Reign| r.incarnation.node == node && r.ended_us.is_none_or(|ended| ended == t_us);
        let Some(reign) = self.incumbent.filter(struck) else { return };
        let under_way = |s: &Strike| s.incarnation == reign.incarnation && !s.survived();
        if self.strike.as_ref().is_some_and(under_way) {
            return;
        }
        let survived_from_us = t_us.saturating_add(self.survive_us);
        let incarnation = reign.incarnation;
        self.strike = Some(Strike { t_us, incarnation, survived_from_us, last_accepted_us: t_us, over: false });
    }

    fn fault(&mut self, t_us: u64, fault: &FaultEvent) {
        match fault.phase {
            Phase::Begin | Phase::Once if self.is_bearable(fault) => {}
            Phase::Begin => {
                self.touch(fault, |spell| spell.begin(t_us));
                self.faults.insert(fault.index, fault.clone());
                fault.on.iter().for_each(|node| self.strike(t_us, *node));
            }
            Phase::Once => {
                if fault.kind.ends_leadership() {
                    fault.on.iter().for_each(|node| self.node(*node).resigning.begin(t_us));
                }
                fault.on.iter().for_each(|node| self.strike(t_us, *node));
            }
            Phase::End => {
                let Some(begun) = self.faults.remove(&fault.index) else { return };
                self.touch(&begun, |spell| spell.end(t_us));
                let healed = |s: &&mut Strike| begun.on.contains(&s.incarnation.node);
                if let Some(strike) = self.strike.as_mut().filter(healed) {
                    strike.survived_from_us = t_us;
                }
            }
        }
    }

    /// A failure detector must tolerate packet loss among candidates: it explains no change of leadership and strikes
    /// nobody.
    fn is_bearable(&self, fault: &FaultEvent) -> bool {
        let elects = |node: &NodeId| node.0 < self.candidates;
        fault.kind == FaultKind::Loss && !fault.to.is_empty() && fault.on.iter().chain(&fault.to).all(elects)
    }

    /// Applies `change` to what a fault of the network, the service or the store affects.
    fn touch(&mut self, fault: &FaultEvent, change: impl Fn(&mut Spell)) {
        if fault.kind.is_of_clocks() {
            return;
        }
        let candidates: Vec<_> = fault.on.iter().filter(|n| n.0 < self.candidates).copied().collect();
        if candidates.is_empty() {
            change(&mut self.backend);
        } else if fault.kind != FaultKind::Pause {
            // A paused node's period comes from its own state.
            candidates.into_iter().for_each(|node| change(&mut self.node(node).cut));
        }
    }

    fn state(&mut self, t_us: u64, node: NodeId, state: NodeState) {
        if node.0 >= self.candidates {
            // A service or store that is down explains depositions meanwhile, just like one that cannot be reached.
            return match state {
                NodeState::Down | NodeState::Off => self.backend.begin(t_us),
                NodeState::Up => self.backend.end(t_us),
                _ => {}
            };
        }
        let known = self.node(node);
        match state {
            NodeState::Paused => {
                known.paused.begin(t_us);
                self.strike(t_us, node);
            }
            NodeState::Resumed => known.paused.end(t_us),
            NodeState::Joined | NodeState::Left => {}
            NodeState::Down | NodeState::Off => {
                known.paused.end(t_us);
                known.dead.begin(t_us);
                known.campaign_us = None;
                self.strike(t_us, node);
                if let Some(reign) = self.incumbent.as_mut().filter(|r| r.incarnation.node == node) {
                    reign.ended_us.get_or_insert(t_us);
                }
            }
            NodeState::Up => {
                *known = Node { cut: known.cut, dead: known.dead, ..Node::default() };
                known.dead.end(t_us);
                if let Some(reign) = self.incumbent.as_mut().filter(|r| r.incarnation.node == node) {
                    reign.ended_us.get_or_insert(t_us);
                }
            }
        }
    }

    pub(super) fn finish(self, metrics: &mut Metrics) {
        metrics.failover_censored = u64::from(self.strike.is_some_and(|s| !s.over && !s.survived()));
        metrics.failover_ms = self.failover_ms;
        metrics.election_time_ms = self.election_time_ms;
        metrics.election_latency_ms = self.election_latency_ms;
        metrics.false_failovers = self.false_failovers;
        metrics.avoidable_failovers = self.avoidable_failovers;
    }
}

impl Strike {
    fn survived(&self) -> bool {
        !self.over && self.last_accepted_us > self.survived_from_us
    }
}
