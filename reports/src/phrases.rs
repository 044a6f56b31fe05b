//! What happened, in words: each kind of moment says itself, once for the text report and the page.

mod faults;

pub(crate) use faults::{became, cut_off, listed, past};

use crate::{
    course::{
        ends::GrantEnded,
        model::{Effect, Misread, Model, Refused, Shade, Stale},
        moment::{Moment, What},
    },
    words::{count, duration, grouped},
};
use protocols::{
    elector::Deposed,
    history::{FaultEvent, FaultKind, GrantEnd, NodeState, UNKNOWN_SEQ},
    message::Write,
    types::{NodeId, Operation},
};
use std::borrow::Cow;

/// A moment as the text report tells it, which lists the findings and the dark stretches itself.
pub(crate) fn say(moment: &Moment, model: &Model) -> String {
    let node = moment.on.first().map_or("a process", |node| model.node(node.0));
    let who = |i: usize| model.incarnations[i].who.as_str();
    match &moment.what {
        What::Fault(fault) => begins(fault, moment.t, model),
        What::Healed(fault) => {
            let begun = model.shades.iter().rfind(|s| s.fault == Some(fault.index)).map_or(moment.t, |s| s.from);
            format!("healed: {}", past(fault, begun, model))
        }
        What::State { state, believes } => becomes(node, *state, *believes),
        What::LeadsMembers => format!("{node} leads the members of the service"),
        What::Elected { i, still, untold } => elected(who(*i), still, untold, model),
        What::Deposed { reason, .. } => format!("{node} steps down: {}", deposed(*reason)),
        What::Granted(token) => {
            let with = token.map_or(String::new(), |token| format!(" with token {token}"));
            format!("leadership is granted to {node}{with}")
        }
        // Also the reason if a log gives none.
        What::GrantEnded(GrantEnded(GrantEnd::Lost)) => format!("the grant to {node} ends"),
        What::GrantEnded(why) => format!("the grant to {node} ends: {}", why.words()),
        What::Sealed { i, resources, seq } => {
            let sealed: Vec<_> = resources.iter().map(|r| model.resource(*r)).collect();
            let sealed: Vec<&str> = sealed.iter().map(|name| &**name).collect();
            format!("{} seals {} (last seq {})", who(*i), listed(&sealed), grouped(*seq))
        }
        What::SealRefused { i, r, n } => {
            let times = if *n > 1 { format!(" {} times", grouped(*n)) } else { String::new() };
            format!("refused: {} tried{times} to seal {}", who(*i), model.resource(*r))
        }
        What::TakesEffect(effect) => takes_effect(&model.effects[*effect], model),
        What::Stale(place) => stale(&model.stale[*place], model),
        What::Refused(place) => refused(&model.refused[*place], model),
        What::Misread(place) => misread(&model.misread[*place], model),
        What::Rewound { onto, entries } => {
            format!("the copy of {node} is rewound by {} and follows {}", count(*entries, "entry"), who(*onto))
        }
        What::Violated(names, _) => format!("VIOLATED {}", names.join(", ")),
        What::Dark(us) => dark(*us),
    }
}

/// The same with the invariants that it violates, the finding, and how long it is dark because of it.
pub(crate) fn say_in_full(moment: &Moment, model: &Model) -> String {
    let mut text = say(moment, model);
    if let What::Violated(_, detail) = &moment.what {
        text += &format!(": {detail}");
    }
    if let Some(us) = moment.dark_us {
        text += &format!("; {}", dark(us));
    }
    if !moment.violates.is_empty() {
        text += &format!("; violates {}", moment.violates.join(", "));
    }
    text
}

/// Is it a partition that separates two sides in both directions?
pub(crate) fn parts(fault: &FaultEvent) -> bool {
    fault.kind == FaultKind::Partition && !fault.one_way && !cut_off(fault).1.is_empty()
}

/// A fault in its own words; of a partition, both sides.
pub(crate) fn present<'a>(fault: &FaultEvent, name: impl Fn(NodeId) -> Cow<'a, str>) -> String {
    let list = |nodes: &[NodeId]| nodes.iter().map(|node| name(*node)).collect::<Vec<_>>().join(", ");
    match cut_off(fault) {
        (few, many) if parts(fault) => format!("{} cut off from {}", list(few), list(&many)),
        _ if fault.detail.is_empty() => format!("{} on {}", fault.kind, list(&fault.on)),
        _ => fault.detail.clone(),
    }
}

/// The beginning of a fault. Its own words say how long it lasts, but a partition's do not.
fn begins(fault: &FaultEvent, t: u64, model: &Model) -> String {
    let mut text = present(fault, |node| model.node(node.0).into());
    if parts(fault) {
        let shade = model.shades.iter().find(|s| s.fault == Some(fault.index) && s.from == t);
        text += &shade.map_or_else(String::new, Shade::lasted);
    }
    if fault.point.as_ref().is_some_and(|(point, _)| point == "lease_checked") {
        text += ", right after checking its lease";
    }
    text
}

