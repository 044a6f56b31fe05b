//! Checks of a plan whose candidates run a user's own program. What the program never passes, has or hears of would be
//! ignored, and the run would hold without it.

use super::{Plan, limits::Checked};
use crate::fault::{Fault, Who};
use protocols::{
    election::Protocol,
    history::{Fact, Requirement},
    point::Point,
};

/// What a run of a program shows without a word from it.
const SHOWN: [Fact; 8] = [
    Fact::WritesAccepted,
    Fact::LeadersTookEffect,
    Fact::Kills,
    Fact::PowerOffs,
    Fact::Restarts,
    Fact::ClockSteps,
    Fact::Pauses,
    Fact::Faults,
];

/// Does a run of a program show this?
pub fn shows(fact: Fact) -> bool {
    SHOWN.contains(&fact)
}

pub(super) fn check(plan: &Plan, protocol: &Protocol) -> Checked {
    if !protocol.is_program() {
        return Ok(());
    }
    let given = [
        (plan.load.clients > 0 || plan.load.rate > 0 || plan.load.reads_per_s > 0, "load"),
        (!plan.works.is_empty(), "works"),
        (!plan.bugs.is_empty(), "bugs"),
        (!plan.set.is_empty(), "set"),
        (plan.groups > 1, "groups"),
        (plan.copies.is_some(), "copies"),
        (plan.address.is_some(), "address"),
        (plan.placement.is_some(), "placement"),
        (!plan.tenure.is_nothing(), "tenure"),
        (plan.read_lease, "read_lease"),
        (plan.network.control_apart, "network.control_apart"),
        (plan.network.datagrams, "network.datagrams"),
        (plan.candidates.iter().any(|candidate| candidate.timings.is_some()), "a candidate's timings"),
        (plan.candidates.iter().any(|candidate| candidate.joins_later), "joins_later"),
    ];
    if let Some((_, field)) = given.into_iter().find(|(given, _)| *given) {
        return Err(format!("{field} means nothing to a program; leave it out"));
    }
    let unseen = |requirement: &&Requirement| !shows(requirement.fact);
    match plan.requires.iter().position(|requirement| unseen(&requirement)) {
        Some(index) => Err(format!("requires[{index}] asks for what a run of a program does not show")),
        None => Ok(()),
    }
}

/// Rejects a point that these candidates never pass.
pub(super) fn point(protocol: &Protocol, point: Point, matching: Option<&str>) -> Checked {
    let name = point.name();
    if matching == Some("") {
        return Err("waits for sends matching an empty text, which all do; leave `matching` out".to_owned());
    }
    if matching.is_some() && point != Point::BeforeSend {
        return Err(format!("has `matching`, which speaks of sends, but waits for `{name}`"));
    }
    match (protocol.is_program(), point == Point::BeforeSend) {
        (true, true) | (false, false) => Ok(()),
        (true, false) => {
            Err(format!("waits for `{name}`, which programs do not pass; they pass `{}`", Point::BeforeSend.name()))
        }
        (false, true) => Err(format!("waits for `{name}`, which only programs pass, and not protocols")),
    }
}

/// Rejects a fault that a program does not notice.
pub(super) fn fault(protocol: &Protocol, what: &Fault) -> Checked {
    if !protocol.is_program() {
        return Ok(());
    }
    let kind = what.kind();
    let whom = what.whom();
    if whom.iter().any(|who| **who == Who::Clients) {
        return Err("names the clients, and a program has none here".to_owned());
    }
    match what {
        Fault::Resign { .. }
        | Fault::Transfer { .. }
        | Fault::Join { .. }
        | Fault::Leave { .. }
        | Fault::DropLease { .. }
        | Fault::DropKey { .. }
        | Fault::ForgeToken { .. }
        | Fault::ForgeClaim { .. }
        | Fault::RogueFence { .. }
        | Fault::LyingDevice { .. }
        | Fault::CloudDevice { .. } => Err(format!("is `{kind}`, which a program cannot be told of")),
        _ => Ok(()),
    }
}
