//! Whether a protocol notices a leader that does nothing, in prose and as JSON.

use protocols::{
    election::{Notice, Protocol},
    types::MILLISECOND,
};
use scenarios::units::duration_text;
use serde_json::{Value, json};

/// The number of candidates that the times are computed for.
const CANDIDATES: u16 = 3;

/// Milliseconds at the protocol's default timers; `None` for never.
fn within_ms(protocol: &Protocol, notice: Notice) -> Option<u64> {
    let within = protocol.notices_within(notice, &protocol.default_timings(), CANDIDATES);
    within.map(|within| within.div_ceil(MILLISECOND))
}

/// `never`, `at once`, or `within 3s`.
fn words(protocol: &Protocol, notice: Notice) -> String {
    match within_ms(protocol, notice) {
        None => "never".to_owned(),
        Some(0) => "at once".to_owned(),
        Some(ms) => format!("within {}", duration_text(ms)),
    }
}

/// For a list: when the protocol notices a leader that cannot work.
pub fn short(protocol: &Protocol) -> String {
    format!("notices a stuck leader: {}", words(protocol, protocol.notices.cannot_work))
}

/// Milliseconds at the protocol's default timers, or null for never.
pub fn as_json(protocol: &Protocol) -> Value {
    let ms = |notice| within_ms(protocol, notice);
    let notices = protocol.notices;
    json!({ "cannot_work_ms": ms(notices.cannot_work), "half_heard_ms": ms(notices.half_heard) })
}

/// Two sentences about one protocol.
pub fn sentences(protocol: &Protocol) -> String {
    let notices = protocol.notices;
    let stuck = match notices.cannot_work {
        Notice::Never => {
            "It never replaces a leader that renews in time but cannot reach its store or its clients.".to_owned()
        }
        notice => {
            let when = words(protocol, notice);
            format!("When a leader cannot reach its store or its clients, another one serves {when}.")
        }
    };
    let half_heard = match notices.half_heard {
        Notice::Never => "It may wait for ever for a candidate that others hear but that hears nobody.".to_owned(),
        notice => {
            let when = words(protocol, notice);
            format!("It replaces a leader that others hear but that hears nobody {when}.")
        }
    };
    format!("{stuck} {half_heard}")
}

/// The same for several protocols, one sentence each.
pub fn table(protocols: &[&Protocol]) -> Vec<String> {
    let row = |what: &str, of: fn(&Protocol) -> Notice| {
        let answers =
            [(Notice::Never, "never"), (Notice::AsDead, "like one that has died"), (Notice::AtOnce, "at once")];
        let with = |notice| protocols.iter().filter(|p| of(p) == notice).map(|p| p.name).collect::<Vec<_>>();
        let mut answers: Vec<_> = answers.into_iter().map(|(notice, words)| (words, with(notice))).collect();
        answers.retain(|(_, names)| !names.is_empty());
        // Names are listed for the rarest answers; the most common one is "all others".
        answers.sort_by_key(|(_, names)| names.len());
        let last = answers.pop().map(|(words, _)| words).unwrap_or_default();
        let said: String = answers.iter().map(|(words, names)| format!("{} {words}; ", names.join(", "))).collect();
        let all = if said.is_empty() { "each protocol" } else { "all others" };
        format!("{what}: {said}{all} {last}.")
    };
    vec![
        row("Replaces a leader that cannot work", |p| p.notices.cannot_work),
        row("Replaces a leader that others hear but that hears nobody", |p| p.notices.half_heard),
    ]
}
