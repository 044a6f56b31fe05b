//! The session settings that elections use.

use super::error::Error;
use crate::world::keepalive::{PROBES, Probing};
use protocols::types::{MILLISECOND, SECOND};
use std::collections::BTreeMap;

/// The format of a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// Milliseconds, with the maximum.
    Milliseconds,
    /// A number passed to the kernel, with its default.
    Kernel(u64),
}

/// The settings that have an effect here.
const KNOWN: [(&str, Kind, &str); 10] = [
    ("application_name", Kind::Text, ""),
    ("client_encoding", Kind::Text, "UTF8"),
    ("tcp_keepalives_idle", Kind::Kernel(7_200), "0"),
    ("tcp_keepalives_interval", Kind::Kernel(75), "0"),
    ("tcp_keepalives_count", Kind::Kernel(9), "0"),
    ("tcp_user_timeout", Kind::Kernel(0), "0"),
    ("lock_timeout", Kind::Milliseconds, "0"),
    ("idle_session_timeout", Kind::Milliseconds, "0"),
    ("idle_in_transaction_session_timeout", Kind::Milliseconds, "0"),
    ("deadlock_timeout", Kind::Milliseconds, "1000"),
];

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Settings(BTreeMap<&'static str, String>);

fn known(name: &str) -> Result<(&'static str, Kind, &'static str), Error> {
    KNOWN
        .into_iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| Error::unsupported(format!("the setting `{name}`")))
}

impl Settings {
    /// Sets a setting, or resets it to its default; returns its new value.
    ///
    /// # Errors
    /// The setting does not exist, or the value is invalid.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(&'static str, String), Error> {
        let (name, kind, default) = known(name)?;
        let value = match (value, kind) {
            (None, _) => default.to_owned(),
            (Some(value), Kind::Text) => {
                if name == "client_encoding" && !["utf8", "utf-8"].contains(&value.to_ascii_lowercase().as_str()) {
                    return Err(Error::unsupported(format!("the encoding `{value}`")));
                }
                // PostgreSQL replaces non-ASCII characters, which cannot be printed everywhere.
                value.chars().take(63).map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect()
            }
            (Some(value), _) => number(name, value)?.to_string(),
        };
        self.0.insert(name, value.clone());
        Ok((name, value))
    }

    /// A setting's value as it was set.
    fn raw(&self, name: &'static str) -> &str {
        let default = KNOWN.iter().find(|(known, ..)| *known == name).map_or("", |(.., default)| default);
        self.0.get(name).map_or(default, String::as_str)
    }

    fn whole(&self, name: &'static str) -> u64 {
        self.raw(name).parse().unwrap_or(0)
    }

    /// A setting's value as `SHOW` prints it.
    ///
    /// # Errors
    /// The setting does not exist.
    pub fn show(&self, name: &str) -> Result<String, Error> {
        let (name, kind, _) = known(name)?;
        Ok(match kind {
            Kind::Text => self.raw(name).to_owned(),
            Kind::Kernel(default) => match self.whole(name) {
                0 => default.to_string(),
                other => other.to_string(),
            },
            Kind::Milliseconds => {
                let ms = self.whole(name);
                let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
                let unit = units.into_iter().find(|(length, _)| ms > 0 && ms % length == 0);
                unit.map_or_else(
                    || if ms == 0 { "0".to_owned() } else { format!("{ms}ms") },
                    |(length, unit)| format!("{}{unit}", ms / length),
                )
            }
        })
    }

    pub fn application_name(&self) -> &str {
        self.raw("application_name")
    }

    /// A time limit in nanoseconds, if set.
    pub fn limit(&self, name: &'static str) -> Option<u64> {
        match self.whole(name) {
            0 => None,
            ms => Some(ms * MILLISECOND),
        }
    }

    /// When the kernel gives up the connection; the defaults are Linux's.
    pub fn probing(&self) -> Probing {
        let or = |name, default| match self.whole(name) {
            0 => default,
            set => set,
        };
        Probing {
            idle: or("tcp_keepalives_idle", 7_200) * SECOND,
            interval: or("tcp_keepalives_interval", 75) * SECOND,
            count: or("tcp_keepalives_count", PROBES),
            user_timeout: self.limit("tcp_user_timeout"),
        }
    }
}

/// A number with or without a unit, converted to the setting's unit.
fn number(name: &str, value: &str) -> Result<u64, Error> {
    let wrong = || Error::new("22023", format!("invalid value for parameter \"{name}\": \"{value}\""));
    let trimmed = value.trim();
    let (sign, digits) = trimmed.strip_prefix('-').map_or((1, trimmed), |digits| (-1, digits));
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, unit) = (&digits[..end], digits[end..].trim());
    let in_seconds = matches!(name, "tcp_keepalives_idle" | "tcp_keepalives_interval");
    let factor = match (unit, in_seconds, name) {
        ("", _, _) => 1,
        (_, _, "tcp_keepalives_count") => return Err(wrong()),
        ("ms", false, _) | ("s", true, _) => 1,
        ("s", false, _) => 1_000,
        ("min", false, _) => 60_000,
        ("min", true, _) => 60,
        ("h", false, _) => 3_600_000,
        ("h", true, _) => 3_600,
        _ => return Err(wrong()),
    };
    let number = digits.parse::<i64>().ok().and_then(|number| number.checked_mul(factor * sign)).ok_or_else(wrong)?;
    let lowest = i64::from(name == "deadlock_timeout");
    if !(lowest..=i64::from(i32::MAX)).contains(&number) {
        let unit = match name {
            "tcp_keepalives_count" => "",
            _ if in_seconds => " s",
            _ => " ms",
        };
        let why =
            format!("{number}{unit} is outside the valid range for parameter \"{name}\" ({lowest} .. {})", i32::MAX);
        return Err(Error::new("22023", why));
    }
    Ok(number.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_shown_as_postgresql_does() {
        let mut settings = Settings::default();
        assert_eq!(settings.show("tcp_keepalives_idle"), Ok("7200".to_owned()));
        for (value, shown) in [("2s", "2s"), ("1500", "1500ms"), ("60000", "1min"), ("0", "0")] {
            settings.set("lock_timeout", Some(value)).expect("a length");
            assert_eq!(settings.show("lock_timeout"), Ok(shown.to_owned()));
        }
        settings.set("tcp_keepalives_idle", Some("5")).expect("seconds");
        assert_eq!(settings.probing().idle, 5 * SECOND);
        let code = |name: &str, value: &str| Settings::default().set(name, Some(value)).err().map(|e| e.code);
        assert_eq!(code("lock_timeout", "x"), Some("22023"));
        assert_eq!(code("lock_timeout", "-1"), Some("22023"));
        assert_eq!(code("deadlock_timeout", "0"), Some("22023"));
        assert_eq!(code("work_mem", "1"), Some("0A000"));
    }
}
