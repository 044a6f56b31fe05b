//! What happened in a run and why, in two or three sentences: they head the page, the text report, and a sweep's failures.
//! `[[t]]` is a time, microseconds, which the page makes a link.

mod past;

use crate::{
    clock::Clock,
    course::model::{Model, Moment, Shade},
    invariant::{ALL, Class, Entry, elections, tokens_monotone},
    judge::CUT_SHORT,
    words::{count, duration, grouped},
};
use past::{listed, past_of};
use protocols::{fence::checks::Fencing, history::Header};

/// Why a run came out as it did, for people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cause {
    sentences: Vec<String>,
    broken: Vec<String>,
    clock: Clock,
}

impl Cause {
    /// That of a run, as it was judged.
    pub(crate) fn of(model: &Model) -> Self {
        let broken = model.broken.iter().map(|(name, _)| name.clone());
        Cause { sentences: model.cause.clone(), broken: broken.collect(), clock: model.clock }
    }

    /// How its moments are said.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What happened, and who led: plain sentences. Empty where nobody listened to the run.
    pub fn text(&self) -> String {
        self.sentences.iter().map(|sentence| told(sentence, self.clock)).collect::<Vec<_>>().join(" ")
    }

    /// The rule that was broken first of all, as a sentence, with the invariant's name, and the names of the others; nothing
    /// where all held.
    pub fn rule(&self) -> Option<String> {
        let broken: Vec<&&Entry> =
            ALL.iter().filter(|entry| self.broken.iter().any(|name| name == entry.name)).collect();
        // A write from the past says more than all that follows from it.
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
            false => format!(" It also breaks {}.", listed(&others.join(", "))),
        };
        if first.class == Class::Vacuity {
            return None;
        }
        Some(format!("it breaks the rule {}: {about}.{more}", first.name))
    }
}

/// A sentence with its times as people read them.
fn told(sentence: &str, clock: Clock) -> String {
    let mut parts = sentence.split("[[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("]]") {
            Some((t, rest)) => text += &(t.parse().map_or_else(|_| t.to_owned(), |t_us| clock.moment(t_us)) + rest),
            None => text += part,
        }
    }
    text
}

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
pub(crate) fn sentences(model: &Model, header: Option<&Header>) -> Vec<String> {
    // A write that was refused is not what is wrong, if something is.
    match culprit(model).filter(|culprit| culprit.accepted || model.broken.is_empty()) {
        Some(culprit) => {
            let mut sentences = vec![what(model, &culprit), why(model, &culprit, header)];
            // Where every node has a copy, what is written from the past is not what hurts, but what is lost.
            let lost = model.broken.iter().find(|(name, _)| name == "copies_agree");
            sentences.extend(lost.map(|(name, detail)| sentence(name, detail, model.clock)));
            sentences
        }
        None => without_culprit(model),
    }
}

fn name(model: &Model, i: usize) -> &str {
    &model.nodes[usize::from(model.incarnations[i].node)]
}

/// `with token 3`, with a space before; nothing without a token.
fn with(model: &Model, i: usize) -> String {
    match &*model.incarnations[i].token {
        "" => String::new(),
        token => format!(" with token {token}"),
    }
}

fn what(model: &Model, c: &Culprit) -> String {
    let (one, under) = (
        name(model, c.i),
        match &*model.incarnations[c.i].token {
            "" => " without a token".to_owned(),
            token => format!(" under token {token}"),
        },
    );
    let lead = c.over.map(|i| {
        let (other, with) = (name(model, i), with(model, i));
        let comma = if with.is_empty() { "" } else { "," };
        match c.from.saturating_sub(c.since) {
            // Both would be said to be of one millisecond.
            0 => format!("; {other} had taken over in the same microsecond{comma}{with}"),
            near @ 1..1_000 => format!("; {other} had taken over {} before{comma}{with}", duration(near as f64)),
            _ => format!("; {other} had taken over{with} at [[{}]]", c.since),
        }
    });
    let lead = lead.unwrap_or_default();
    let node = model.incarnations[c.i].node;
    let began = model.effects.iter().find(|e| e.i == c.i).map_or(0, |e| e.from);
    let fault = Shade::at(&model.shades, node, c.from).filter(|s| s.to >= began.min(c.from));
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
            format!("From [[{from}]] on {}{}; {then}.", past_of(text, &model.nodes), elected.unwrap_or_default())
        }
        _ => {
            let before = struck_before(model, c.from).map_or_else(String::new, |sentence| sentence + " ");
            format!("{before}{one} wrote at [[{}]]{under}{lead}.", c.from)
        }
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
        _ if model.incarnations[c.i].token.is_empty() => ": without a token there is nothing by which it could refuse",
        Some(Fencing::Off) => ", because fencing was off",
        Some(Fencing::Order | Fencing::Memory) => ", because it did not compare tokens",
        // It is said to compare them.
        Some(Fencing::On | Fencing::Token) if forgot(model, c.from) => {
            ", because it had lost the tokens that it had seen"
        }
        Some(Fencing::On | Fencing::Token) if c.r == 0 => ", because it did not refuse the lower token",
        Some(Fencing::On | Fencing::Token) => ", because tokens are not compared there",
        None => "",
    };
    format!("The store accepted {it}{on}{reason}.")
}

/// Had a store come back without its data until then?
fn forgot(model: &Model, until: u64) -> bool {
    model.moments.iter().any(|m| m.k == "fault" && m.t <= until && m.text.contains(LOST))
}

