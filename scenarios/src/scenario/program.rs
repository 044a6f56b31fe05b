//! The scenarios for programs. A scenario speaks of points in a protocol's code and of beliefs; a program passes only its
//! sends, and is known only by its effects.

use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::{Load, Plan, program},
};
use protocols::{
    election::Protocol,
    history::{Fact, Requirement},
    point::Point,
};

/// Makes a scenario's plan one for a program, if it is: it strikes before sends, nobody asks the candidates for anything, and what
/// must happen is what the store and the faults show.
pub(super) fn fit(plan: &mut Plan, protocol: &Protocol) {
    if !protocol.is_program() {
        return;
    }
    plan.load = Load { clients: 0, rate: 0, reads_per_s: 0, ..plan.load };
    plan.read_lease = false;
    // Beside other faults, the clients' part is to make a stale write look new, and a program's writes are what they are.
    let of_clients = |planned: &PlannedFault| planned.what.whom().contains(&&Who::Clients);
    if !plan.faults.iter().all(of_clients) {
        plan.faults.retain(|planned| !of_clients(planned));
    }
    plan.faults.iter_mut().for_each(|planned| before_send(&mut planned.when));
    plan.requires = required(plan);
}

/// A point is any of its node's sends: which one is for the caller to draw, who knows how many there are.
fn before_send(when: &mut Trigger) {
    if let Trigger::Passage { point, nth, after, delay_ms, .. } = when {
        (*nth, *after, *delay_ms) = (1, None, 0.0);
        *point = Point::BeforeSend.name().to_owned();
    }
}

/// Each election shows in a leader that takes effect. A fault must at least have struck.
fn required(plan: &Plan) -> Vec<Requirement> {
    let seen = |required: &Requirement| match required.fact {
        Fact::Elections => Requirement { fact: Fact::LeadersTookEffect, ..*required },
        // How often it writes is its own business.
        Fact::WritesAccepted => Requirement { at_least: 1, ..*required },
        _ => required.clone(),
    };
    let mut requires: Vec<Requirement> = Vec::new();
    for required in plan.requires.iter().map(seen).filter(|required| program::shows(required.fact)) {
        match requires.iter_mut().find(|known| known.fact == required.fact) {
            Some(known) => known.at_least = known.at_least.max(required.at_least),
            None => requires.push(required),
        }
    }
    let is = |fact| move |required: &Requirement| required.fact == fact;
    if !requires.iter().any(is(Fact::LeadersTookEffect)) {
        requires.push(Requirement { fact: Fact::LeadersTookEffect, at_least: 1 });
    }
    if !plan.faults.is_empty() {
        requires.push(Requirement { fact: Fact::Faults, at_least: plan.faults.len() as u64 });
    }
    requires
}

/// A pause of one candidate before its nth send, of those with this text in them if there is one, for `for_ms`. Another must
/// take effect.
pub fn paused_before_send(mut plan: Plan, node: &str, nth: u64, matching: Option<String>, for_ms: f64) -> Plan {
    let when = Trigger::Passage {
        point: Point::BeforeSend.name().to_owned(),
        node: Who::Named(node.to_owned()),
        nth,
        after: None,
        delay_ms: 0.0,
        matching,
    };
    plan.faults.push(PlannedFault { when, what: Fault::Pause { node: Who::Trigger, for_ms }, group: 0 });
    plan
}
