//! What happened in a run and why, in two or three sentences: they head the page, the text report, and a sweep's
//! failures.

use crate::{
    clock::Clock,
    course::{
        model::{Model, Shade, Shading},
        moment::{Moment, Turn, What},
    },
    invariant::{ALL, Class, Entry, elections, tokens_monotone},
    phrases::{became, listed, past, say},
    said::{At, Said, Sentence, sentence},
    words::{count, duration, grouped},
};
use protocols::{
    election,
    fence::checks::Fencing,
    history::{FaultKind, Header},
};

/// Why a run ended as it did, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cause {
    sentences: Vec<Sentence>,
    broken: Vec<String>,
    clock: Clock,
}

impl Cause {
    /// The cause of a judged run.
    pub(crate) fn of(model: &Model) -> Self {
        let broken = model.broken.iter().map(|(name, _)| name.clone());
        Cause { sentences: model.cause.clone(), broken: broken.collect(), clock: model.clock }
    }

    /// How its times are formatted.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What happened and who led, as plain sentences. Empty if nobody listened to the run.
    pub fn text(&self) -> String {
        self.sentences.iter().map(|sentence| sentence.told(self.clock)).collect::<Vec<_>>().join(" ")
    }

    /// The first rule that was broken, as a sentence with the invariant's name and the names of the others; `None` if
    /// all held.
    pub fn rule(&self) -> Option<String> {
        let broken: Vec<&&Entry> =
            ALL.iter().filter(|entry| self.broken.iter().any(|name| name == entry.name)).collect();
        // A stale write explains more than its consequences.
        let named = |name: &str| broken.iter().find(|entry| entry.name == name);
        let first = named("no_stale_write").or(named("copies_agree")).or(broken.first())?;
        let about = first.about.trim_end_matches('.');
        let others: Vec<&str> = broken
            .iter()
            .filter(|entry| entry.class != Class::Vacuity && entry.name != first.name)
            .map(|entry| entry.name)
            .collect();
        let more = match others.is_empty() {
            true => String::new(),
            false => format!(" It also breaks {}.", listed(&others)),
        };
        if first.class == Class::Vacuity {
            return None;
        }
        Some(format!("it breaks the rule {}: {about}.{more}", first.name))
    }
}

/// The stale write that the sentences are about.
struct Culprit {
    i: usize,
    r: usize,
    from: u64,
    to: u64,
    over: Option<usize>,
    since: u64,
    accepted: bool,
}

/// The first stale write to the resource of clients' numbers, or else the first of all; accepted ones before refused
/// ones.
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

/// The cause, as plain sentences.
pub(crate) fn sentences(model: &Model, header: Option<&Header>) -> Vec<Sentence> {
    // A refused write is not what is wrong, if something else is.
    match culprit(model).filter(|culprit| culprit.accepted || model.broken.is_empty()) {
        Some(culprit) => {
            let mut sentences = vec![what(model, &culprit, header), why(model, &culprit, header).into()];
            // If every node has a copy, the stale write does no harm, but the lost write does.
            let lost = model.broken.iter().find(|(name, _)| name == "copies_agree");
            sentences.extend(lost.map(|(name, detail)| finding(name, detail, model)));
            sentences
        }
        None => without_culprit(model),
    }
}

fn name(model: &Model, i: usize) -> &str {
    model.node(model.incarnations[i].node)
}

/// ` with token 3`; empty without a token.
fn with(model: &Model, i: usize) -> String {
    match &*model.incarnations[i].token {
        "" => String::new(),
        token => format!(" with token {token}"),
    }
}

