//! What a log's tokens leave open: writes without a token among others, and two rising sequences of tokens side by
//! side.

use super::{options::OWN, values::quoted};
use protocols::{
    history::{Event, Kind},
    message::WriteVerdict,
};
use std::collections::{BTreeMap, BTreeSet};

/// A resource's accepted tokens, as far as they show whether they belong to one leadership.
#[derive(Default)]
struct Beside {
    highest: u64,
    /// Tokens first accepted after a higher one, each above those before it, and their nodes.
    below: Vec<u64>,
    nodes: BTreeSet<u16>,
    /// The nodes that wrote with the highest tokens meanwhile, and how often.
    others: BTreeSet<u16>,
    turns: u64,
    seen: BTreeSet<u64>,
    accepted: u64,
    /// Some token was accepted twice.
    again: bool,
    /// A node's write followed one of its own directly, but under another token.
    renamed: bool,
    last: Option<(u16, u64)>,
}

impl Beside {
    fn see(&mut self, node: u16, token: u64) {
        self.again |= self.seen.contains(&token);
        let fresh = self.seen.len() < 10_000 && self.seen.insert(token);
        self.accepted += 1;
        self.renamed |= self.last.is_some_and(|(of, before)| of == node && before != token);
        self.last = Some((node, token));
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

    /// Does each write have its own token? Then tokens do not tell leaderships apart.
    fn are_of_writes(&self) -> bool {
        self.accepted > 2 && self.renamed && !self.again
    }

    /// Do two sequences of tokens rise side by side, each with its own nodes?
    fn are_two(&self) -> bool {
        self.below.len() > 1 && self.turns > 1 && self.nodes.is_disjoint(&self.others)
    }
}

/// Statistics of tokens in writes. Writes without a token cannot be judged like those with one.
#[derive(Default)]
pub struct Tokens {
    without: u64,
    zero: BTreeSet<u16>,
    above: u64,
    beside: BTreeMap<(u16, u16), Beside>,
    /// Accepted writes with a token, accepted writes without one, and each token's writes to each resource.
    accepted: u64,
    accepted_without: u64,
    written: BTreeMap<(u16, u16, u64), Written>,
    /// Some token was accepted twice on one resource.
    again: bool,
    /// Tokens with which a node was elected or sealed a resource, by group.
    elected: BTreeSet<(u16, u64)>,
    /// The highest accepted token of each group with its resource, and the first lower token accepted later on another
    /// resource of that group, with the higher one.
    highest: BTreeMap<(u16, u64), (u64, u16)>,
    elsewhere: Option<(u64, u64)>,
}

/// The numbers of a token's writes to one resource.
struct Written {
    first: u64,
    last: u64,
    rise: bool,
}

/// How many tokens are distinguished.
const TOKENS_MOST: usize = 100_000;

impl Tokens {
    /// `of` is the group of the resource that is written, where the log's groups are parts of their resources' names.
    pub fn see(&mut self, event: &Event, of: u64) {
        // A store seals once per leadership, not per write.
        if let Kind::Elected(incarnation) | Kind::Seal { incarnation, .. } = &event.kind
            && self.elected.len() < TOKENS_MOST
        {
            self.elected.extend(incarnation.fencing_token().map(|token| (event.group, token)));
        }
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        if let (WriteVerdict::Ok, Some(token)) = (verdict, write.incarnation(*node).fencing_token()) {
            self.beside.entry((event.group, write.resource.0)).or_default().see(node.0, token);
            self.accepted += 1;
            let highest = self.highest.entry((event.group, of)).or_insert((token, write.resource.0));
            if token >= highest.0 {
                *highest = (token, write.resource.0);
            } else if highest.1 != write.resource.0 {
                self.elsewhere.get_or_insert((token, highest.0));
            }
            let of = (event.group, write.resource.0, token);
            if let Some(written) = self.written.get_mut(&of) {
                self.again = true;
                written.rise &= write.seq > written.last;
                written.last = write.seq;
            } else if self.written.len() < TOKENS_MOST {
                self.written.insert(of, Written { first: write.seq, last: write.seq, rise: true });
            }
        } else if *verdict == WriteVerdict::Ok {
            self.accepted_without += 1;
        }
        match write.incarnation(*node).fencing_token() {
            None => self.without += 1,
            Some(0) => {
                self.zero.insert(node.0);
            }
            Some(_) => self.above += 1,
        }
    }

    /// Why a log that holds shows nothing. `own` is whether each resource is said to have leaders of its own, and `field` names
    /// the resource in the log.
    pub fn show_nothing(&self, own: bool, field: &str) -> Option<String> {
        if let Some((lower, higher)) = self.elsewhere.filter(|_| !own) {
            let instead = match field {
                "resource" => String::new(),
                field => format!(" in place of --map {}", quoted(&format!("resource={field}"))),
            };
            let one = format!("--ignore {} --set resource=all --set group=0{instead}", quoted(field));
            return Some(format!(
                "token {lower} was accepted on one resource after {higher} on another: two led at once, unless each resource has \
                 leaders of its own; add --set {} if it has, or else judge all as one, by {one}",
                quoted(OWN)
            ));
        }
        let elected = || self.written.keys().all(|(group, _, token)| self.elected.contains(&(*group, *token)));
        let of_writes = !self.again && self.accepted > 2 || self.beside.values().any(Beside::are_of_writes);
        match self.accepted_without {
            _ if of_writes && !elected() => Some(
                "no token was accepted twice on one resource, so tokens do not identify leaderships; if no node was \
                 elected twice, pass --ignore for the token and --set generation=1"
                    .to_owned(),
            ),
            0 => None,
            _ if self.accepted == 0 => None,
            without => Some(format!(
                "{} accepted without a token, although others have one: whether such a write was stale is unknown",
                if without == 1 { "1 write was".to_owned() } else { format!("{without} writes were") }
            )),
        }
    }

    /// Why numbers that do not rise may be no violation: they rise under each token.
    pub fn numbers_begin_anew(&self) -> Option<String> {
        let mut all = self.written.values();
        let first = all.next().filter(|written| written.first <= 1 && written.rise)?.first;
        (self.written.len() > 1 && all.all(|other| other.first == first && other.rise))
            .then(|| format!("`seq` restarts at {first} under each token; if that is intended, pass --ignore seq"))
    }

    /// What a reader of the verdict should know, as sentences.
    pub fn sentences(&self) -> Vec<String> {
        let (some, mut all) = (self.above > 0 || !self.zero.is_empty(), Vec::new());
        if some && self.without > 0 {
            let lines =
                if self.without == 1 { "1 write has".to_owned() } else { format!("{} writes have", self.without) };
            all.push(format!(
                "{lines} no token, although others have one: whether a write without one was stale is unknown."
            ));
        }
        if self.beside.values().any(Beside::are_two) {
            all.push(
                "On one resource, two rising sequences of tokens run side by side. If they belong to separate \
                 leaderships, such as shards or tenants, pass --map resource=FIELD so that their tokens are not \
                 compared."
                    .to_owned(),
            );
        }
        if self.above == 0 && self.zero.len() > 1 {
            all.push("Every token is 0, which was read as a token; if 0 means none, pass --word token:0=.".to_owned());
        }
        all
    }
}