fn elected(who: &str, still: &[(u16, bool)], untold: &[u16], model: &Model) -> String {
    let untold: Vec<&str> = untold.iter().map(|node| model.node(*node)).collect();
    let still: Vec<String> = still
        .iter()
        .map(|(node, paused)| format!("{}{}", model.node(*node), if *paused { " (paused)" } else { "" }))
        .collect();
    match (&still[..], &untold[..]) {
        ([], []) => format!("{who} is elected"),
        ([], untold) => format!("{who} is elected; no report yet that {} stopped", untold.join(" and ")),
        ([one], _) => format!("{who} is elected; {one} still believes"),
        (still, _) => format!("{who} is elected; {} still believe", still.join(" and ")),
    }
}

const fn deposed(reason: Deposed) -> &'static str {
    match reason {
        Deposed::Expired => "lease expired on its clock",
        Deposed::Lost => "told that it no longer leads",
        Deposed::Fenced => "the store refused its token",
        Deposed::Resigned => "resigned",
        Deposed::Stuck => "the store did not answer in time",
    }
}

/// What happens to a process.
fn becomes(who: &str, state: NodeState, believes: bool) -> String {
    let what = match state {
        NodeState::Up => "starts again",
        NodeState::Down => "is killed",
        NodeState::Off => "loses power",
        NodeState::Paused => "is paused",
        NodeState::Resumed if believes => "resumes, still believing that it leads",
        NodeState::Resumed => "runs again",
        NodeState::Joined => "joins as a member",
        NodeState::Left => "is no longer a member",
    };
    format!("{who} {what}")
}

fn takes_effect(effect: &Effect, model: &Model) -> String {
    let who = &model.incarnations[effect.i].who;
    // A log's resources have names of their own.
    let on = match model.foreign || effect.r > 0 {
        true => format!(" on {}", model.resource(effect.r)),
        false => String::new(),
    };
    match effect.seq {
        UNKNOWN_SEQ => format!("{who} takes effect{on}"),
        seq => format!("{who} takes effect{on}, from seq {}", grouped(seq)),
    }
}

/// The name of a write's number.
pub(crate) const fn numbers(write: &Write) -> &'static str {
    match write.operation {
        Operation::Delete => "clean-up seq",
        Operation::Enact => "enactment seq",
        _ => "seq",
    }
}

/// Writes of a leadership to a resource: how many, the first one's number and what such numbers are called.
fn writes(
    model: &Model,
    (i, r): (usize, usize),
    n: u64,
    (numbers, seq): (&str, u64),
    (from, to): (u64, u64),
) -> String {
    let (who, on) = (&model.incarnations[i].who, model.resource(r));
    let first = match seq {
        UNKNOWN_SEQ => String::new(),
        seq => format!(", from seq {}", grouped(seq)),
    };
    match (n, seq) {
        (1, UNKNOWN_SEQ) => format!("a write of {who} on {on}"),
        (1, seq) => format!("{numbers} {} of {who} on {on}", grouped(seq)),
        (n, _) => format!("{} of {who} on {on}{first}{}", count(n, "write"), until(model, from, to)),
    }
}

fn stale(stale: &Stale, model: &Model) -> String {
    let Stale { i, r, from, to, n, seq, over, numbers, plans, .. } = *stale;
    let mut text = format!("ACCEPTED although stale: {}", writes(model, (i, r), n, (numbers, seq), (from, to)));
    if plans > 0 {
        text += &format!("; {} deleted", count(plans, "plan"));
    }
    if let Some(over) = over {
        let (one, who) = (&model.incarnations[over], &model.incarnations[over].who);
        // A forged token has taken over nothing.
        text += &match model.foreign || one.token.is_empty() || model.beliefs.iter().any(|belief| belief.i == over) {
            true => format!("; {who} had taken over"),
            false => format!("; the store had accepted token {} of {}", one.token, model.node(one.node)),
        };
    }
    text
}

fn refused(refused: &Refused, model: &Model) -> String {
    let Refused { i, r, from, to, n, seq, numbers, .. } = *refused;
    let text = format!("refused: {}", writes(model, (i, r), n, (numbers, seq), (from, to)));
    match &*refused.highest {
        "0" => text,
        highest => format!("{text}; the store is at token {highest}"),
    }
}

fn misread(misread: &Misread, model: &Model) -> String {
    let (first, node) = (&misread.first, model.node(misread.node));
    let client = model.node(first.request.client.0);
    let known = first.known.filter(|_| first.is_stale());
    let after = match known {
        Some(known) => format!("after {} had been returned", grouped(known)),
        None => format!("with token {} after token {}", first.token, first.known_token),
    };
    match (misread.n, known) {
        (1, Some(_)) => format!("STALE READ: {client} reads {} from {node} {after}", grouped(first.seq)),
        (1, None) => format!("STALE READ: {node} answers {client} {after}"),
        (n, _) => {
            let (reads, until) = (count(n, "read"), until(model, misread.from, misread.to));
            let first = match known {
                Some(_) => format!("returned {} to {client} {after}", grouped(first.seq)),
                None => format!("answered {client} {after}"),
            };
            format!("STALE READS: {reads} from {node}{until}; the first {first}")
        }
    }
}

/// `, until 25.999 s`, or the duration if both times would print the same.
fn until(model: &Model, from: u64, to: u64) -> String {
    match to - from {
        0 => String::new(),
        near @ 1..1_000 => format!(", within {}", duration(near as f64)),
        _ => format!(", until {}", model.clock.moment(to)),
    }
}

/// How long no request would have been served in time, as the figure *dark time* counts it.
pub(crate) fn dark(us: u64) -> String {
    format!("dark for {}", duration(us as f64))
}
