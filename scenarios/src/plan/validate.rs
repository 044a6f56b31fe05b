//! Validation of plans. Every error is one sentence that names what is wrong and what would be right.

use super::{
    DIRECTORY, Known, LONGEST_MS, Network, Plan, SCHEMA, STORE, SWARM, branch, groups, leading,
    limits::{
        BANDWIDTH_MAX_MBPS, CANDIDATES_MAX, CLIENTS_MAX, Checked, EXTRA_MAX_US, FAULTS_MAX, Invalid, LATENCY_MAX_US,
        NAME_MAX, OFFSET_MAX_MS, PPM_MAX, RATE_MAX, milliseconds, probability, range, signed,
    },
    own,
    parameters::{Whole, may_elect, parameters},
    program, timers,
};
use crate::{
    fault::{PlannedFault, RESERVED, Trigger, Who},
    suggest, topology,
};
use protocols::{
    election::Protocol,
    point::Point,
    work::{
        Kind, once,
        work_set::{self, ITEMS_MAX, KINDS},
    },
};
use std::collections::BTreeSet;

impl Plan {
    /// Rejects an invalid plan.
    ///
    /// # Errors
    /// One sentence that names what is wrong and what would be right.
    pub fn validate_among(&self, known: &Known) -> Result<(), Invalid> {
        plan(self, known).map_err(Invalid)
    }
}

fn plan(plan: &Plan, known: &Known) -> Checked {
    if plan.schema != SCHEMA {
        return Err(format!("the plan has schema {}, and this build reads schema {SCHEMA}", plan.schema));
    }
    if plan.scenario != SWARM && !known.scenarios.contains(&plan.scenario.as_str()) {
        return Err(suggest::unknown("scenario", &plan.scenario, &known.scenarios).to_string());
    }
    let Some(protocol) = known.protocol(&plan.protocol) else {
        let known: Vec<&str> = known.protocols.iter().map(|protocol| protocol.name).collect();
        return Err(suggest::unknown("protocol", &plan.protocol, &known).to_string());
    };
    bugs(plan, known)?;
    range("duration_ms", plan.duration_ms, 1, LONGEST_MS)?;
    timers::timings(plan, protocol)?;
    for (index, candidate) in plan.candidates.iter().enumerate() {
        let own = candidate.timings.map(|timings| Plan { timings, ..plan.clone() });
        own.map_or(Ok(()), |own| timers::timings(&own, protocol)).map_err(|e| format!("candidates[{index}].{e}"))?;
    }
    range("liveness_bound_ms", plan.liveness_bound_ms, 1, LONGEST_MS)?;
    candidates(plan, known)?;
    members(plan, protocol)?;
    load(plan, protocol)?;
    program::check(plan, protocol)?;
    groups::check(plan, protocol, known.works)?;
    work_set(plan)?;
    charge_check(plan)?;
    own_values(plan, protocol, known)?;
    groups::check_copies(plan, protocol)?;
    leading::check_address(plan)?;
    leading::check(plan.tenure)?;
    network(&plan.network)?;
    branch::check(plan)?;
    if plan.faults.len() > FAULTS_MAX {
        return Err(format!("the plan has {} faults; at most {FAULTS_MAX}", plan.faults.len()));
    }
    let whole = Whole { plan, protocol, topology: plan.topology_of(protocol) };
    for (index, planned) in plan.faults.iter().enumerate() {
        fault(&whole, planned).map_err(|what| format!("faults[{index}] ({}) {what}", planned.what.kind()))?;
    }
    if let Some((index, why)) = plan.redundant(protocol) {
        return Err(format!("faults[{index}] ({}) {why}", plan.faults[index].what.kind()));
    }
    for (index, requirement) in plan.requires.iter().enumerate() {
        if requirement.at_least == 0 {
            return Err(format!("requires[{index}].at_least is 0, which always holds; ask for at least 1"));
        }
    }
    Ok(())
}

fn bugs(plan: &Plan, known: &Known) -> Checked {
    for (index, id) in plan.bugs.iter().enumerate() {
        let Some(bug) = known.bugs.iter().find(|bug| bug.id == id) else {
            let known: Vec<&str> = known.bugs.iter().map(|bug| bug.id).collect();
            return Err(format!("bugs[{index}]: {}", suggest::unknown("bug", id, &known)));
        };
        if !bug.concerns(&plan.protocol) {
            let (of, protocol) = (list(bug.protocols), &plan.protocol);
            return Err(format!("bugs[{index}]: `{id}` is a bug of {of}; `{protocol}` does not have it"));
        }
        if plan.bugs[..index].contains(id) {
            return Err(format!("bugs[{index}] is `{id}`, which is switched on already"));
        }
    }
    Ok(())
}

