//! What a log's tokens leave open: lines without one among others, and rows of them that rise side by side.

use protocols::{
    history::{Event, Kind},
    message::WriteVerdict,
};
use std::collections::{BTreeMap, BTreeSet};

/// A resource's accepted tokens, as far as they tell whether they are of one leadership.
#[derive(Default)]
struct Beside {
    highest: u64,
    /// Tokens that came first when a higher one had been accepted, each above those before it, and who had them.
    below: Vec<u64>,
    nodes: BTreeSet<u16>,
    /// Who went on with others meanwhile, and how often.
    others: BTreeSet<u16>,
    turns: u64,
    seen: BTreeSet<u64>,
}

impl Beside {
    fn see(&mut self, node: u16, token: u64) {
        let fresh = self.seen.len() < 10_000 && self.seen.insert(token);
        if token >= self.highest {
            self.highest = token;
            if !self.below.is_empty() {
                self.turns += 1;
                self.others.insert(node);
            }
        } else if fresh && self.below.last().is_none_or(|last| token > *last) {
            self.below.push(token);
            self.nodes.insert(node);
        }
    }

    /// Do two rows of tokens rise side by side, each with holders of its own?
    fn are_two(&self) -> bool {
        self.below.len() > 1 && self.turns > 1 && self.nodes.is_disjoint(&self.others)
    }
}

/// Which accepted writes have a token: those without one among others are not judged as these are.
#[derive(Default)]
pub struct Tokens {
    without: u64,
    zero: BTreeSet<u16>,
    above: u64,
    beside: BTreeMap<(u16, u16), Beside>,
}

impl Tokens {
    /// Takes the next event.
    pub fn see(&mut self, event: &Event) {
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        if let (WriteVerdict::Ok, Some(token)) = (verdict, write.incarnation(*node).fencing_token()) {
            self.beside.entry((event.group, write.resource.0)).or_default().see(node.0, token);
        }
        match write.incarnation(*node).fencing_token() {
            None => self.without += 1,
            Some(0) => {
                self.zero.insert(node.0);
            }
            Some(_) => self.above += 1,
        }
    }

    /// What a reader of the verdict should know.
    pub fn sentences(&self) -> Vec<String> {
        let (some, mut all) = (self.above > 0 || !self.zero.is_empty(), Vec::new());
        if some && self.without > 0 {
            let lines =
                if self.without == 1 { "1 write has".to_owned() } else { format!("{} writes have", self.without) };
            all.push(format!(
                "{lines} no token, although others have one: whether a write without one was stale cannot be told."
            ));
        }
        if self.beside.values().any(Beside::are_two) {
            all.push(
                "On one resource, new leaders with lower tokens and others with higher ones go on side by side. If they are of several \
                 leaderships, such as shards or tenants, tokens must not be compared across these: --map resource=FIELD says \
                 which line is of which."
                    .to_owned(),
            );
        }
        if self.above == 0 && self.zero.len() > 1 {
            all.push(
                "Every token is 0, and was read as one; if 0 stands for none, --word token:0= says so.".to_owned(),
            );
        }
        all
    }
}
