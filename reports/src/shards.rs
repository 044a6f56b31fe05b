//! Placed shards: how many each member leads, how many move when a member leaves or joins, and how long each is dark.

use protocols::{
    history::{Event, Header, Kind, NodeState},
    message::WriteVerdict,
    sharding::{Placement, Places},
    types::{Incarnation, NodeId},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The figures of placed shards. The leader of a shard is the writer of its last accepted write.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShardFigures {
    /// The placement rule.
    pub placement: Placement,
    /// The number of shards.
    pub shards: u16,
    /// How many shards each member leads before the first change.
    pub leaders_before: BTreeMap<String, u64>,
    /// The effect of each member that left or joined, up to the next such change.
    pub changes: Vec<Change>,
}

/// A member left or joined.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Change {
    pub t_ms: f64,
    /// The member.
    pub node: String,
    /// Did it join? Otherwise it left.
    pub joins: bool,
    /// How many shards have another leader in the end than before.
    pub moved: u64,
    /// How many a consistent hash ring would move: the least that leads to even shares.
    pub moved_by_ring: u64,
    /// How many a modulo would move.
    pub moved_by_modulo: u64,
    /// Leaderships that took effect: more than `moved` if a shard had several leaders in turn.
    pub leaderships: u64,
    /// How long each shard with a new leader was dark, milliseconds, sorted: the sum of the times from the last
    /// accepted write of each leadership to the first of the next.
    pub dark_ms: Vec<f64>,
    /// How many shards each member leads in the end.
    pub leaders: BTreeMap<String, u64>,
}

impl Change {
    /// The median and the maximum of the dark times, milliseconds.
    pub fn dark_ms_p50_max(&self) -> Option<(f64, f64)> {
        Some((*self.dark_ms.get(self.dark_ms.len() / 2)?, *self.dark_ms.last()?))
    }
}

/// Folds a history of several groups.
pub(crate) struct Shards {
    placement: Placement,
    names: Vec<String>,
    lives: BTreeSet<NodeId>,
    /// Members that have been started.
    met: BTreeSet<NodeId>,
    /// The number of resources per shard; the first takes the clients' numbers.
    resources: u16,
    led: Vec<Option<Led>>,
    before: Vec<Option<NodeId>>,
    under_way: Option<UnderWay>,
    figures: ShardFigures,
}

/// The writer of a shard's last accepted write, and its time.
#[derive(Clone, Copy)]
struct Led {
    by: Incarnation,
    last_us: u64,
}

/// A change whose effect is still being observed.
struct UnderWay {
    t_us: u64,
    node: NodeId,
    lived: BTreeSet<NodeId>,
    led: Vec<Option<NodeId>>,
    leaderships: u64,
    dark_us: BTreeMap<usize, u64>,
}

impl Shards {
    /// `None` if no rule places them.
    pub(crate) fn new(header: &Header) -> Option<Shards> {
        let (placement, shards) = (header.placement?, header.groups);
        let names = header.nodes.iter().take(header.candidates.into()).cloned().collect();
        let resources = (header.resources.len() / usize::from(shards.max(1))).max(1) as u16;
        let (leaders_before, changes) = Default::default();
        let (lives, met) = Default::default();
        let figures = ShardFigures { placement, shards, leaders_before, changes };
        let led = vec![None; shards.into()];
        Some(Shards { placement, names, lives, met, resources, led, before: Vec::new(), under_way: None, figures })
    }

    #[inline]
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } if write.resource.0 % self.resources == 0 => {
                self.accepted(event.t_us, event.group.into(), write.incarnation(*node));
            }
            Kind::Node { node, state } if node.index() < self.names.len() => self.changed(event.t_us, *node, *state),
            _ => {}
        }
    }

    fn accepted(&mut self, t_us: u64, shard: usize, by: Incarnation) {
        let Some(led) = self.led.get_mut(shard) else { return };
        let before = led.replace(Led { by, last_us: t_us });
        let Some(before) = before.filter(|before| before.by != by) else { return };
        if let Some(change) = &mut self.under_way {
            change.leaderships += 1;
            *change.dark_us.entry(shard).or_default() += t_us - before.last_us;
        }
    }

    fn changed(&mut self, t_us: u64, node: NodeId, state: NodeState) {
        let lived = self.lives.clone();
        let changed = match state {
            NodeState::Up => self.lives.insert(node),
            NodeState::Down | NodeState::Off => self.lives.remove(&node),
            _ => false,
        };
        // A member that starts for the first time belongs to the initial members.
        if !changed || self.met.insert(node) {
            return;
        }
        self.settle();
        let (led, dark_us) = (self.leaders(), BTreeMap::new());
        if self.figures.changes.is_empty() {
            self.before.clone_from(&led);
        }
        self.under_way = Some(UnderWay { t_us, node, lived, led, leaderships: 0, dark_us });
    }

    fn leaders(&self) -> Vec<Option<NodeId>> {
        self.led.iter().map(|led| led.map(|led| led.by.node)).collect()
    }

    fn name(&self, node: NodeId) -> String {
        self.names.get(node.index()).cloned().unwrap_or_default()
    }

    fn by_name(&self, leaders: &[Option<NodeId>]) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = self.names.iter().map(|name| (name.clone(), 0)).collect();
        leaders.iter().flatten().for_each(|leader| *counts.entry(self.name(*leader)).or_default() += 1);
        counts
    }

    /// Records the effect of the current change.
    fn settle(&mut self) {
        let Some(UnderWay { t_us, node, lived, led, leaderships, dark_us }) = self.under_way.take() else { return };
        let now = self.leaders();
        let moved_by = |placement| {
            let lives = |set: &BTreeSet<NodeId>, member| set.contains(&member);
            // The members after this change, even if the next one has already happened.
            let after: BTreeSet<NodeId> = match lived.contains(&node) {
                true => lived.iter().copied().filter(|member| *member != node).collect(),
                false => lived.iter().copied().chain([node]).collect(),
            };
            let places = Places::new(placement, &self.names);
            places.moved(self.figures.shards, |member| lives(&lived, member), |member| lives(&after, member))
        };
        let mut dark_ms: Vec<f64> = dark_us.values().map(|us| *us as f64 / 1e3).collect();
        dark_ms.sort_by(f64::total_cmp);
        let change = Change {
            t_ms: t_us as f64 / 1e3,
            node: self.name(node),
            joins: !lived.contains(&node),
            moved: led.iter().zip(&now).filter(|(before, after)| before != after).count() as u64,
            moved_by_ring: moved_by(Placement::Ring),
            moved_by_modulo: moved_by(Placement::Modulo),
            leaderships,
            dark_ms,
            leaders: self.by_name(&now),
        };
        self.figures.changes.push(change);
    }

    pub(crate) fn finish(mut self) -> ShardFigures {
        self.settle();
        let before = if self.figures.changes.is_empty() { self.leaders() } else { std::mem::take(&mut self.before) };
        self.figures.leaders_before = self.by_name(&before);
        ShardFigures { placement: self.placement, ..self.figures }
    }
}
