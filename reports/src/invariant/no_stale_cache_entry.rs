//! No cache is set back to an older version, and none is left out, so no reader of a cache reads older data than it
//! had.
//!
//! **Formula.** Over what the edges and the resource of versions have accepted:
//! 1. No edge is refreshed with an older version than it had. Its readers would be served the older one until the next
//!    refresh.
//! 2. When a version is recorded, each edge has had the previous one, or a newer one. Otherwise nobody is left to tell
//!    the edge of it.
//!
//! Readers play no part: what counts is what they would be served, whether or not somebody reads just then.
//!
//! **Could fail** if something stale reached an edge, or a second leadership refreshed an edge. Part 2 is judged if the
//! header names the resource of versions. [`super::no_stale_write`] defines what is stale.
//!
//! **Memory.** One version per edge.
//!
//! **Source.** *Leader election: mechanisms, failure modes, fencing*, "Distributed cache invalidator"; stale sets and
//! leases: Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013, §3.2.1.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    by_resource::ByResource,
    freshness::Freshness,
    words::{count, grouped},
};
use protocols::{
    group,
    history::Header,
    message::{Write, WriteVerdict},
    types::{Incarnation, Operation, Resource},
    work::cache_invalidator,
};

pub const ENTRY: Entry = Entry {
    name: "no_stale_cache_entry",
    about: "No cache is set back to an older version than it had, and none is left without one.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(NoStaleCacheEntry::new(header)),
};

struct NoStaleCacheEntry {
    /// Are caches among the history's resources? `None` without a header.
    told: Option<bool>,
    /// The resource on which versions are recorded, and the edges that must be told of them.
    records: Option<Resource>,
    edges: Vec<Resource>,
    freshness: Freshness,
    on: ByResource<Edge>,
    refreshed: u64,
    stale: u64,
    handed_over: bool,
    violations: Violations<Violation>,
}

/// The state of one edge.
#[derive(Clone, Default)]
struct Edge {
    /// The newest version that it had, and who refreshed it with that.
    newest: Option<(u64, Incarnation)>,
}

enum Violation {
    SetBack { edge: Resource, by: Incarnation, to: u64, newest: u64, of: Incarnation },
    LeftOut { edge: Resource, by: Incarnation, version: u64 },
}

impl NoStaleCacheEntry {
    fn new(header: Option<&Header>) -> Self {
        let [records, edges @ ..] = cache_invalidator::WORK.resources else { unreachable!("it has resources") };
        let find = |name: &&str| {
            let place = header?.resources.iter().position(|known| group::split(known).0 == *name)?;
            u16::try_from(place).ok().map(Resource)
        };
        let (records, edges) = (find(records), edges.iter().filter_map(find).collect::<Vec<_>>());
        NoStaleCacheEntry {
            told: header.map(|_| !edges.is_empty()),
            records,
            edges,
            freshness: Freshness::new(header),
            on: ByResource::default(),
            refreshed: 0,
            stale: 0,
            handed_over: false,
            violations: Violations::default(),
        }
    }

    fn refreshed(&mut self, t_us: u64, by: Incarnation, edge: Resource, to: u64) {
        self.refreshed += 1;
        let on = self.on.at(edge);
        match on.newest {
            Some((newest, of)) if to < newest => {
                self.violations.add(t_us, Violation::SetBack { edge, by, to, newest, of });
            }
            before => {
                self.handed_over |= before.is_some_and(|(_, of)| of != by);
                on.newest = Some((to, by));
            }
        }
    }

    fn recorded(&mut self, t_us: u64, by: Incarnation, next: u64) {
        let version = next.saturating_sub(1);
        for edge in &self.edges {
            if self.on.of(*edge).newest.map_or(0, |(newest, _)| newest) < version {
                self.violations.add(t_us, Violation::LeftOut { edge: *edge, by, version });
            }
        }
    }
}

impl Invariant for NoStaleCacheEntry {
    fn concerns(&self) -> bool {
        self.told != Some(false)
    }

    fn wants(&self) -> Kinds {
        Kinds::APPLY_ASIDE.and(Kinds::SEAL).and(Kinds::ELECTED)
    }

    fn observe(&mut self, event: &Event) {
        let stale = self.freshness.observe(event);
        let Kind::Apply { node, write: write @ Write { resource, operation, .. }, verdict, .. } = &event.kind else {
            return;
        };
        let Some(payload) = write.payload else { return };
        let (by, number, taken) = (write.incarnation(*node), payload.number.get(), *verdict == WriteVerdict::Ok);
        match operation {
            Operation::Refresh => {
                self.stale += u64::from(stale);
                if taken {
                    self.refreshed(event.t_us, by, *resource, number);
                }
            }
            Operation::Record if taken && self.records == Some(*resource) => self.recorded(event.t_us, by, number),
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|violation| {
            let (who, on) = (|who| ending.names.incarnation(who), |edge| ending.names.resource(edge));
            match violation {
                Violation::SetBack { edge, by, to, newest, of } => {
                    let (of, to, newest) = (who(*of), grouped(*to), grouped(*newest));
                    format!(
                        "{} set {} back to version {to}, when {of} had brought it version {newest}",
                        who(*by),
                        on(*edge)
                    )
                }
                Violation::LeftOut { edge, by, version } => {
                    let (next, version) = (grouped(version + 1), grouped(*version));
                    format!("{} recorded version {next}, and {} never had version {version}", who(*by), on(*edge))
                }
            }
        });
        let refreshed = count(self.refreshed, "refresh").replace("refreshs", "refreshes");
        let seen = match (self.refreshed, self.stale) {
            (0, _) => "no cache was refreshed".to_owned(),
            (_, 0) => format!("{refreshed}, each with a version as new as the one before"),
            (_, 1) => format!("{refreshed}; 1 stale one reached an edge, and was refused"),
            (_, stale) => format!("{refreshed}; {} stale ones reached an edge, and were refused", grouped(stale)),
        };
        Finding {
            holds: violated.is_none(),
            could_fail: self.stale > 0 || self.handed_over || violated.is_some(),
            detail: violated.unwrap_or(seen.into()),
        }
    }
}
