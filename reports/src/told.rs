//! What happened, in words shared by the text report and the page.

use crate::words::{count, grouped};
use protocols::{
    elector::Deposed,
    history::{GrantEnd, NodeState, UNKNOWN_SEQ},
    message::Write,
    types::Operation,
};

/// An election; `still` also believe, and a log has not reported that `untold` stopped.
pub(crate) fn elected(who: &str, still: &[String], untold: &[String]) -> String {
    match (still, untold) {
        ([], []) => format!("{who} is elected"),
        ([], untold) => format!("{who} is elected; no report yet that {} stopped", untold.join(" and ")),
        ([one], _) => format!("{who} is elected; {one} still believes"),
        (still, _) => format!("{who} is elected; {} still believe", still.join(" and ")),
    }
}

/// A deposition and its reason.
pub(crate) fn deposed(who: &str, reason: Deposed) -> String {
    let why = match reason {
        Deposed::Expired => "lease expired on its clock",
        Deposed::Lost => "told that it no longer leads",
        Deposed::Fenced => "the store refused its token",
        Deposed::Resigned => "it gave up leadership",
        Deposed::Stuck => "the store had not answered it for too long",
    };
    format!("{who} steps down: {why}")
}

/// Why a grant ended.
pub(crate) const fn grant_ended(reason: GrantEnd) -> &'static str {
    match reason {
        GrantEnd::Expired => "it expired",
        GrantEnd::Released => "its holder released it",
        GrantEnd::Taken => "it was taken away",
        GrantEnd::Lost => "the service lost it",
    }
}

/// What happens to a process.
pub(crate) fn node(who: &str, state: NodeState, believes: bool) -> String {
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

pub(crate) fn leads_members(who: &str) -> String {
    format!("{who} leads the members of the service")
}

/// The first accepted write of a leadership; `on` is the resource if it must be named.
pub(crate) fn takes_effect(who: &str, on: Option<&str>, seq: u64) -> String {
    let on = on.map_or_else(String::new, |on| format!(" on {on}"));
    match seq {
        UNKNOWN_SEQ => format!("{who} takes effect{on}"),
        seq => format!("{who} takes effect{on}, from seq {}", grouped(seq)),
    }
}

/// The name of a write's number.
pub(crate) fn numbers(write: &Write) -> &'static str {
    match write.operation {
        Operation::Delete => "clean-up seq",
        Operation::Enact => "enactment seq",
        _ => "seq",
    }
}

/// Writes to a resource, the first with this number.
pub(crate) fn writes(writes: u64, numbers: &str, seq: u64, who: &str, on: &str) -> String {
    match (writes, seq) {
        (1, UNKNOWN_SEQ) => format!("a write of {who} on {on}"),
        (1, seq) => format!("{numbers} {} of {who} on {on}", grouped(seq)),
        (n, UNKNOWN_SEQ) => format!("{} of {who} on {on}", count(n, "write")),
        (n, seq) => format!("{} of {who} on {on}, from seq {}", count(n, "write"), grouped(seq)),
    }
}

/// Stale writes that were accepted.
pub(crate) fn stale(writes: &str) -> String {
    format!("ACCEPTED although stale: {writes}")
}

/// Refused writes; `highest` is the highest token that the store has seen, if any.
pub(crate) fn refused(writes: &str, highest: Option<&str>) -> String {
    match highest {
        None => format!("refused: {writes}"),
        Some(highest) => format!("refused: {writes}; the store is at token {highest}"),
    }
}

/// How long no request would have been served in time, as the figure *dark time* counts it.
pub(crate) fn dark(length: &str) -> String {
    format!("dark for {length}")
}
