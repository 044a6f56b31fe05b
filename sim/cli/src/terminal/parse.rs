//! What words on the command line mean: durations, ranges, lists of names.

use super::{names::known, suggest::unknown};
use protocols::{
    bug::Bug,
    by_design,
    copies::Copies,
    election::Protocol,
    fence::{charge_check::ChargeCheck, checks::Fencing},
    group::GROUPS_MAX,
    sharding::Placement,
    work::Kind,
};
use scenarios::{
    Scenario,
    params::{PROFILES, Profile},
    plan::CANDIDATES_MAX,
    preset::{PRESETS, Preset},
    units::{bandwidth_mbps, unit},
};
use std::{collections::BTreeSet, ops::Range};

pub use scenarios::units::{duration_ms, duration_us, percent_ppm, span_ms};

/// Milliseconds `A..B`, such as `150..300ms` or `1s..2s`; a single duration D is D to 2 D.
///
/// # Errors
/// One sentence.
pub fn duration_range_ms(text: &str) -> Result<(u64, u64), String> {
    let Some((from, to)) = text.split_once("..") else {
        let ms = duration_ms(text)?;
        return Ok((ms, ms.saturating_mul(2)));
    };
    let (from_ms, to_ms) = ends(from, to, duration_ms)?;
    if from_ms > to_ms {
        return Err(format!("`{text}` is not a range: its lower end must not be above its upper end"));
    }
    Ok((from_ms, to_ms))
}

/// Microseconds `A..B` of one way, such as `20ms..40ms` or `0.2..0.5ms`; a single duration is always the same.
///
/// # Errors
/// One sentence.
pub fn latency_us(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from_us, to_us) = ends(from, to, duration_us)?;
    if from_us > to_us {
        return Err(format!("`{text}` is not a range: its lower end must not be above its upper end"));
    }
    if to_us > 60_000_000 {
        return Err(format!("`{text}` is longer than a minute, and nothing waits that long"));
    }
    Ok((from_us, to_us))
}

/// Both ends of a range; the lower one may leave its unit to the upper one.
fn ends(from: &str, to: &str, parse: fn(&str) -> Result<u64, String>) -> Result<(u64, u64), String> {
    let upper = parse(to)?;
    match from.ends_with(|c: char| c.is_ascii_digit()) {
        true => Ok((parse(&format!("{from}{}", unit(to)))?, upper)),
        false => Ok((parse(from)?, upper)),
    }
}

/// A whole number.
///
/// # Errors
/// One sentence.
pub fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

/// Parts per million, with or without their unit.
///
/// # Errors
/// One sentence.
pub fn ppm(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("ppm").unwrap_or(text).trim_end();
    number.parse().map_err(|_| format!("`{text}` is not a number of parts per million, such as 500"))
}

/// A number of things, at least 1 and at most a billion: `250`, `10k`, `100M`.
///
/// # Errors
/// One sentence.
pub fn many(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1_000_000_000;
    let (digits, times) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    number
        .filter(|number| (1..=MOST).contains(number))
        .ok_or_else(|| format!("`{text}` is not a number from 1 to {MOST}, such as 250, 10k or 100M"))
}

/// A seed.
///
/// # Errors
/// One sentence.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a seed; a seed is a whole number from 0 to {}", u64::MAX))
}

/// Seeds `A..B`, B excluded.
///
/// # Errors
/// One sentence.
pub fn seeds(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("`{text}` is not a range of seeds; write it as 0..1000");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let range = seed(from).map_err(|_| wrong())?..seed(to).map_err(|_| wrong())?;
    if range.is_empty() { Err(format!("the range of seeds `{text}` is empty")) } else { Ok(range) }
}

/// Part `I/N` of a sweep, I from 1.
///
/// # Errors
/// One sentence.
pub fn shard(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` is not a shard; write it as 1/4, from 1/4 to 4/4");
    let (part, of) = text.split_once('/').ok_or_else(wrong)?;
    let (part, of): (u64, u64) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if part == 0 || part > of { Err(wrong()) } else { Ok((part, of)) }
}

/// A number of candidates.
///
/// # Errors
/// One sentence.
pub fn candidates(text: &str) -> Result<u16, String> {
    let wrong = || format!("`{text}` is not a number of candidates; write a whole number from 1 to {CANDIDATES_MAX}");
    text.parse().ok().filter(|nodes| (1..=CANDIDATES_MAX).contains(&usize::from(*nodes))).ok_or_else(wrong)
}

/// A number of groups.
///
/// # Errors
/// One sentence.
pub fn groups(text: &str) -> Result<u16, String> {
    let wrong = || format!("`{text}` is not a number of groups; write a whole number from 1 to {GROUPS_MAX}");
    text.parse().ok().filter(|groups| (1..=GROUPS_MAX).contains(groups)).ok_or_else(wrong)
}

/// How often something happened, and in what time, as `3/30d`: the number, and milliseconds.
///
/// # Errors
/// One sentence.
pub fn frequency(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` does not say how often in what time; write it as 3/30d");
    let (times, span) = text.split_once('/').ok_or_else(wrong)?;
    let times = times.parse().ok().filter(|times| *times <= 1_000_000).ok_or_else(wrong)?;
    Ok((times, span_ms(span)?))
}