fn members(plan: &Plan, protocol: &Protocol) -> Checked {
    for (name, count) in &plan.service_members {
        let Some(service) = protocol.service.all().find(|service| service.process == Some(name)) else {
            let has = protocol.service.process.map_or("none".to_owned(), |service| format!("`{service}`"));
            return Err(format!(
                "service_members names `{name}`, which is not a service of `{}`; it has {has}",
                plan.protocol
            ));
        };
        let most = service.members.most;
        if !(1..=most).contains(count) {
            let (protocol, field) = (&plan.protocol, format!("service_members.{name}"));
            return Err(match most {
                1 => format!("{field} is {count}, but the service of `{protocol}` has one member"),
                _ => format!("{field} is {count}; the service of `{protocol}` has 1 to {most} members"),
            });
        }
    }
    Ok(())
}

fn candidates(plan: &Plan, known: &Known) -> Checked {
    let count = plan.candidates.len();
    if !(1..=CANDIDATES_MAX).contains(&count) {
        return Err(format!("the plan has {count} candidates; it needs 1 to {CANDIDATES_MAX}"));
    }
    let mut names = BTreeSet::new();
    for (index, candidate) in plan.candidates.iter().enumerate() {
        let name = &candidate.name;
        let place = format!("candidates[{index}]");
        if !is_name(name) {
            return Err(format!(
                "{place}.name is `{name}`; a name has 1 to {NAME_MAX} lower-case letters, digits and dashes"
            ));
        }
        if is_taken(name, known) {
            return Err(format!("{place}.name is `{name}`, which is reserved; take another, such as `n{}`", index + 1));
        }
        if !names.insert(name) {
            return Err(format!("{place}.name is `{name}`, like another candidate's; names must differ"));
        }
        signed(&format!("{place}.wall_offset_ms"), candidate.wall_offset_ms, OFFSET_MAX_MS)?;
        signed(&format!("{place}.rate_ppm"), candidate.rate_ppm, PPM_MAX)?;
        if candidate.starts_at_ms >= plan.duration_ms {
            let (start_ms, end_ms) = (candidate.starts_at_ms, plan.duration_ms);
            return Err(format!("{place}.starts_at_ms is {start_ms}, but the run ends at {end_ms} ms"));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let letters = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    letters && (1..=NAME_MAX).contains(&name.len())
}

/// True for the fault list's words, the names of servers, and `c1`, `c2` …, which are clients.
fn is_taken(name: &str, known: &Known) -> bool {
    let digits = name.strip_prefix('c').unwrap_or_default();
    let client = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    client
        || [STORE, DIRECTORY].contains(&name)
        || RESERVED.contains(&name)
        || known.protocols.iter().filter_map(|p| p.service.process).any(|service| topology::names_member(name, service))
}

fn load(plan: &Plan, protocol: &Protocol) -> Checked {
    // Nobody asks programs for anything.
    let least = u64::from(!protocol.is_program());
    range("load.clients", u64::from(plan.load.clients), least, u64::from(CLIENTS_MAX))?;
    range("load.rate", plan.load.rate, least, RATE_MAX)?;
    range("load.tick_ms", plan.load.tick_ms, 1, LONGEST_MS)?;
    range("load.reads_per_s", plan.load.reads_per_s, 0, RATE_MAX)
}

fn work_set(plan: &Plan) -> Checked {
    let work_set::Asked { items, item_ms, checkpoint_every, load_ms } = plan.work_set;
    range("work_set.items", items.unwrap_or(1), 1, ITEMS_MAX)?;
    range("work_set.item_ms", item_ms.unwrap_or(1), 1, LONGEST_MS)?;
    range("work_set.checkpoint_every", checkpoint_every.unwrap_or(0), 0, ITEMS_MAX)?;
    range("work_set.load_ms", load_ms.unwrap_or(0), 0, LONGEST_MS)?;
    let only_time = plan.work_set == work_set::Asked { item_ms, ..work_set::Asked::default() };
    if plan.work_set.is_nothing() || has_one(plan, &KINDS) || (only_time && has_one(plan, &once::KINDS)) {
        return Ok(());
    }
    let [one, other] = KINDS.map(|kind| kind.name);
    Err(format!("work_set means nothing here: `works` has neither `{one}` nor `{other}`"))
}

fn own_values(plan: &Plan, protocol: &Protocol, known: &Known) -> Checked {
    let works = known.works.iter().filter(|kind| has_one(plan, &[kind])).map(|kind| (kind.name, kind.parameters));
    own::check(&plan.set, &works.chain([(protocol.name, protocol.parameters)]).collect::<Vec<_>>())
}

fn charge_check(plan: &Plan) -> Checked {
    let [one, other] = once::KINDS.map(|kind| kind.name);
    match (has_one(plan, &once::KINDS), plan.copies) {
        (true, Some(copies)) => {
            let word = copies.word();
            Err(format!(
                "copies is {word}, but what `{one}` and `{other}` do outside has no copies; leave one of them out"
            ))
        }
        (false, _) if plan.charge_check.is_some() => {
            Err(format!("charge_check means nothing here: `works` has neither `{one}` nor `{other}`"))
        }
        _ => Ok(()),
    }
}

/// True if the leader does one of these works.
fn has_one(plan: &Plan, kinds: &[&Kind]) -> bool {
    plan.works.iter().any(|work| kinds.iter().any(|kind| work == kind.name))
}

fn network(network: &Network) -> Checked {
    range("network.latency_us", network.latency_us, 0, LATENCY_MAX_US)?;
    range("network.jitter_us", network.jitter_us, 0, LATENCY_MAX_US)?;
    range("network.bandwidth_mbps", network.bandwidth_mbps, 0, BANDWIDTH_MAX_MBPS)?;
    for (field, value) in [("loss", network.loss), ("duplicate", network.duplicate), ("reorder", network.reorder)] {
        probability(value).map_err(|what| format!("network.{field} {what}"))?;
    }
    Ok(())
}

fn fault(whole: &Whole, planned: &PlannedFault) -> Checked {
    groups::check_fault(whole.plan, planned)?;
    trigger(whole, &planned.when)?;
    program::fault(whole.protocol, &planned.what)?;
    let by_passage = matches!(planned.when, Trigger::Passage { .. });
    for who in planned.what.whom() {
        whom(whole, who)?;
        if *who == Who::Trigger && !by_passage {
            return Err("strikes `trigger`, but it is set off by a time, not by a passage; name a process".to_owned());
        }
    }
    if let Some(for_ms) = planned.what.for_ms() {
        milliseconds("lasts", for_ms)?;
        if for_ms == 0.0 {
            return Err("lasts 0 ms; give it some time, or leave it out".to_owned());
        }
    }
    parameters(whole, planned)?;
    match planned.what.parts().later {
        Some(later) => range("has an extra_us that", later.extra_us, 1, EXTRA_MAX_US),
        None => Ok(()),
    }
}

fn trigger(whole: &Whole, trigger_of: &Trigger) -> Checked {
    let plan = whole.plan;
    let (point, node, nth, matching, after, delay_ms) = match trigger_of {
        Trigger::At { ms } => {
            milliseconds("strikes at", *ms)?;
            if *ms > plan.duration_ms as f64 {
                return Err(format!("strikes at {ms} ms, but the run ends at {} ms", plan.duration_ms));
            }
            return Ok(());
        }
        Trigger::Passage { point, node, nth, matching, after, delay_ms } => {
            (point, node, nth, matching, after, delay_ms)
        }
    };
    match Point::from_name(point) {
        None => {
            let known = list(Point::ALL.iter().map(|point| point.name()));
            return Err(format!("waits for a point `{point}`, which does not exist; there are {known}"));
        }
        Some(point) => program::point(whole.protocol, point, matching.as_deref())?,
    }
    whom(whole, node)?;
    if *node == Who::Trigger || !may_elect(whole, node) {
        let name = String::from(node.clone());
        return Err(format!("waits for `{name}` to pass a point, but only candidates do; name one, or `leader`"));
    }
    if *nth == 0 {
        return Err("waits for passage 0; the first is 1".to_owned());
    }
    milliseconds("waits", *delay_ms)?;
    match after {
        Some(after) => trigger(whole, after),
        None if *delay_ms > 0.0 => Err("has a delay_ms but no `after` that it starts from".to_owned()),
        None => Ok(()),
    }
}

fn whom(whole: &Whole, who: &Who) -> Checked {
    let Whole { plan, protocol, topology } = whole;
    let none = topology.services().is_empty();
    match who {
        Who::Service | Who::ServiceLeader if none => {
            Err(format!("strikes the service, but `{}` has none; name candidates", plan.protocol))
        }
        Who::ServiceLeader if !protocol.service.all().any(|service| service.members.led) => {
            let all = list(topology.members().map(|member| topology.name(member)));
            Err(format!("strikes the leader of the service, but that of `{}` has none; there is {all}", plan.protocol))
        }
        Who::Named(name) if topology.resolve(who).is_none() => {
            Err(format!("names `{name}`, which is not a process; there are {}", list(topology.names())))
        }
        _ => Ok(()),
    }
}

fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<S> = names.into_iter().collect();
    let words: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    words.join(", ")
}
