//! Whether a log without a header tests anything.

use super::super::{Ending, Finding, dual_belief::untold};
use crate::{
    beliefs::Beliefs,
    effects::Effects,
    said::{At, Sentence, sentence},
    words::{count, grouped},
    works::Works,
};

/// What a log has reported.
pub(super) struct Told<'a> {
    pub(super) effects: &'a Effects,
    pub(super) works: &'a Works,
    pub(super) beliefs: &'a Beliefs,
    /// Writes accepted or refused.
    pub(super) writes: u64,
    pub(super) accepted: u64,
    /// Accepted writes with neither token nor generation.
    pub(super) unnamed: u64,
    /// The log has more than writes and seals.
    pub(super) more: bool,
}

impl Told<'_> {
    /// Can two leaders be distinguished in it, and was there more than one?
    pub(super) fn finding(&self, ending: &Ending) -> Finding {
        let tried = self.effects.tried_most();
        let inconclusive = |detail: Sentence| Finding { holds: false, could_fail: true, detail };
        if let Some(turns) = self.effects.turns() {
            let [one, other] = [turns.node, turns.between].map(|node| ending.names.node(node));
            let on = ending.names.resource(turns.resource);
            let rest = format!(
                ", without a token or a generation: either two leaders, or {one} was re-elected; log a token, or pass \
                 --set generation=1 if no node was elected twice"
            );
            let begins = format!("{one}, {other} and {one} again wrote to {on} by turns, the last at ");
            return inconclusive(sentence![begins, At(turns.t_us), rest]);
        }
        if let Some(twice) = self.works.twice() {
            let (one, on) = (ending.names.node(twice.node), ending.names.resource(twice.resource));
            let rest = format!(
                ", without a token or a generation: either two leaders on {one}, or one that works in parallel; log a \
                 token, give each process its own node or each job its own resource, or pass --set generation=1 if no \
                 node was elected twice"
            );
            let begins = format!("{one} did two overlapping pieces of work on {on} at ");
            return inconclusive(sentence![begins, At(twice.from_us), rest]);
        }
        const NONE: &str = "no write was accepted; a store that refuses everything shows nothing";
        if tried > 1 && self.accepted == 0 && !self.more {
            return inconclusive(NONE.into());
        }
        if tried > 1 {
            let unnamed = match self.unnamed {
                0 => String::new(),
                unnamed => {
                    format!("; {} of {} have neither token nor generation", grouped(unnamed), grouped(self.writes))
                }
            };
            let detail = format!("writes of {} reached the store{unnamed}", count(tried, "incarnation"));
            return Finding { holds: true, could_fail: true, detail: detail.into() };
        }
        if let Some(untold) = untold(self.beliefs, ending) {
            let only = "; only `deposed` lines, or the writes of both, would show whether two led at once";
            return inconclusive(untold.and(only));
        }
        let told = self.beliefs.told();
        if told > 0 {
            let detail =
                format!("{} after the former leader had stopped, or was shown to go on", count(told, "election"));
            return Finding { holds: true, could_fail: true, detail: detail.into() };
        }
        let detail = match tried {
            0 if self.writes == 0 => "nobody wrote; the log shows nothing about leadership".to_owned(),
            0 if self.accepted == 0 => NONE.to_owned(),
            0 => "no accepted write says which leadership it belongs to".to_owned(),
            _ => "only one leader wrote; the log shows nothing about a change of leadership".to_owned(),
        };
        Finding { holds: self.more, could_fail: !self.more, detail: detail.into() }
    }
}
