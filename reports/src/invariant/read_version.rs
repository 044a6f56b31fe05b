//! Each accepted write was built on what its predecessor left.
//!
//! **Formula.** The version that an accepted write claims to have read equals the resource's version after the previous
//! event, and applying the write raises the version by one. A duplicate, or a request too old to be recognised, leaves
//! the version unchanged, or raises it by one if it burns the next number. A fenced write leaves it unchanged, and a
//! seal reads it as it is. Disjoint effect intervals do not catch a write whose *read* is stale; this does.
//!
//! **Could fail** if at least one accepted write stated what it read, with a predecessor that stated what it left. Logs
//! without versions cannot be checked.
//!
//! **Source.** The project's definitions ("each accepted write's read version equals its predecessor's"); lost update,
//! Berenson et al., "A critique of ANSI SQL isolation levels", SIGMOD 1995, P4.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{by_resource::ByResource, words::count};
use protocols::{
    history::UNKNOWN_VERSION,
    message::WriteVerdict,
    types::{Incarnation, Resource},
};

pub const ENTRY: Entry = Entry {
    name: "read_version",
    about: "Each accepted write was built on the version that its predecessor left.",
    class: Class::Safety,
    only_defects: false,
    new: |_| Box::new(ReadVersion::default()),
};

struct ReadVersion {
    versions: ByResource<u64>,
    checked: u64,
    violations: Violations<Violation>,
}

impl Default for ReadVersion {
    fn default() -> Self {
        let versions = ByResource::beginning(UNKNOWN_VERSION);
        ReadVersion { versions, checked: 0, violations: Violations::default() }
    }
}

struct Violation {
    resource: Resource,
    incarnation: Incarnation,
    seq: u64,
    what: What,
}

enum What {
    Read { read: u64, was: u64 },
    Left { left: u64, was: u64 },
    Sealed { read: u64, was: u64 },
}

/// True if both are known and differ.
fn differ(a: u64, b: u64) -> bool {
    a != b && a != UNKNOWN_VERSION && b != UNKNOWN_VERSION
}

impl ReadVersion {
    /// Sets the version that an event left: as stated, or else as it follows from the one before.
    fn settle(&mut self, resource: Resource, said: u64, follows: u64) {
        *self.versions.at(resource) = if said == UNKNOWN_VERSION { follows } else { said };
    }
}

/// The next version; an unknown one stays unknown.
fn next(version: u64) -> u64 {
    version.saturating_add(1)
}

impl Invariant for ReadVersion {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::SEAL)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { node, write, verdict, version: left } => {
                let (resource, read, left) = (write.resource, write.read_version, *left);
                let was = *self.versions.of(resource);
                let mut wrong = None;
                let follows = match verdict {
                    WriteVerdict::Ok => {
                        self.checked += u64::from(read != UNKNOWN_VERSION && was != UNKNOWN_VERSION);
                        if differ(read, was) {
                            wrong = Some(What::Read { read, was });
                        } else if differ(left, next(was)) {
                            wrong = Some(What::Left { left, was });
                        }
                        if was == UNKNOWN_VERSION { next(read) } else { next(was) }
                    }
                    WriteVerdict::Duplicate { .. } | WriteVerdict::Failed { .. } => {
                        if differ(left, was) && differ(left, next(was)) {
                            wrong = Some(What::Left { left, was });
                        }
                        // Only the store knows whether it burnt its number.
                        UNKNOWN_VERSION
                    }
                    WriteVerdict::Fenced { .. } => {
                        if differ(left, was) {
                            wrong = Some(What::Left { left, was });
                        }
                        was
                    }
                };
                self.settle(resource, left, follows);
                if let Some(what) = wrong {
                    let incarnation = write.incarnation(*node);
                    self.violations.add(event.t_us, Violation { resource, incarnation, seq: write.seq, what });
                }
            }
            Kind::Seal { resource, incarnation, accepted: true, seq, version: read, .. } => {
                let was = *self.versions.of(*resource);
                if differ(*read, was) {
                    let (resource, incarnation, seq, read) = (*resource, *incarnation, *seq, *read);
                    let what = What::Sealed { read, was };
                    self.violations.add(event.t_us, Violation { resource, incarnation, seq, what });
                }
                self.settle(*resource, *read, was);
            }
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|v| {
            let (resource, seq, who) =
                (ending.names.resource(v.resource), v.seq, ending.names.incarnation(v.incarnation));
            match v.what {
                What::Read { read, was } => {
                    format!("{resource} accepted seq {seq} of {who}, built on version {read} when it was at {was}")
                }
                What::Left { left, was } => {
                    format!("seq {seq} of {who} took {resource} from version {was} to {left}")
                }
                What::Sealed { read, was } => {
                    format!("the seal of {who} read version {read} of {resource} when it was at {was}")
                }
            }
        });
        let seen = match self.checked {
            0 => "no accepted write said what it was built on".to_owned(),
            n => format!("{}, each built on its predecessor", count(n, "accepted write")),
        };
        Finding { holds: violated.is_none(), could_fail: self.checked > 0, detail: violated.unwrap_or(seen.into()) }
    }
}