fn what(model: &Model, c: &Culprit, header: Option<&Header>) -> Sentence {
    let (one, under) = (
        name(model, c.i),
        match &*model.incarnations[c.i].token {
            "" if is_drill(header) => String::new(),
            "" => " without a token".to_owned(),
            token => format!(" under token {token}"),
        },
    );
    let lead = c.over.map(|i| {
        let (other, with) = (name(model, i), with(model, i));
        let comma = if with.is_empty() { "" } else { "," };
        // A forged token has taken over nothing. Where nobody says who leads, none is known to be forged.
        let is_known = model.beliefs.is_empty() || model.beliefs.iter().any(|belief| belief.i == i);
        if !model.foreign && !with.is_empty() && !is_known {
            let token = &model.incarnations[i].token;
            let forged =
                format!("; the store had accepted token {token} of {other}, which was not elected with it, at ");
            return sentence![forged, At(c.since)];
        }
        match c.from.saturating_sub(c.since) {
            // Both times would be printed as the same millisecond.
            0 => format!("; {other} had taken over in the same microsecond{comma}{with}").into(),
            near @ 1..1_000 => format!("; {other} had taken over {} before{comma}{with}", duration(near as f64)).into(),
            _ => sentence![format!("; {other} had taken over{with} at "), At(c.since)],
        }
    });
    let lead = lead.unwrap_or_default();
    let node = model.incarnations[c.i].node;
    let began = model.effects.iter().find(|e| e.i == c.i).map_or(0, |e| e.from);
    let fault = Shade::at(&model.shades, node, c.from).filter(|s| s.to >= began.min(c.from));
    match fault {
        Some(Shade { kind: Shading::Pause, from, to, checked, .. }) => {
            let long = duration((to - from) as f64);
            let (did, long) = match checked {
                true => ("checked its lease at ", format!(", was paused for {long},")),
                false => ("was paused at ", format!(" for {long}")),
            };
            let wrote = format!("{long} and wrote at ");
            sentence![format!("{one} {did}"), At(*from), wrote, At(c.from), under, lead, "."]
        }
        Some(Shade { kind: Shading::Cut | Shading::Other, from, what: Some(what), .. }) => {
            let elected = c
                .over
                .and_then(|o| model.beliefs.iter().find(|b| b.i == o))
                .map(|b| sentence![format!("; {} was elected{} at ", name(model, b.i), with(model, b.i)), At(b.from)]);
            let although = format!("although {} had taken over", c.over.map_or("another", |i| name(model, i)));
            let then = match c.to > c.from {
                true => sentence!["from ", At(c.from), format!(" on {one} wrote{under}, {although}")],
                false => sentence![format!("{one} wrote{under} at "), At(c.from), format!(", {although}")],
            };
            let struck = format!(" on {}", past(what, *from, model));
            sentence!["From ", At(*from), struck, elected.unwrap_or_default(), "; ", then, "."]
        }
        _ => {
            let before = struck_before(model, c.from).or_else(|| clock_ahead(model, c, header));
            let before = before.map_or_else(Sentence::default, |sentence| sentence.and(" "));
            sentence![before, format!("{one} wrote at "), At(c.from), under, lead, "."]
        }
    }
}

/// A sentence that the new leader's clock was ahead by at least a lease, if it was, and if that can matter: programs may
/// compare wall clocks, and of our protocols some do.
fn clock_ahead(model: &Model, c: &Culprit, header: Option<&Header>) -> Option<Sentence> {
    if !election::find(&header?.protocol).is_none_or(election::compares_wall_clocks) {
        return None;
    }
    let of = |i: usize| {
        let node = model.incarnations[i].node;
        let clock = model.clocks.iter().rfind(|clock| clock.node == node && clock.t <= c.from)?;
        let (rate_ppm, for_us) = (i128::from(clock.ppm), i128::from(c.from - clock.t));
        Some(i128::from(clock.offset_us) + rate_ppm * for_us / 1_000_000)
    };
    let (over, ttl_us) = (c.over?, i128::from(header?.lease_ttl_ms) * 1_000);
    let ahead = of(over)? - of(c.i)?;
    (ttl_us > 0 && ahead >= ttl_us).then(|| {
        format!("{}'s clock was {} ahead of {}'s.", name(model, over), duration(ahead as f64), name(model, c.i)).into()
    })
}

/// A history of somebody else's processes has a header, and no plan of ours.
fn is_drill(header: Option<&Header>) -> bool {
    header.is_some_and(|header| header.plan_digest.is_empty())
}

fn why(model: &Model, c: &Culprit, header: Option<&Header>) -> String {
    let on = if c.r == 0 {
        String::new()
    } else {
        model.resources.get(c.r).map_or_else(String::new, |r| format!(" on {r}"))
    };
    if !c.accepted {
        let reason = if is_drill(header) { "" } else { ": it had seen a higher token" };
        return format!("The store refused it{on}{reason}.");
    }
    let all: u64 = model.stale.iter().map(|s| s.n).sum();
    let it = if all == 1 { "it".to_owned() } else { format!("{} such writes", grouped(all)) };
    let reason = match header.map(|h| h.fencing) {
        // What somebody else's store compares, nobody says.
        _ if is_drill(header) => "",
        _ if model.incarnations[c.i].token.is_empty() => ": without a token, it had nothing to check",
        Some(Fencing::Off) => ", because fencing was off",
        Some(Fencing::Order | Fencing::Memory) => ", because it did not compare tokens",
        // This store claims to compare them.
        Some(Fencing::On | Fencing::Token) if forgot(model, c.from) => {
            ", because it had lost the tokens that it had seen"
        }
        Some(Fencing::On | Fencing::Token) if c.r == 0 => ", because it did not refuse the lower token",
        Some(Fencing::On | Fencing::Token) => ", because tokens are not compared there",
        None => "",
    };
    format!("The store accepted {it}{on}{reason}.")
}

/// Had a store restarted without its data by then?
fn forgot(model: &Model, until: u64) -> bool {
    model.moments.iter().any(|m| m.t <= until && loses_all(m))
}

fn without_culprit(model: &Model) -> Vec<Sentence> {
    let lost = model.broken.iter().find(|(name, _)| name == "copies_agree");
    if let Some((name, detail)) = lost.or(model.broken.first()) {
        let mut sentences: Vec<Sentence> = before(model, name, detail).into_iter().collect();
        sentences.push(match model.foreign && name == "vacuity" {
            true => {
                sentence!["this log does not show whether leadership was safe: ", detail.sentence().clone()].whole()
            }
            false => finding(name, detail, model),
        });
        sentences.push(led(model));
        return sentences;
    }
    let refused = if model.effects.is_empty() { "Nothing was written." } else { "No stale write reached the store." };
    vec![refused.into(), led(model)]
}

