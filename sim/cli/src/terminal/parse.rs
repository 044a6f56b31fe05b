//! Parsers for values on the command line: durations, ranges, lists of names. Every error is one sentence; for an
//! unknown name it suggests the nearest.

mod numbers;
mod refused;

use super::names::{Unknown, known, unknown};
pub use numbers::{candidates, frequency, groups, jobs, many, members, ppm, seed, seeds, shard, target, whole, within};
use protocols::{
    address,
    bug::Bug,
    by_design,
    copies::Copies,
    election::Protocol,
    fence::checks::{ChargeCheck, Fencing},
    sharding::Placement,
    work::Kind,
};
pub use refused::Refused;
pub use scenarios::units::{duration_ms, duration_us, percent_ppm, span_ms};
use scenarios::{
    Scenario,
    params::{PROFILES, Profile},
    set::{Setting, Wrong},
    units::{Unread, bandwidth_mbps, unit},
};
use std::collections::BTreeSet;

/// Parses `A..B`, such as `150..300ms` or `1s..2s`, into milliseconds; a single duration D means D to 2 D.
///
/// # Errors
/// One sentence.
pub fn duration_range_ms(text: &str) -> Result<(u64, u64), Unread> {
    let Some((from, to)) = text.split_once("..") else {
        let ms = duration_ms(text)?;
        return Ok((ms, ms.saturating_mul(2)));
    };
    let (from_ms, to_ms) = ends(from, to, duration_ms)?;
    if from_ms > to_ms {
        return Err(Unread::of(text, "is not a range: its lower end must not be above its upper end"));
    }
    Ok((from_ms, to_ms))
}

/// Parses a one-way latency `A..B`, such as `20ms..40ms` or `0.2..0.5ms`, into microseconds; a single duration is
/// constant.
///
/// # Errors
/// One sentence.
pub fn latency_us(text: &str) -> Result<(u64, u64), Unread> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from_us, to_us) = ends(from, to, duration_us)?;
    if from_us > to_us {
        return Err(Unread::of(text, "is not a range: its lower end must not be above its upper end"));
    }
    if to_us > 60_000_000 {
        return Err(Unread::of(text, "is longer than a minute, and nothing waits that long"));
    }
    Ok((from_us, to_us))
}

/// Both ends of a range; the lower one may omit its unit.
fn ends(from: &str, to: &str, parse: fn(&str) -> Result<u64, Unread>) -> Result<(u64, u64), Unread> {
    let upper = parse(to)?;
    match from.ends_with(|c: char| c.is_ascii_digit()) {
        true => Ok((parse(&format!("{from}{}", unit(to)))?, upper)),
        false => Ok((parse(from)?, upper)),
    }
}

pub fn bandwidth(text: &str) -> Result<u64, Unread> {
    bandwidth_mbps(text)
}

/// True for a separate link for election traffic.
///
/// # Errors
/// One sentence.
pub fn control_link(text: &str) -> Result<bool, Unread> {
    match text {
        "shared" => Ok(false),
        "separate" => Ok(true),
        _ => Err(Unread::of(text, "is neither `shared` nor `separate`")),
    }
}

pub fn on_off(text: &str) -> Result<bool, Unread> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Unread::of(text, "is neither `on` nor `off`")),
    }
}

/// Parses `OWNER.NAME=VALUE`.
///
/// # Errors
/// One sentence with the nearest name.
pub fn setting_of(text: &str) -> Result<Setting, Wrong> {
    known().setting(text)
}

/// Parses a protocol and its lease, such as k8s-lease@15s.
///
/// # Errors
/// One sentence.
pub fn setting(text: &str) -> Result<(&'static Protocol, u64), Refused> {
    let (name, lease) = text
        .split_once('@')
        .ok_or_else(|| Unread::of(text, "is no setting; write a protocol and its lease, as k8s-lease@15s"))?;
    Ok((protocol(name)?, duration_ms(lease)?))
}

/// The store's checks.
///
/// # Errors
/// One sentence with the nearest word.
pub fn fencing(text: &str) -> Result<Fencing, Unknown> {
    let words: Vec<&str> = Fencing::ALL.iter().map(|fencing| fencing.word()).collect();
    // A word that sounds like another must not be taken for the opposite of its meaning.
    if ["none", "no", "false", "disabled"].contains(&text) {
        let instead = "did you mean `off`?".to_owned();
        return Err(Unknown { what: "choice", name: text.to_owned(), instead });
    }
    Fencing::find(text).ok_or_else(|| unknown("choice", text, &words))
}

/// When a leader's copy of the data acknowledges.
///
/// # Errors
/// One sentence with the nearest word.
pub fn copies(text: &str) -> Result<Copies, Unknown> {
    let found = Copies::ALL.into_iter().find(|copies| copies.word() == text);
    found.ok_or_else(|| unknown("choice", text, &Copies::ALL.map(Copies::word)))
}

/// How clients find the leader.
///
/// # Errors
/// One sentence with the nearest word.
pub fn address(text: &str) -> Result<address::Kind, Unknown> {
    let found = address::Kind::ALL.into_iter().find(|kind| kind.word() == text);
    found.ok_or_else(|| unknown("kind of address", text, &address::Kind::ALL.map(address::Kind::word)))
}

/// Which candidate should lead which group.
///
/// # Errors
/// One sentence with the nearest word.
pub fn placement(text: &str) -> Result<Placement, Unknown> {
    let found = Placement::ALL.into_iter().find(|placement| placement.word() == text);
    found.ok_or_else(|| unknown("choice", text, &Placement::ALL.map(Placement::word)))
}

