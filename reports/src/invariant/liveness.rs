//! While a way is open, some leader keeps acting, whatever else is broken.
//!
//! **Formula.** A *way* is open while all of the following hold:
//! - a candidate runs, and reaches the store and, where there are clients, one of them, in both directions;
//! - it reaches the coordination service, if there is one: as many of its members as are needed. If the members elect one
//!   of them (`clusters` in the header), a majority of them run and reach each other pairwise;
//! - if a majority of the candidates has to elect (the header says so), it belongs to a majority of them that reach each
//!   other pairwise. Reachability need not be transitive;
//! - if candidates elect along a ring, each running one reaches the next running one.
//!
//! Nothing that another process does or fails to do closes a way. A leader may hold its lease without being able to
//! act, because it is cut off from the store or its own link is too narrow for its data. A candidate may be *half
//! heard* by the service or by voters: they hear it, but it hears them late or not at all. Followers of such a leader
//! do not stand against it, and such a client of a service may hold a lock that it does not know of. The invariant only
//! judges whether somebody acts. A protocol that does not notice such a leader says so in its promise
//! ([`protocols::election::Notices`]), and a sweep holds the run to that promise. For that, violations that arose only
//! while somebody was half heard are reported separately ([`Invariant::while_half_heard`]).
//!
//! "Runs" means up and not paused, with clocks less than a tenth off and, if votes are written to disk, no slowed disk;
//! "reaches" means without a cut, extra latency or loss. Extra latency below a twentieth of the lease and loss of up to
//! 1 % do not count.
//!
//! No interval with an open way is longer than the header's liveness bound (plus the time between two requests of one
//! client) without an accepted write on `sequence` by an incarnation whose node believes in it: a write that was in
//! flight when its leader died does not count for the successor. The clock restarts when a way opens; when the current
//! way, or the majority of a service's members that it relies on, closes and another remains; when a fault touches the
//! leader, the holder of the service's grant, the service or the store; and when an operator asks for a change. When
//! members are a majority again that was missing, it restarts after their longest election (`failover_ms` in the
//! header). Other faults do not restart it, however frequent. If nobody depends on a majority, or silent nodes are
//! powered off, what happens between any two candidates touches all.
//!
//! Nor is any client starved: while a way is open and a client reaches every candidate that runs, no such interval
//! (longer by the time between two of its requests and by `dark_after_ms`) passes in which its requests end, none of
//! them with a number.
//!
//! **Could fail** if a way was open for at least the bound without such an interruption. Not applicable without a
//! header.
//!
//! **Source.** Alpern and Schneider, "Defining liveness", 1985, bounded; Jensen, Howard and Mortier, "Examining Raft's
//! behaviour during partial network failures", HAOC 2021, for links that are not transitive.

