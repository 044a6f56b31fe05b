//! Parsers for values on real mode's command line.

use crate::terminal::{names::Unknown, parse};
use protocols::{election::Protocol, point::Point};
use protocols_real::store::audit::Retention;
use scenarios::units::Unread;
use std::{net::SocketAddr, time::Duration};

/// The default backend of every command here: the one that needs nothing installed. If a service is named, the default
/// is etcd.
pub const DEFAULT_BACKEND: &str = "raft";

/// The default folder of a cluster's files.
pub const DEFAULT_DIR: &str = "target/fencepost/cluster";

/// A service's name stands for the best protocol on it.
pub fn backend(text: &str) -> Result<&'static Protocol, Unknown> {
    parse::protocol(match text {
        "etcd" => "etcd-election-from-sending",
        "redis" => "redis-fenced",
        "zookeeper" => "zk-election-from-sending",
        "consul" => "consul-session-from-sending",
        "k8s" | "kubernetes" => "k8s-lease",
        "sentinel" => "redis-sentinel",
        "postgres" => "db-row",
        name => name,
    })
}

/// Parses a duration that may be negative, or a number of milliseconds, into milliseconds.
pub fn offset_ms(text: &str) -> Result<i64, Unread> {
    if let Ok(ms) = text.parse() {
        return Ok(ms);
    }
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let ms =
        i64::try_from(parse::duration_ms(rest)?).map_err(|_| Unread::of(text, "is further than a clock can be off"))?;
    Ok(sign * ms)
}

/// Parses a positive duration, `5s` or a plain number of units of `unit` milliseconds, into milliseconds.
fn lasting_ms(text: &str, unit: f64) -> Result<f64, Unread> {
    let ms = match text.parse::<f64>() {
        Ok(number) => number * unit,
        Err(_) => parse::duration_ms(text)? as f64,
    };
    let fits = ms.is_finite() && ms > 0.0 && ms <= 86_400_000.0;
    fits.then_some(ms).ok_or_else(|| Unread::of(text, "must be a number above 0, of a day at most"))
}

/// Parses a duration, or a number of seconds, into milliseconds.
pub fn in_seconds(text: &str) -> Result<f64, Unread> {
    lasting_ms(text, 1e3)
}

/// Parses a duration, or a number of milliseconds, into milliseconds.
pub fn in_milliseconds(text: &str) -> Result<f64, Unread> {
    lasting_ms(text, 1.0)
}

/// Parses a polling interval into milliseconds.
pub fn interval_ms(text: &str) -> Result<u64, Unread> {
    let ms = parse::duration_ms(text)?;
    (100..=60_000).contains(&ms).then_some(ms).ok_or_else(|| Unread::of(text, "must be between 100ms and 1m"))
}

/// Parses how much of an audit is kept.
pub fn retention(text: &str) -> Result<Retention, Unread> {
    if text == "all" {
        return Ok(Retention::ALL);
    }
    let wrong = || Unread::of(text, "is neither `all`, nor a duration as 10m, nor a size as 500MiB");
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    if let Some((number, shift)) = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift))) {
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(wrong)?;
        return Ok(Retention { bytes: Some(bytes), ..Retention::ALL });
    }
    let ms = parse::duration_ms(text).ok().filter(|ms| *ms > 0).ok_or_else(wrong)?;
    Ok(Retention { age: Some(Duration::from_millis(ms)), ..Retention::ALL })
}

/// The point of a pause; `None`: anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At(pub Option<Point>);

/// Parses the point of a pause.
pub fn point(text: &str) -> Result<At, Unread> {
    // A cluster without a plan only watches these.
    match text {
        "now" => Ok(At(None)),
        "lease_checked" => Ok(At(Some(Point::LeaseChecked))),
        _ => Err(Unread::of(text, "is not a point to pause at; there are lease_checked and now")),
    }
}

/// Parses an address to listen on.
pub fn socket(text: &str) -> Result<SocketAddr, Unread> {
    text.parse().map_err(|_| Unread::of(text, "is no address to listen on; write it as 127.0.0.1:7000 or [::1]:7000"))
}

/// Parses a number of nodes.
pub fn nodes(text: &str) -> Result<u16, Unread> {
    let number = text.parse().ok().filter(|n| (1..=64).contains(n));
    number.ok_or_else(|| Unread::of(text, "must be a number of nodes, 1 to 64"))
}

/// Parses a share, above 0 and at most 1.
pub fn share(text: &str) -> Result<f64, Unread> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| Unread::of(text, "must be a number above 0, at most 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_taken_in_every_style() {
        assert_eq!((in_seconds("8"), in_seconds("0.5"), in_seconds("500ms")), (Ok(8e3), Ok(500.0), Ok(500.0)));
        assert_eq!((in_milliseconds("5000"), in_milliseconds("5s")), (Ok(5e3), Ok(5e3)));
        for wrong in ["0", "-1", "0s", "nan", "inf", "9e9", "5x", ""] {
            assert!(in_seconds(wrong).is_err() && in_milliseconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!((offset_ms("200ms"), offset_ms("-1.5s"), offset_ms("-7")), (Ok(200), Ok(-1_500), Ok(-7)));
        assert!(offset_ms("--1s").is_err() && offset_ms("fast").is_err());
    }

    #[test]
    fn an_audit_is_kept_by_age_or_size() {
        let age = |minutes: u64| Retention { age: Some(Duration::from_secs(60 * minutes)), bytes: None };
        let bytes = |bytes: u64| Retention { age: None, bytes: Some(bytes) };
        assert_eq!((retention("all"), retention("10m")), (Ok(Retention::ALL), Ok(age(10))));
        assert_eq!((retention("64KiB"), retention("2GiB")), (Ok(bytes(64 << 10)), Ok(bytes(2 << 30))));
        for wrong in ["", "0s", "0MiB", "1GB", "-1MiB", "99999999999TiB", "none"] {
            assert!(retention(wrong).is_err(), "{wrong}");
        }
    }
}
