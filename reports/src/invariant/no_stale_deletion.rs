//! No stale leader deletes what a newer one made, and the live plan exists.
//!
//! **Formula.** Writes make plans, make them live and delete them; a deletion is followed by the list of what it
//! removed.
//! 1. No accepted deletion removes a plan made by a newer leadership: one with a higher token or, without tokens, one
//!    that was elected later.
//! 2. No accepted deletion removes the live plan, whoever asks for it.
//! 3. A plan that is made live exists. So once a plan has been made live, there is a live plan at every moment.
//!
//! In a log without a header, a plan whose making the log does not show counts as existing, unless the log shows its
//! deletion.
//!
//! **Could fail** if a stale write that deletes or makes a plan live reached the store, or something was violated.
//! [`super::no_stale_write`] defines what is stale.
//!
//! **Memory.** The existing plans, and the latest 1,024 deleted from each resource.
//!
//! **Source.** AWS, "Summary of the Amazon DynamoDB Service Disruption in the Northern Virginia (US-EAST-1) Region", October
//! 2025, for 2 and 3; temporalio/temporal pull request 12016 for 1: a predecessor's clean-up deletes what its successor wrote,
//! though the predecessor's writes are refused.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    by_resource::ByResource,
    freshness::Freshness,
    words::{Names, count, grouped},
};
use protocols::{
    history::{Deleted, Header},
    message::{Write, WriteVerdict},
    types::{Incarnation, Operation, Resource},
};
use std::collections::{BTreeMap, VecDeque};

pub const ENTRY: Entry = Entry {
    name: "no_stale_deletion",
    about: "No deletion removes what a newer leader made, or what is live; what is made live exists.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(NoStaleDeletion::new(header)),
};

/// How many deleted plans of a resource are remembered.
const REMEMBERED: usize = 1_024;

#[derive(Default)]
struct NoStaleDeletion {
    /// Does the history have a header?
    whole: bool,
    freshness: Freshness,
    on: ByResource<On>,
    deletions: u64,
    stale: u64,
    violations: Violations<Violation>,
}

/// The state of one resource.
#[derive(Clone, Default)]
struct On {
    /// The maker of each existing plan.
    made: BTreeMap<u64, Incarnation>,
    /// The live plan, and who made it live.
    live: Option<(u64, Incarnation)>,
    /// The deleted plans with who deleted them, the latest last.
    deleted: VecDeque<(u64, Incarnation)>,
}

struct Violation {
    resource: Resource,
    by: Incarnation,
    what: What,
}

enum What {
    /// Plans of newer leaderships were deleted: how many, the first, and its maker.
    Newer { count: u64, first: u64, maker: Incarnation, live: bool },
    /// The live plan was deleted; who had made it live.
    Live { plan: u64, enacted_by: Incarnation },
    /// A missing plan was made live; who deleted it, if known.
    Missing { plan: u64, deleted_by: Option<Incarnation> },
}

impl NoStaleDeletion {
    fn new(header: Option<&Header>) -> Self {
        NoStaleDeletion { whole: header.is_some(), freshness: Freshness::new(header), ..NoStaleDeletion::default() }
    }

    /// Takes an operation that the store has accepted.
    fn carried_out(&mut self, t_us: u64, by: Incarnation, write: &Write) {
        let (Some(payload), resource) = (write.payload, write.resource) else { return };
        let (plan, on) = (payload.number.get(), self.on.at(resource));
        match write.operation {
            Operation::Make => {
                on.made.insert(plan, by);
            }
            Operation::Enact => {
                on.live = Some((plan, by));
                let deleted_by = on.deleted.iter().rev().find(|(number, _)| *number == plan).map(|gone| gone.1);
                if !on.made.contains_key(&plan) && (self.whole || deleted_by.is_some()) {
                    let what = What::Missing { plan, deleted_by };
                    self.violations.add(t_us, Violation { resource, by, what });
                }
            }
            Operation::Delete => self.deletions += 1,
            _ => {}
        }
    }