mod claim;
mod clients;
mod misled;

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, not_applicable};
use crate::{
    beliefs::Beliefs,
    cluster::{Change, Cluster, Way},
    said::{self, Sentence, sentence},
    words::{Names, count, duration},
};
use claim::{At, Claim, Elected, Gap, InVain, Now};
use clients::Clients;
use misled::Misled;
use protocols::{
    elector::Deposed,
    history::Header,
    message::WriteVerdict,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::BTreeSet;

pub const ENTRY: Entry = Entry {
    name: "liveness",
    about: "While a candidate, the store and the service or a majority can reach each other, some leader acts within \
            the bound.",
    class: Class::Liveness,
    only_defects: false,
    new: |header| match header.and_then(|h| Some((h, Cluster::new(h)?))) {
        // Without clients, leaders work of their own accord.
        Some((header, cluster)) if header.rate > 0 || cluster.clients() == 0 => {
            Box::new(Liveness::new(header, cluster))
        }
        _ => Box::new(Unknown(header.map(|h| h.rate))),
    },
};

/// For a history that lacks what is needed to judge it; with the clients' rate, if there is a header.
struct Unknown(Option<u64>);

impl Invariant for Unknown {
    fn wants(&self) -> Kinds {
        Kinds::NONE
    }

    fn observe(&mut self, _: &Event) {}

    fn finish(&mut self, _: &Ending) -> Finding {
        not_applicable(match self.0 {
            None => "no bound is stated",
            Some(0) => "nobody asked for numbers",
            Some(_) => "the header does not say which process is the store",
        })
    }
}

struct Liveness {
    bound_us: u64,
    cluster: Cluster,
    beliefs: Beliefs,
    /// The holders of the service's grants.
    holders: BTreeSet<NodeId>,
    elected: Option<Elected>,
    /// The incarnation whose writes count, as looked up last.
    acting: Option<Incarnation>,
    way: Option<Way>,
    /// Whether the members of a service have no connected majority.
    scattered: bool,
    misled: Misled,
    /// The claim that somebody acts, whatever else is wrong.
    claim: Claim,
    /// The claim that somebody acts while nobody is half heard.
    all_heard: Claim,
}

impl Liveness {
    fn new(header: &Header, cluster: Cluster) -> Self {
        let between_us = cluster.clients().saturating_mul(1_000_000) / header.rate.max(1);
        let bound_us = header.liveness_bound_ms.saturating_mul(1000).saturating_add(between_us);
        let answered_us = bound_us.saturating_add(between_us).saturating_add(header.dark_after_ms.saturating_mul(1000));
        let claim = || Claim::new(bound_us, Clients::new(&cluster, answered_us));
        Liveness {
            bound_us,
            claim: claim(),
            all_heard: claim(),
            cluster,
            beliefs: Beliefs::default(),
            holders: BTreeSet::new(),
            elected: None,
            acting: None,
            way: None,
            scattered: false,
            misled: Misled::new(header.address),
        }
    }

    /// Takes an accepted write. Costs a comparison or two if it is of the same incarnation as the last.
    fn accepted(&mut self, t_us: u64, incarnation: Incarnation) {
        if self.acting != Some(incarnation) {
            // Of programs, what they say may have no token, and what they write may have another.
            let believes = self.cluster.clients() == 0 || self.beliefs.of(incarnation.node) == Some(incarnation);
            if self.elected.is_some() && !believes {
                self.claim.uncounted += 1;
                self.all_heard.uncounted += 1;
                return;
            }
            self.acting = Some(incarnation);
            if let Some(elected) = self.elected.as_mut().filter(|e| e.incarnation == incarnation) {
                elected.wrote = true;
            }
        }
        let at = At { t_us, way: self.way.as_ref(), elected: self.elected };
        self.claim.acted(at);
        self.all_heard.acted(at);
    }

    /// Does a change touch a process whose trouble all others have to get over first?
    fn is_interruption(&self, change: &Change) -> bool {
        let cluster = &self.cluster;
        let in_way = |node: NodeId| self.way.as_ref().is_some_and(|way| way.quorum.contains(&node));
        let incumbent = |node: NodeId| self.beliefs.of(node).is_some() || self.holders.contains(&node);
        let all = cluster.is_everybodys_business();
        let node = |node: &NodeId| cluster.is_server(*node) || incumbent(*node) || (all && cluster.is_candidate(*node));
        let touches = |one: NodeId, other: NodeId| {
            incumbent(one) && (cluster.is_server(other) || (cluster.is_candidate(other) && !in_way(one)))
        };
        let link = |(a, b): &(NodeId, NodeId)| {
            let among_all = all && cluster.is_candidate(*a) && cluster.is_candidate(*b);
            among_all || touches(*a, *b) || touches(*b, *a)
        };
        change.ordered || change.nodes.iter().any(node) || change.links.iter().any(link)
    }

    /// Decides whether the claims are made from now on.
    fn settle(&mut self, t_us: u64, mut interrupted: bool) {
        let mut rather: Vec<NodeId> = self.beliefs.awake().map(|incarnation| incarnation.node).collect();
        let newest = self.elected.map(|elected| elected.incarnation.node);
        rather.sort_by_key(|node| (Some(*node) != newest, *node));
        let was = self.way.take();
        let open = was.clone().filter(|way| self.cluster.is_open(way));
        interrupted |= open.is_none();
        let leads_it = |way: &Way| rather.first().is_none_or(|leader| way.quorum.contains(leader));
        self.way = match open {
            Some(way) if leads_it(&way) => Some(way),
            // A leader elected since then need not belong to a quorum that could have elected another.
            Some(way) => self.cluster.find_way(&rather).filter(leads_it).or(Some(way)),
            None => self.cluster.find_way(&rather),
        };
        let were_scattered = std::mem::replace(&mut self.scattered, self.cluster.majorities().is_none());
        if were_scattered && !self.scattered {
            let elected_us = t_us.saturating_add(self.cluster.failover_us());
            self.claim.wait_until(elected_us);
            self.all_heard.wait_until(elected_us);
        }
        let half_heard = self.way.as_ref().and_then(|way| self.cluster.half_heard(way));
        let is_open = self.way.is_some();
        // An interval that ends here is judged by the way that was open during it.
        let at = At { t_us, way: was.as_ref().or(self.way.as_ref()), elected: self.elected };
        self.claim.settle(at, Now { interrupted, made: is_open, half_heard }, &self.cluster);
        let made = is_open && half_heard.is_none();
        self.all_heard.settle(at, Now { interrupted, made, half_heard: None }, &self.cluster);
    }
}

impl Invariant for Liveness {
    fn wants(&self) -> Kinds {
        let beliefs = Kinds::ELECTED.and(Kinds::DEPOSED).and(Kinds::GRANT);
        Kinds::APPLY.and(Kinds::REPLY).and(beliefs).and(Kinds::FAULT).and(Kinds::NODE).and(Kinds::CLOCK)
    }

    fn observe(&mut self, event: &Event) {
        let t_us = event.t_us;
        match &event.kind {
            Kind::Apply { node, write, verdict, .. } => {
                if *verdict == WriteVerdict::Ok && write.resource == Resource::SEQUENCE {
                    let incarnation = write.incarnation(*node);
                    self.accepted(t_us, incarnation);
                }
                return;
            }
            Kind::Reply { request, outcome } => {
                self.misled.replied(*outcome, &self.beliefs);
                self.claim.clients.replied(t_us, request.client, *outcome);
                return self.all_heard.clients.replied(t_us, request.client, *outcome);
            }
            Kind::Grant { node, .. } => {
                self.holders.insert(*node);
                return;
            }
            Kind::GrantEnd { node, .. } => {
                self.holders.remove(node);
                return;
            }
            Kind::Elected(incarnation) => {
                self.misled.elected(incarnation.node);
                self.elected = Some(Elected { incarnation: *incarnation, wrote: false });
            }
            Kind::Deposed { incarnation, reason }
                if self.elected.is_some_and(|e| e.incarnation == *incarnation && !e.wrote) =>
            {
                for claim in [&mut self.claim, &mut self.all_heard] {
                    claim.in_vain.add(*incarnation, *reason);
                }
            }
            _ => {}
        }
        let change = self.cluster.observe(event);
        let interrupted = change.is_some_and(|change| self.is_interruption(&change));
        self.beliefs.observe(event);
        self.acting = None;
        self.settle(t_us, interrupted);
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        let gap = self.claim.violation().map(|gap| gap.from_us);
        gap.or_else(|| self.claim.clients.violated_us())
    }

    fn while_half_heard(&self) -> bool {
        self.all_heard.violation().is_none() && self.all_heard.clients.violated_us().is_none()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let at = At { t_us: ending.t_us, way: self.way.as_ref(), elected: self.elected };
        for claim in [&mut self.claim, &mut self.all_heard] {
            claim.settle(at, Now { interrupted: true, made: false, half_heard: None }, &self.cluster);
        }
        let within = duration(self.bound_us as f64);
        let judged = self.claim.judged;
        let could_fail = judged >= self.bound_us;
        let misled = self.misled.told();
        let unserved = self.claim.clients.violation(ending.names).map(|detail| detail.and(&*misled));
        match (self.claim.violation(), &self.claim.longest) {
            (Some(gap), _) => {
                let rest = format!("{misled}; the bound is {within}");
                let detail = violation(gap, &self.cluster, ending.names).and(rest);
                Finding { holds: false, could_fail: true, detail }
            }
            _ if unserved.is_some() => Finding { holds: false, could_fail: true, detail: unserved.unwrap_or_default() },
            (None, Some(gap)) if could_fail => {
                let longest = duration(gap.us as f64);
                let detail = format!(
                    "somebody acted at least every {longest} while that was possible; the bound is {within}{misled}"
                );
                Finding { holds: true, could_fail, detail: detail.into() }
            }
            (None, Some(_)) => {
                let judged = duration(judged as f64);
                let detail =
                    format!("it was possible to act without interruption for {judged} only; the bound is {within}");
                Finding { holds: true, could_fail, detail: detail.into() }
            }
            (None, None) => not_applicable("nobody was able to act at any time"),
        }
    }
}

/// How a leadership ended, in words.
fn gone(reason: Deposed) -> &'static str {
    match reason {
        Deposed::Resigned => "resigned",
        Deposed::Expired => "its lease expired",
        Deposed::Stuck => "stepped down, since the store did not answer,",
        Deposed::Lost | Deposed::Fenced => "lost its leadership",
    }
}