/// The check before an invoice is charged.
///
/// # Errors
/// One sentence with the nearest word.
pub fn charge_check(text: &str) -> Result<ChargeCheck, Unknown> {
    ChargeCheck::find(text).ok_or_else(|| unknown("choice", text, &ChargeCheck::ALL.map(ChargeCheck::word)))
}

/// The known bug of this id.
///
/// # Errors
/// One sentence with the nearest id.
pub fn bug(id: &str) -> Result<&'static Bug, Refused> {
    if let Some(design) = by_design::ALL.iter().find(|design| design.bug.id == id) {
        return Err(Unread::of(id, format!("is no switch: `fencepost {}` shows it", design.bug.shown.command())).into());
    }
    Ok(find(&known().bugs, "bug", id, |bug| bug.id)?)
}

pub fn work(name: &str) -> Result<&'static Kind, Unknown> {
    find(&known().works, "work", name, |work| work.name)
}

pub fn protocol(name: &str) -> Result<&'static Protocol, Unknown> {
    find(&known().named().collect::<Vec<_>>(), "protocol", name, |protocol| protocol.name)
}

/// Parses protocols `a,b` or `all`.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocols(names: &str) -> Result<Vec<&'static Protocol>, Refused> {
    match names {
        "all" => Ok(known().protocols.clone()),
        names => {
            let one = |name: &str| match name {
                "" => Err(Refused::NoName(names.to_owned())),
                name => Ok(protocol(name)?),
            };
            let all = names.split(',').flat_map(|part| part.split(' ')).map(one).collect::<Result<_, _>>();
            Ok(once(all.map_err(|why: Refused| Refused::Of { option: "--protocol", why: why.into() })?, |p| p.name))
        }
    }
}

pub fn scenario(name: &str) -> Result<&'static Scenario, Unknown> {
    find(&known().scenarios, "scenario", name, |scenario| scenario.name)
}

/// The scenarios of these names; all of them for `all`, or no name.
///
/// # Errors
/// One sentence with the nearest name.
pub fn scenarios(names: &[String]) -> Result<Vec<&'static Scenario>, Refused> {
    if names.is_empty() || names == ["all"] {
        return Ok(known().scenarios.clone());
    }
    // `--protocol` takes commas, so they are accepted here, too.
    let names: Vec<&str> = names.iter().flat_map(|name| name.split(',')).filter(|name| !name.is_empty()).collect();
    let one =
        |name: &&str| scenario(name).map_err(|why| is_protocol(name, &names).map_or_else(|| why.into(), Refused::from));
    Ok(once(names.iter().map(one).collect::<Result<_, _>>()?, |s| s.name))
}

/// The error for a protocol among scenario names: protocols after a space were meant for `--protocol`.
fn is_protocol(name: &str, names: &[&str]) -> Option<Unread> {
    protocol(name).ok()?;
    let all: Vec<&str> = names.iter().copied().filter(|name| protocol(name).is_ok()).collect();
    Some(Unread::of(
        name,
        format!("is a protocol, not a scenario; several protocols take commas: --protocol P,{}", all.join(",")),
    ))
}

/// The element called `name`, or a sentence with the nearest name.
fn find<T>(
    all: &[&'static T],
    what: &'static str,
    name: &str,
    name_of: fn(&T) -> &'static str,
) -> Result<&'static T, Unknown> {
    let names: Vec<&str> = all.iter().map(|one| name_of(one)).collect();
    all.iter().copied().find(|one| name_of(one) == name).ok_or_else(|| unknown(what, name, &names))
}

/// Removes duplicates, keeping the first of each.
fn once<T>(mut all: Vec<T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.retain(|one| seen.insert(name(one)));
    all
}

pub fn network(name: &str) -> Result<&'static Profile, Unknown> {
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
        assert!(
            protocols("etcd-election,redis-leas").is_err_and(|e| e.to_string().contains("did you mean `redis-lease`?"))
        );
        assert!(scenario("gc-paus").is_err_and(|e| e.to_string().contains("did you mean `gc-pause`?")));
        assert_eq!(protocols("raft,kraft,raft").map(|p| p.len()), Ok(2));
        assert_eq!(scenarios(&["steady", "steady"].map(str::to_owned)).map(|s| s.len()), Ok(1));
        assert!(fencing("none").is_err_and(|e| e.to_string().contains("did you mean `off`?")));
        assert!(fencing("tokne").is_err_and(|e| e.to_string().contains("did you mean `token`?")));
        assert!(protocol("etcd").is_err_and(|e| e.to_string().contains("did you mean `etcd-election` or `etcd-key`?")));
        assert_eq!(scenarios(&["all".to_owned()]).map(|s| s.len()), Ok(scenario::ALL.len()));
        assert!(network("lam").is_err_and(|e| e.to_string().contains("did you mean `lan`?")));
    }

    #[test]
    fn names_are_those_of_the_command_line_that_this_thread_runs() {
        static OWN: Protocol = Protocol { name: "own", ..election::bully::PROTOCOL };
        names::are_of(&Registry::default().with_protocol(&OWN).expect("a new name"));
        assert_eq!(protocol("own").map(|p| p.name), Ok("own"));
        assert!(protocol("onw").is_err_and(|e| e.to_string().contains("did you mean `own`?")));
        assert_eq!(protocols("all").map(|p| p.len()), Ok(election::ALL.len() + 1));
        let elsewhere = std::thread::spawn(|| protocol("own").is_err()).join();
        assert!(elsewhere.is_ok_and(|unknown| unknown), "another thread runs another command line");
    }
}
