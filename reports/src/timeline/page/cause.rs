//! What happened and why, in two sentences. `[[t]]` is a time, microseconds, which the page makes a link.

use super::{
    model::{Model, Shade},
    struck::Struck,
};
use crate::words::{count, duration, grouped};
use protocols::{fence::checks::Fencing, history::Header};

/// A write from the past that the sentences are about.
struct Culprit {
    i: usize,
    r: usize,
    from: u64,
    to: u64,
    over: Option<usize>,
    since: u64,
    accepted: bool,
}

/// The first on what clients' numbers come from, or else the first of all; what was accepted before what was refused.
fn culprit(model: &Model) -> Option<Culprit> {
    let stale = model.stale.iter().find(|s| s.r == 0).or(model.stale.first());
    let stale =
        stale.map(|s| Culprit { i: s.i, r: s.r, from: s.from, to: s.to, over: s.over, since: s.since, accepted: true });
    let refused = || {
        let refused = model.refused.iter().find(|s| s.r == 0).or(model.refused.first())?;
        let (over, since) = (refused.over, refused.since);
        Some(Culprit { i: refused.i, r: refused.r, from: refused.from, to: refused.to, over, since, accepted: false })
    };
    stale.or_else(refused)
}

/// The cause, in plain sentences.
pub(super) fn cause(model: &Model, header: Option<&Header>) -> Vec<String> {
    match culprit(model) {
        Some(culprit) => vec![what(model, &culprit), why(model, &culprit, header)],
        None => without_culprit(model),
    }
}

fn name(model: &Model, i: usize) -> &str {
    &model.nodes[usize::from(model.incarnations[i].node)]
}

/// `with token 3`, with a space before; nothing without a token.
fn with(model: &Model, i: usize) -> String {
    match &*model.incarnations[i].token {
        "0" => String::new(),
        token => format!(" with token {token}"),
    }
}

/// A fault's words as the beginning of a sentence in the past: `n3 was paused`.
fn past(text: &str) -> String {
    let text = text.split(" for ").next().unwrap_or(text).split(", back after").next().unwrap_or(text);
    for (now, past) in [
        (" cut off", " were cut off"),
        (" cannot ", " could not "),
        (" killed", " was killed"),
        (" loses ", " lost "),
        (" takes ", " took "),
        (" paused", " was paused"),
    ] {
        if text.contains(now) {
            return text.replacen(now, past, 1);
        }
    }
    text.to_owned()
}

fn what(model: &Model, c: &Culprit) -> String {
    let (one, under) = (
        name(model, c.i),
        match &*model.incarnations[c.i].token {
            "0" => " without a token".to_owned(),
            token => format!(" under token {token}"),
        },
    );
    let lead = c.over.map(|i| format!("{} had taken over{} at [[{}]]", name(model, i), with(model, i), c.since));
    let lead = lead.map_or_else(String::new, |lead| format!("; {lead}"));
    let node = model.incarnations[c.i].node;
    let began = model.effects.iter().find(|e| e.i == c.i).map_or(0, |e| e.from);
    let fault = Struck::at(&model.shades, node, c.from).filter(|s| s.to >= began.min(c.from));
    match fault {
        Some(Shade { kind: "pause", from, to, checked, .. }) => {
            let long = duration((to - from) as f64);
            let head = match checked {
                true => format!("{one} checked its lease at [[{from}]], was paused for {long},"),
                false => format!("{one} was paused at [[{from}]] for {long}"),
            };
            format!("{head} and wrote at [[{}]]{under}{lead}.", c.from)
        }
        Some(Shade { kind: "cut" | "other", from, text, .. }) => {
            let elected = c
                .over
                .and_then(|o| model.beliefs.iter().find(|b| b.i == o))
                .map(|b| format!("; {} was elected{} at [[{}]]", name(model, b.i), with(model, b.i), b.from));
            let although = format!("although {} had taken over", c.over.map_or("another", |i| name(model, i)));
            let then = match c.to > c.from {
                true => format!("from [[{}]] on {one} wrote{under}, {although}", c.from),
                false => format!("{one} wrote{under} at [[{}]], {although}", c.from),
            };
            format!("From [[{from}]] on {}{}; {then}.", past(text), elected.unwrap_or_default())
        }
        _ => format!("{one} wrote at [[{}]]{under}{lead}.", c.from),
    }
}

fn why(model: &Model, c: &Culprit, header: Option<&Header>) -> String {
    let on = if c.r == 0 {
        String::new()
    } else {
        model.resources.get(c.r).map_or_else(String::new, |r| format!(" on {r}"))
    };
    if !c.accepted {
        return format!("The store refused it{on}: it had seen a higher token.");
    }
    let all: u64 = model.stale.iter().map(|s| s.n).sum();
    let it = if all == 1 { "it".to_owned() } else { format!("{} such writes", grouped(all)) };
    let reason = match header.map(|h| h.fencing) {
        _ if model.incarnations[c.i].token == "0" => ": without a token there is nothing by which it could refuse",
        Some(Fencing::Off) => ", because fencing was off",
        Some(Fencing::Order | Fencing::Memory) => ", because it did not compare tokens",
        _ => "",
    };
    format!("The store accepted {it}{on}{reason}.")
}

fn without_culprit(model: &Model) -> Vec<String> {
    if let Some((invariant, detail)) = model.broken.first() {
        return vec![format!("{invariant} was violated: {detail}."), led(model)];
    }
    let refused =
        if model.effects.is_empty() { "Nothing was written." } else { "No write from the past reached the store." };
    vec![refused.to_owned(), led(model)]
}

/// Who led, one after the other.
fn led(model: &Model) -> String {
    const MOST: usize = 5;
    let mut turns: Vec<String> =
        model.beliefs.iter().map(|b| format!("{} from [[{}]]", name(model, b.i), b.from)).collect();
    if turns.is_empty() {
        turns = model
            .effects
            .iter()
            .filter(|e| e.r == 0)
            .map(|e| format!("{} from [[{}]]", name(model, e.i), e.from))
            .collect();
    }
    let more = turns.len().saturating_sub(MOST);
    turns.truncate(MOST);
    match (turns.is_empty(), more) {
        (true, _) => "Nobody led.".to_owned(),
        (false, 0) => format!("Led: {}.", turns.join(", then ")),
        (false, more) => {
            format!("Led: {}, and {} after that.", turns.join(", then "), count(more as u64, "leadership"))
        }
    }
}