fn violation(gap: &Gap, cluster: &Cluster, names: &Names) -> Sentence {
    let Way { candidate, quorum, members } = &gap.way;
    let who = names.node(*candidate);
    let others = if cluster.clients() == 0 { "the store" } else { "the store and a client" };
    let with = if cluster.clients() == 0 { " and" } else { "," };
    let reached = match cluster.services() {
        [] => others.to_owned(),
        [service] => format!("{}{with} {others}", names.node(*service)),
        _ => format!("enough of the service{with} {others}"),
    };
    let several = members.iter().chain([quorum]).filter(|nodes| nodes.len() > 1);
    let connected = several.map(|nodes| {
        let all: Vec<_> = nodes.iter().map(|node| names.node(*node)).collect();
        format!("{} reached each other, ", all.join(", "))
    });
    let connected: String = connected.collect();
    let way = match connected.as_str() {
        "" => format!("{who} reached {reached}"),
        connected => format!("{connected}and {who} {reached}"),
    };
    let mut text = format!(" on, although {way}");
    match gap.in_vain {
        InVain { count: 1, last: Some((incarnation, reason)) } => {
            let (who, why) = (names.incarnation(incarnation), gone(reason));
            text += &format!("; {who} was elected meanwhile, and {why} before it wrote anything");
        }
        InVain { count: several @ 2.., .. } => {
            text += &format!("; {} came and went meanwhile without a write", count(several, "leader"));
        }
        _ => {}
    }
    if let Some(elected) = gap.elected.filter(|e| !e.wrote) {
        text += &format!("; {}, elected last, wrote nothing", names.incarnation(elected.incarnation));
    }
    if let Some(node) = gap.half_heard {
        text += &format!("; the others heard {}, but it did not hear them in time", names.node(node));
    }
    if gap.uncounted > 0 {
        text += &format!("; the store accepted {} of leaders that had stopped", count(gap.uncounted, "write"));
    }
    sentence![format!("nobody acted for {} from ", duration(gap.us as f64)), said::At(gap.from_us), text]
}
