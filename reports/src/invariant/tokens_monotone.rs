//! Accepted tokens never decrease, and each belongs to one leader.
//!
//! **Formula.** In a resource's apply order, the tokens of accepted writes and seals never decrease, and all with the
//! same token come from the same (node, generation). Nor does a resource accept a seal whose token is lower than one that
//! it knew when it refused a write.
//!
//! **Could fail** if a token was accepted on a resource and a write or seal with another token or owner reached it.
//! Writes without a token are not checked.
//!
//! **Source.** The project's fencing rule 1; Burrows, "The Chubby lock service", OSDI 2006, §2.4 (sequencers).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{by_resource::ByResource, words::count};
use protocols::{
    message::WriteVerdict,
    types::{Incarnation, Resource},
};

pub const ENTRY: Entry = Entry {
    name: "tokens_monotone",
    about: "The tokens that a resource accepts never decrease, and each belongs to one leader.",
    class: Class::Safety,
    only_defects: false,
    new: |_| Box::new(TokensMonotone::default()),
};

#[derive(Default)]
struct TokensMonotone {
    accepted: ByResource<Option<Incarnation>>,
    /// The highest token that the resource has shown to know by a refusal.
    told: ByResource<u64>,
    tokens: ByResource<u64>,
    contested: bool,
    violations: Violations<Violation>,
}

enum Violation {
    Fell { resource: Resource, before: Incarnation, after: Incarnation },
    Forgot { resource: Resource, told: u64, after: Incarnation },
}

impl TokensMonotone {
    fn reached(&mut self, t_us: u64, resource: Resource, incarnation: Incarnation, accepted: bool) {
        if !incarnation.has_token() {
            return;
        }
        let highest = *self.accepted.of(resource);
        if highest == Some(incarnation) {
            return;
        }
        self.contested |= highest.is_some();
        if !accepted {
            return;
        }
        if let Some(before) = highest.filter(|h| h.token >= incarnation.token) {
            self.violations.add(t_us, Violation::Fell { resource, before, after: incarnation });
            return;
        }
        *self.tokens.at(resource) += 1;
        *self.accepted.at(resource) = Some(incarnation);
    }
}

impl Invariant for TokensMonotone {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::SEAL)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { node, write, verdict, .. } => {
                let incarnation = write.incarnation(*node);
                self.reached(event.t_us, write.resource, incarnation, *verdict == WriteVerdict::Ok);
                if let WriteVerdict::Fenced { highest } = *verdict
                    && incarnation.has_token()
                {
                    let told = self.told.at(write.resource);
                    *told = (*told).max(incarnation.token).max(highest);
                }
            }
            Kind::Seal { resource, incarnation, accepted, .. } => {
                let (told, after) = (*self.told.of(*resource), *incarnation);
                // Of a write, `no_stale_write` says so.
                if *accepted && after.has_token() && after.token < told {
                    self.contested = true;
                    self.violations.add(event.t_us, Violation::Forgot { resource: *resource, told, after });
                }
                self.reached(event.t_us, *resource, *incarnation, *accepted);
            }
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|v| match v {
            Violation::Fell { resource, before, after } => {
                let ours = before.token == after.token;
                let [before, after] = [before, after].map(|i| ending.names.incarnation(*i));
                let resource = ending.names.resource(*resource);
                match ours {
                    true => format!("{resource} accepted {after} although the token belongs to {before}"),
                    false => format!("{resource} accepted {after} after {before}"),
                }
            }
            Violation::Forgot { resource, told, after } => {
                let (resource, after) = (ending.names.resource(*resource), ending.names.incarnation(*after));
                format!("{resource} accepted {after} after it had refused a write because of token {told}")
            }
        });
        let seen = match self.tokens.iter().map(|(_, tokens)| *tokens).max() {
            None | Some(0) => "no token was accepted".to_owned(),
            Some(n) => format!("{} accepted, rising, each of one leader", count(n, "token")),
        };
        Finding { holds: violated.is_none(), could_fail: self.contested, detail: violated.unwrap_or(seen.into()) }
    }
}