/// An invariant's finding, as a whole sentence.
fn finding(name: &str, detail: &Said, model: &Model) -> Sentence {
    // A missing test situation alone is no fault.
    let vacuous = ALL.iter().any(|entry| entry.name == name && entry.class == Class::Vacuity);
    match vacuous && !model.cut_short {
        true => sentence!["the situation under test never arose: ", detail.sentence().clone()].whole(),
        false => detail.sentence().clone().whole(),
    }
}

/// The last fault before the first time that a finding names.
fn before(model: &Model, name: &str, detail: &Said) -> Option<Sentence> {
    // The fault may be printed with the same millisecond.
    let until = detail.sentence().first_us().map_or(model.end, |t| t / 1_000 * 1_000 + 1_000);
    // If a token came again, the loss of data explains it; later faults have no part in it.
    let forgot = |m: &&Moment| m.t <= until && loses_all(m);
    let forgotten = [elections::ENTRY.name, tokens_monotone::ENTRY.name].contains(&name);
    let lost = model.moments.iter().rfind(forgot).filter(|_| forgotten).map(|once| instant(once, model));
    lost.or_else(|| struck_before(model, until))
}

/// Does a server restart empty?
fn loses_all(moment: &Moment) -> bool {
    moment.what.fault().is_some_and(|fault| fault.kind == FaultKind::LoseData)
}

/// What happened at a moment, as a sentence.
fn instant(once: &Moment, model: &Model) -> Sentence {
    let what = match (&once.what, once.node()) {
        (What::Fault(fault), _) => past(fault, once.t, model),
        (What::State { state, .. }, Some(node)) => became(model.node(node), *state),
        _ => say(once, model),
    };
    sentence!["At ", At(once.t), format!(" {what}.")]
}

/// The last fault until then, as a sentence.
fn struck_before(model: &Model, until: u64) -> Option<Sentence> {
    let told =
        |s: &&Shade| s.kind != Shading::Unborn && s.from <= until && (s.kind != Shading::Cut || s.fault.is_some());
    let struck = model.shades.iter().filter(told).max_by_key(|s| s.from);
    // An instantaneous fault has a moment but no duration.
    let once = model.moments.iter().rfind(|m| m.what.turn() == Turn::Fault && m.t <= until);
    let more = |once: &Moment, s: &Shade| s.from < once.t || s.from == once.t && loses_all(once);
    if let Some(once) = once.filter(|once| struck.is_none_or(|struck| more(once, struck))) {
        return Some(instant(once, model));
    }
    let Shade { kind, from, to, ref what, .. } = *struck?;
    let alike: Vec<&Shade> = model.shades.iter().filter(told).filter(|s| (s.kind, s.from) == (kind, from)).collect();
    let mut nodes: Vec<u16> = alike.iter().filter(|s| s.to == to).flat_map(|s| s.nodes.iter().copied()).collect();
    nodes.dedup();
    let who: Vec<&str> = nodes.iter().map(|n| model.node(*n)).collect();
    let (who, were) = (listed(&who), if who.len() == 1 { "was" } else { "were" });
    Some(match kind {
        Shading::Pause => {
            let long = format!(" for {}.", duration((to - from) as f64));
            sentence![format!("{who} {were} paused at "), At(from), long]
        }
        Shading::Down => sentence![format!("{who} {were} down from "), At(from), " to ", At(to), "."],
        Shading::Cut => {
            let cuts = alike.iter().filter_map(|s| s.what.as_ref());
            let texts: Vec<String> = cuts.map(|what| past(what, from, model)).collect();
            sentence!["From ", At(from), format!(" on {}.", texts.join(", and "))]
        }
        _ => sentence!["From ", At(from), format!(" on {}.", past(what.as_deref()?, from, model))],
    })
}

/// Who led, in order.
fn led(model: &Model) -> Sentence {
    const MOST: usize = 5;
    let mut turns: Vec<_> = model.beliefs.iter().map(|b| (name(model, b.i), b.from)).collect();
    if turns.is_empty() {
        turns = model.effects.iter().filter(|e| e.r == 0).map(|e| (name(model, e.i), e.from)).collect();
    }
    // A log may report only grants.
    let told = if turns.is_empty() && model.foreign { "Granted to" } else { "Led" };
    if told != "Led" {
        turns = model.grants.iter().map(|grant| (model.node(grant.node), grant.from)).collect();
    }
    if turns.is_empty() {
        return "Nobody led.".into();
    }
    let more = match turns.len().saturating_sub(MOST) as u64 {
        0 => ".".to_owned(),
        more => format!(", and {} after that.", count(more, "leadership")),
    };
    let turn = |sentence: Sentence, (place, (who, from)): (usize, &(&str, u64))| {
        let comma = if place > 0 { ", then" } else { ":" };
        sentence![sentence, format!("{comma} {who} from "), At(*from)]
    };
    turns.iter().take(MOST).enumerate().fold(told.into(), turn).and(more)
}
