//! Every leadership, from its election to the end of its belief, and the store's verdicts on it.

use crate::course::{
    ends::Ended,
    model::{Belief, Model, Named},
    moment::What,
};
use protocols::types::Incarnation;

/// One incarnation. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    pub incarnation: Incarnation,
    /// When it was elected; `None` in a log of writes only.
    pub elected_us: Option<u64>,
    /// When its first write was accepted, on any resource, or its first work began.
    pub first_us: Option<u64>,
    /// When its last write was accepted, or its last work ended.
    pub last_us: Option<u64>,
    /// Accepted writes.
    pub accepted: u64,
    /// Accepted writes that were stale, as `no_stale_write` defines it.
    pub stale: u64,
    /// Writes refused for their token.
    pub refused: u64,
    /// When its belief ended, and why; `None` if it lasted to the end of the run, or is unknown.
    pub ended: Option<(u64, Ended)>,
    /// Does the log fail to report its end, though another was elected after it?
    pub left_open: bool,
}

/// All leaderships of a run, in order of first appearance.
pub(super) fn leaders(model: &Model) -> Vec<Leader> {
    let none = |named: &Named| Leader {
        incarnation: named.incarnation,
        elected_us: None,
        first_us: None,
        last_us: None,
        accepted: 0,
        stale: 0,
        refused: 0,
        ended: None,
        left_open: false,
    };
    let mut all: Vec<Leader> = model.incarnations.iter().map(none).collect();
    for belief in &model.beliefs {
        let leader = &mut all[belief.i];
        leader.elected_us = leader.elected_us.or(Some(belief.from));
        leader.ended = leader.ended.or_else(|| ended(belief, model));
    }
    // A log may report only the end of a leadership.
    for moment in &model.moments {
        if let What::Deposed { i, reason } = moment.what {
            all[i].ended.get_or_insert((moment.t, Ended::Deposed(reason)));
        }
    }
    let took = model.effects.iter().map(|e| (e.i, e.from, e.to, e.n, e.stale));
    for (i, from, to, n, stale) in took.chain(model.works.iter().map(|(i, (from, to))| (*i, *from, *to, 0, 0))) {
        let leader = &mut all[i];
        leader.first_us = Some(leader.first_us.map_or(from, |first| first.min(from)));
        leader.last_us = leader.last_us.max(Some(to));
        (leader.accepted, leader.stale) = (leader.accepted + n, leader.stale + stale);
    }
    model.refused.iter().for_each(|refused| all[refused.i].refused += refused.n);
    all.retain(|l| l.first_us.is_some() || l.elected_us.is_some() || l.ended.is_some() || l.refused > 0);
    if model.foreign {
        leave_open(&mut all);
    }
    all
}

/// Marks those that a log leaves open, although another node was elected after them.
fn leave_open(all: &mut [Leader]) {
    let mut elected: Vec<_> = all.iter().map(|l| (l.elected_us, l.incarnation.node)).collect();
    elected.sort_unstable();
    for leader in all.iter_mut().filter(|leader| leader.ended.is_none()) {
        let later = elected.partition_point(|(at, _)| *at <= leader.elected_us);
        leader.left_open = elected[later..].iter().any(|(_, node)| *node != leader.incarnation.node);
    }
}

/// When a belief ended, and why, if the history reports it.
fn ended(belief: &Belief, model: &Model) -> Option<(u64, Ended)> {
    match belief.why? {
        Ended::Unsaid => None,
        Ended::Anew if model.foreign => None,
        why => Some((belief.to, why)),
    }
}