/// A target of availability, as `99.95%`: the parts per million that may be missing.
///
/// # Errors
/// One sentence.
pub fn target(text: &str) -> Result<u32, String> {
    match percent_ppm(text)? {
        ppm @ 1..1_000_000 => Ok(1_000_000 - ppm),
        _ => Err(format!("`{text}` is no target; write one below 100%, such as 99.95%")),
    }
}

/// A bandwidth.
///
/// # Errors
/// One sentence.
pub fn bandwidth(text: &str) -> Result<u64, String> {
    bandwidth_mbps(text)
}

/// Has what elects a link of its own?
///
/// # Errors
/// One sentence.
pub fn control_link(text: &str) -> Result<bool, String> {
    match text {
        "shared" => Ok(false),
        "separate" => Ok(true),
        _ => Err(format!("`{text}` is neither `shared` nor `separate`")),
    }
}

/// `on` or `off`.
///
/// # Errors
/// One sentence.
pub fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{text}` is neither `on` nor `off`")),
    }
}

/// What the store checks.
///
/// # Errors
/// One sentence with the nearest word.
pub fn fencing(text: &str) -> Result<Fencing, String> {
    let words: Vec<&str> = Fencing::ALL.iter().map(|fencing| fencing.word()).collect();
    // What sounds like another word must not be taken for the opposite of what is meant.
    if ["none", "no", "false", "disabled"].contains(&text) {
        return Err(format!("there is no choice `{text}`; did you mean `off`?"));
    }
    Fencing::find(text).ok_or_else(|| unknown("choice", text, &words))
}

/// When a leader's copy of the data acknowledges.
///
/// # Errors
/// One sentence with the nearest word.
pub fn copies(text: &str) -> Result<Copies, String> {
    let found = Copies::ALL.into_iter().find(|copies| copies.word() == text);
    found.ok_or_else(|| unknown("choice", text, &Copies::ALL.map(Copies::word)))
}

/// Which candidate should lead which group.
///
/// # Errors
/// One sentence with the nearest word.
pub fn placement(text: &str) -> Result<Placement, String> {
    let found = Placement::ALL.into_iter().find(|placement| placement.word() == text);
    found.ok_or_else(|| unknown("choice", text, &Placement::ALL.map(Placement::word)))
}

/// What is checked before an invoice is charged.
///
/// # Errors
/// One sentence with the nearest word.
pub fn charge_check(text: &str) -> Result<ChargeCheck, String> {
    ChargeCheck::find(text).ok_or_else(|| unknown("choice", text, &ChargeCheck::ALL.map(ChargeCheck::word)))
}

/// A known bug.
///
/// # Errors
/// One sentence with the nearest id.
pub fn bug(id: &str) -> Result<&'static Bug, String> {
    if let Some(design) = by_design::ALL.iter().find(|design| design.bug.id == id) {
        return Err(format!("`{id}` is no switch: `fencepost {}` shows it", design.bug.shown.command()));
    }
    find(&known().bugs, "bug", id, |bug| bug.id)
}

/// A work.
///
/// # Errors
/// One sentence with the nearest name.
pub fn work(name: &str) -> Result<&'static Kind, String> {
    find(&known().works, "work", name, |work| work.name)
}

/// How many members a service has; how many it can have is its own to say.
///
/// # Errors
/// One sentence.
pub fn members(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("`{text}` is not a number of members; give 1 or more"))
}

/// A protocol.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocol(name: &str) -> Result<&'static Protocol, String> {
    find(&known().named().collect::<Vec<_>>(), "protocol", name, |protocol| protocol.name)
}

/// Protocols `a,b` or `all`.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocols(names: &str) -> Result<Vec<&'static Protocol>, String> {
    match names {
        "all" => Ok(known().protocols.clone()),
        names => Ok(once(names.split(',').map(protocol).collect::<Result<_, _>>()?, |p| p.name)),
    }
}

/// A scenario.
///
/// # Errors
/// One sentence with the nearest name.
pub fn scenario(name: &str) -> Result<&'static Scenario, String> {
    find(&known().scenarios, "scenario", name, |scenario| scenario.name)
}

/// Scenarios by name; `all`, or none named, is all of them.
///
/// # Errors
/// One sentence with the nearest name.
pub fn scenarios(names: &[String]) -> Result<Vec<&'static Scenario>, String> {
    if names.is_empty() || names == ["all"] {
        return Ok(known().scenarios.clone());
    }
    Ok(once(names.iter().map(|name| scenario(name)).collect::<Result<_, _>>()?, |s| s.name))
}

/// The one of that name, or one sentence with the nearest.
fn find<T>(all: &[&'static T], what: &str, name: &str, name_of: fn(&T) -> &'static str) -> Result<&'static T, String> {
    let names: Vec<&str> = all.iter().map(|one| name_of(one)).collect();
    all.iter().copied().find(|one| name_of(one) == name).ok_or_else(|| unknown(what, name, &names))
}

/// Each of these once, where it came first.
fn once<T>(mut all: Vec<T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.retain(|one| seen.insert(name(one)));
    all
}

/// A preset of timers.
///
/// # Errors
/// One sentence with the nearest name.
pub fn preset(name: &str) -> Result<&'static Preset, String> {
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    Preset::find(name).ok_or_else(|| unknown("preset", name, &known))
}

/// A network profile.
///
/// # Errors
/// One sentence with the nearest name.
pub fn network(name: &str) -> Result<&'static Profile, String> {
    let known: Vec<&str> = PROFILES.iter().map(|p| p.name).collect();
    Profile::find(name).ok_or_else(|| unknown("network profile", name, &known))
}

#[cfg(test)]
mod tests {
    use super::{super::names, *};
    use protocols::election;
    use scenarios::{Registry, scenario};

    #[test]
    fn latencies() {
        assert_eq!(
            [latency_us("20ms..40ms"), latency_us("0.2..0.5ms"), latency_us("200us")].map(Result::ok),
            [Some((20_000, 40_000)), Some((200, 500)), Some((200, 200))]
        );
        for text in ["40ms..20ms", "20..40", "2m", "-1ms", "0.0001ms"] {
            assert!(latency_us(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_and_shards() {
        assert_eq!(seeds("0..1000"), Ok(0..1000));
        assert_eq!(shard("2/4"), Ok((2, 4)));
        for text in ["", "5", "5..5", "9..3", "a..b", "-1..3", "0..99999999999999999999"] {
            assert!(seeds(text).is_err(), "{text}");
        }
        for text in ["", "0/4", "5/4", "1", "a/b"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(protocols("all").map(|p| p.len()), Ok(election::ALL.len()));
        assert!(protocols("etcd-election,redis-leas").is_err_and(|e| e.contains("did you mean `redis-lease`?")));
        assert!(scenario("gc-paus").is_err_and(|e| e.contains("did you mean `gc-pause`?")));
        assert_eq!(protocols("raft,kraft,raft").map(|p| p.len()), Ok(2));
        assert_eq!(scenarios(&["steady", "steady"].map(str::to_owned)).map(|s| s.len()), Ok(1));
        assert!(fencing("none").is_err_and(|e| e.contains("did you mean `off`?")));
        assert!(fencing("tokne").is_err_and(|e| e.contains("did you mean `token`?")));
        assert!(protocol("etcd").is_err_and(|e| e.contains("did you mean `etcd-election` or `etcd-key`?")));
        assert_eq!(scenarios(&["all".to_owned()]).map(|s| s.len()), Ok(scenario::ALL.len()));
        assert!(network("lam").is_err_and(|e| e.contains("did you mean `lan`?")));
    }

    #[test]
    fn names_are_those_of_the_command_line_that_this_thread_runs() {
        static OWN: Protocol = Protocol { name: "own", ..election::bully::PROTOCOL };
        names::are_of(&Registry::default().with_protocol(&OWN).expect("a new name"));
        assert_eq!(protocol("own").map(|p| p.name), Ok("own"));
        assert!(protocol("onw").is_err_and(|e| e.contains("did you mean `own`?")));
        assert_eq!(protocols("all").map(|p| p.len()), Ok(election::ALL.len() + 1));
        let elsewhere = std::thread::spawn(|| protocol("own").is_err()).join();
        assert!(elsewhere.is_ok_and(|unknown| unknown), "another thread runs another command line");
    }
}