    fn deleted(&mut self, t_us: u64, deleted: &Deleted) {
        let Deleted { resource, incarnation: by, plans, .. } = deleted;
        let on = self.on.at(*resource);
        let (mut newer, mut first) = (0, None);
        for plan in plans {
            if let Some(maker) = on.made.remove(plan).filter(|maker| self.freshness.is_newer(*maker, *by)) {
                newer += 1;
                first = first.or(Some((*plan, maker)));
            }
            if on.deleted.len() == REMEMBERED {
                on.deleted.pop_front();
            }
            on.deleted.push_back((*plan, *by));
        }
        let live = on.live.filter(|(live, _)| plans.contains(live));
        let what = match (first, live) {
            (Some((first, maker)), live) => What::Newer { count: newer, first, maker, live: live.is_some() },
            (None, Some((plan, enacted_by))) => What::Live { plan, enacted_by },
            (None, None) => return,
        };
        self.violations.add(t_us, Violation { resource: *resource, by: *by, what });
    }
}

impl Invariant for NoStaleDeletion {
    fn wants(&self) -> Kinds {
        // Every operation names its plan, so none only takes a number for a client.
        Kinds::APPLY_ASIDE.and(Kinds::SEAL).and(Kinds::ELECTED).and(Kinds::DELETED)
    }

    fn observe(&mut self, event: &Event) {
        let stale = self.freshness.observe(event);
        match &event.kind {
            Kind::Apply { node, write, verdict, .. } if write.operation != Operation::Record => {
                let harms = matches!(write.operation, Operation::Enact | Operation::Delete);
                self.stale += u64::from(stale && harms);
                if *verdict == WriteVerdict::Ok {
                    self.carried_out(event.t_us, write.incarnation(*node), write);
                }
            }
            Kind::Deleted(deleted) => self.deleted(event.t_us, deleted),
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|violation| say(violation, ending.names));
        let could_fail = self.stale > 0 || violated.is_some();
        let holds = violated.is_none();
        let detail = violated.unwrap_or_else(|| {
            let deletions = count(self.deletions, "deletion");
            let seen = match (self.deletions, self.stale) {
                (0, 0) => "nothing was deleted".to_owned(),
                (_, 0) => format!("{deletions}, none of what was live; no stale one reached the store"),
                (_, 1) => format!("{deletions}; 1 stale clean-up or enactment reached the store, and did no harm"),
                (_, n) => format!(
                    "{deletions}; {} stale clean-ups or enactments reached the store, and did no harm",
                    grouped(n)
                ),
            };
            seen.into()
        });
        Finding { holds, could_fail, detail }
    }
}

fn say(Violation { resource, by, what }: &Violation, names: &Names) -> String {
    let (who, resource) = (names.incarnation(*by), names.resource(*resource));
    match what {
        What::Newer { count: 1, first, maker, live } => {
            let (maker, live) = (names.incarnation(*maker), if *live { "the live plan" } else { "plan" });
            format!("{who} deleted {live} {} of {maker} from {resource}", grouped(*first))
        }
        What::Newer { count: many, first, maker, live } => {
            let (maker, first) = (names.incarnation(*maker), grouped(*first));
            let live = if *live { ", the live one among them" } else { "" };
            format!(
                "{who} deleted {} of newer leaders from {resource}, the first plan {first} of {maker}{live}",
                count(*many, "plan")
            )
        }
        What::Live { plan, enacted_by } => {
            let enacted_by = names.incarnation(*enacted_by);
            format!("{who} deleted plan {} from {resource}, which {enacted_by} had made live", grouped(*plan))
        }
        What::Missing { plan, deleted_by: Some(deleter) } => {
            let deleter = names.incarnation(*deleter);
            format!("{who} made plan {} live on {resource}, which {deleter} had deleted", grouped(*plan))
        }
        What::Missing { plan, deleted_by: None } => {
            format!("{who} made plan {} live on {resource}, which does not exist", grouped(*plan))
        }
    }
}
