//! Every leadership, from its election to the end of its belief, and the store's verdicts on it.

use crate::course::{
    ends::Ended,
    model::{Belief, Model},
    moment::{Moment, What},
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
    pub ended: Option<(u64, &'static str)>,
    /// Does the log fail to report its end, though another was elected after it?
    pub left_open: bool,
}

/// All leaderships of a run, in order of first appearance.
pub(super) fn leaders(model: &Model) -> Vec<Leader> {
    let all = (0..model.incarnations.len()).map(|i| leader(i, model));
    let did = |l: &Leader| l.first_us.is_some() || l.elected_us.is_some() || l.ended.is_some() || l.refused > 0;
    let mut all: Vec<Leader> = all.filter(did).collect();
    let elected: Vec<_> = all.iter().map(|l| (l.incarnation.node, l.elected_us)).collect();
    for leader in all.iter_mut().filter(|l| model.foreign && l.ended.is_none()) {
        let later = |(node, at): &(_, _)| *at > leader.elected_us && *node != leader.incarnation.node;
        leader.left_open = elected.iter().any(later);
    }
    all
}

fn leader(i: usize, model: &Model) -> Leader {
    let mut effects = model.effects.iter().filter(|e| e.i == i).peekable();
    let mut leader = Leader {
        incarnation: model.incarnations[i].incarnation,
        elected_us: model.beliefs.iter().find(|b| b.i == i).map(|b| b.from),
        first_us: None,
        last_us: None,
        accepted: 0,
        stale: 0,
        refused: model.refused.iter().filter(|r| r.i == i).map(|r| r.n).sum(),
        ended: model.beliefs.iter().filter(|b| b.i == i).find_map(|b| ended(b, model)).or_else(|| deposed(i, model)),
        left_open: false,
    };
    let worked = model.works.get(&i).copied();
    let times = effects.clone().map(|e| (e.from, e.to)).chain(worked);
    (leader.first_us, leader.last_us) = (times.clone().map(|(from, _)| from).min(), times.map(|(_, to)| to).max());
    for effect in effects.by_ref() {
        (leader.accepted, leader.stale) = (leader.accepted + effect.n, leader.stale + effect.stale);
    }
    leader
}

/// When a belief ended, and why, if the history reports it.
fn ended(belief: &Belief, model: &Model) -> Option<(u64, &'static str)> {
    match belief.why? {
        Ended::Unsaid => None,
        Ended::Anew if model.foreign => None,
        why => Some((belief.to, why.words())),
    }
}

/// When and why a leadership was deposed, of which a log does not report the election.
fn deposed(i: usize, model: &Model) -> Option<(u64, &'static str)> {
    let of = |moment: &Moment| match moment.what {
        What::Deposed { i: of, reason } if of == i => Some((moment.t, reason.name())),
        _ => None,
    };
    model.moments.iter().find_map(of)
}