fn without_culprit(model: &Model) -> Vec<String> {
    let lost = model.broken.iter().find(|(name, _)| name == "copies_agree");
    if let Some((name, detail)) = lost.or(model.broken.first()) {
        let mut sentences: Vec<String> = before(model, name, detail).into_iter().collect();
        sentences.push(match model.foreign && name == "vacuity" {
            true => instants(&format!("This log does not show whether leadership was safe: {detail}."), model.clock),
            false => sentence(name, detail, model.clock),
        });
        sentences.push(led(model));
        return sentences;
    }
    let refused =
        if model.effects.is_empty() { "Nothing was written." } else { "No write from the past reached the store." };
    vec![refused.to_owned(), led(model)]
}

/// What an invariant saw, as a sentence whose instants are marked.
fn sentence(name: &str, detail: &str, clock: Clock) -> String {
    let mut letters = detail.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let text = instants(&format!("{first}{}", letters.as_str()), clock);
    // Only the situation under test can be missing and nothing be wrong.
    let vacuous = ALL.iter().any(|entry| entry.name == name && entry.class == Class::Vacuity);
    match vacuous && !detail.starts_with(CUT_SHORT) {
        true => format!("The situation under test never arose: {detail}."),
        false => format!("{}.", text.trim_end_matches('.')),
    }
}

/// The same sentence with its instants marked: those follow `at`, `from`, `since` or `until`.
fn instants(text: &str, clock: Clock) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let (mut marked, mut place) = (Vec::with_capacity(words.len()), 0);
    while place < words.len() {
        let follows = place > 0 && ["at", "At", "from", "From", "since", "until", "to"].contains(&words[place - 1]);
        match clock.read(&words[place..]).filter(|_| follows) {
            Some((t, taken, tail)) => {
                marked.push(format!("[[{t}]]{tail}"));
                place += taken;
            }
            None => {
                marked.push(words[place].to_owned());
                place += 1;
            }
        }
    }
    marked.join(" ")
}

/// What struck somebody last before the first instant that a sentence names.
fn before(model: &Model, name: &str, detail: &str) -> Option<String> {
    let marked = instants(detail, model.clock);
    let at = marked.split_once("[[").and_then(|(_, rest)| rest.split_once("]]")).and_then(|(t, _)| t.parse().ok());
    // It names milliseconds, and what struck may be of the same one.
    let until = at.map_or(model.end, |t: u64| t + 1_000);
    // A token that comes again was forgotten: what struck since has no part in it.
    let forgot = |m: &&Moment| m.k == "fault" && m.t <= until && m.text.contains(LOST);
    let forgotten = [elections::ENTRY.name, tokens_monotone::ENTRY.name].contains(&name);
    let lost = model.moments.iter().rfind(forgot).filter(|_| forgotten).map(|once| instant(once, &model.nodes));
    lost.or_else(|| struck_before(model, until))
}

/// How a fault says that a server comes back empty.
const LOST: &str = "its data lost";

/// What happened at an instant, as a sentence.
fn instant(once: &Moment, names: &[String]) -> String {
    format!("At [[{}]] {}.", once.t, past_of(&once.text, names))
}

/// What struck somebody last until then, as a sentence.
fn struck_before(model: &Model, until: u64) -> Option<String> {
    let told = |s: &&Shade| s.kind != "unborn" && s.from <= until && (s.kind != "cut" || s.fault.is_some());
    let struck = model.shades.iter().filter(told).max_by_key(|s| s.from);
    // What happens once has a moment and no length.
    let once = model.moments.iter().rfind(|m| m.k == "fault" && m.t <= until);
    let more = |once: &Moment, s: &Shade| s.from < once.t || s.from == once.t && once.text.contains(LOST);
    if let Some(once) = once.filter(|once| struck.is_none_or(|struck| more(once, struck))) {
        return Some(instant(once, &model.nodes));
    }
    let Shade { kind, from, to, .. } = *struck?;
    let alike: Vec<&Shade> = model.shades.iter().filter(told).filter(|s| (s.kind, s.from) == (kind, from)).collect();
    let mut nodes: Vec<u16> = alike.iter().filter(|s| s.to == to).flat_map(|s| s.nodes.iter().copied()).collect();
    nodes.dedup();
    let who: Vec<&str> = nodes.iter().filter_map(|n| model.nodes.get(usize::from(*n))).map(String::as_str).collect();
    let (who, were) = (listed(&who.join(", ")), if who.len() == 1 { "was" } else { "were" });
    Some(match kind {
        "pause" => format!("{who} {were} paused at [[{from}]] for {}.", duration((to - from) as f64)),
        "down" => format!("{who} {were} down from [[{from}]] to [[{to}]]."),
        "cut" => {
            let texts: Vec<String> = alike.iter().map(|s| past_of(&s.text, &model.nodes)).collect();
            format!("From [[{from}]] on {}.", texts.join(", and "))
        }
        _ => format!("From [[{from}]] on {}.", past_of(&struck?.text, &model.nodes)),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_links_and_lengths_are_not() {
        assert_eq!(
            instants(
                "At 8.503 s sequence accepted it, from 8.217 s for 286.2 ms; at 12.000 s, for 2.125 s",
                Clock::default()
            ),
            "At [[8503000]] sequence accepted it, from [[8217000]] for 286.2 ms; at [[12000000]], for 2.125 s"
        );
        assert_eq!(instants("seq 3 at 1.5 s, to 2.250 seconds", Clock::default()), "seq 3 at 1.5 s, to 2.250 seconds");
        assert_eq!(
            told("n3 wrote at [[10241690]], [[odd]] and [[1", Clock::default()),
            "n3 wrote at 10.242 s, odd and 1"
        );
    }
}
