//! How the times of a history are written: as time since its beginning, or, for a log, as the log's own time of day.
//! Every report formats its times here. Durations do not depend on the clock.

use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};
use serde::Serialize;

/// Formats times, which are microseconds since the history's beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Clock(Option<Own>);

/// The log's own time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Own {
    /// The log's beginning, microseconds since 1970.
    origin_us: u64,
    /// The offset of local time from UTC, seconds.
    offset_s: i32,
    /// The log spans several days, so a time of day is not enough.
    dates: bool,
    /// The log has whole seconds only.
    whole: bool,
}

const DATE: &str = "%Y-%m-%d";

impl Own {
    fn zone(self) -> Option<FixedOffset> {
        FixedOffset::east_opt(self.offset_s)
    }

    fn local(self, t_us: u64) -> Option<DateTime<FixedOffset>> {
        Some(instant(self.origin_us.saturating_add(t_us))?.with_timezone(&self.zone()?))
    }

    fn form(self) -> &'static str {
        match (self.dates, self.whole) {
            (false, false) => "%H:%M:%S%.3f",
            (false, true) => "%H:%M:%S",
            (true, false) => "%Y-%m-%d %H:%M:%S%.3f",
            (true, true) => "%Y-%m-%d %H:%M:%S",
        }
    }
}

impl Clock {
    /// The clock of a log that begins at `origin_us`, microseconds since 1970, and ends `end_us` later: its own time of
    /// day, `offset_s` ahead of UTC. If `origin_us` cannot be a computer's clock, the clock of elapsed time.
    pub fn of_log(origin_us: u64, end_us: u64, offset_s: i32, whole: bool) -> Clock {
        let own = Own { origin_us, offset_s, dates: false, whole };
        let date = |t_us| own.local(t_us).map(|time| time.date_naive());
        let (Some(first), Some(last)) = (date(0), date(end_us)) else { return Clock(None) };
        Clock(Some(Own { dates: first != last, ..own }))
    }

    /// Does it give the time since the beginning?
    pub fn is_elapsed(&self) -> bool {
        self.0.is_none()
    }

    /// A time as written in a sentence: `3.512 s`, `05:40:04.534`, or `2026-03-02 05:40:04.534` in a log of several
    /// days.
    pub fn moment(self, t_us: u64) -> String {
        match self.0 {
            None => format!("{} s", self.bare(t_us)),
            Some(_) => self.bare(t_us),
        }
    }

    /// The same for a column, where the unit is clear.
    pub(crate) fn bare(self, t_us: u64) -> String {
        let own = self.0.and_then(|own| Some(own.local(t_us)?.format(own.form()).to_string()));
        own.unwrap_or_else(|| format!("{:.3}", t_us as f64 / 1e6))
    }

    /// An interval of time.
    pub(crate) fn span(self, from_us: u64, to_us: u64) -> String {
        format!("{} – {}", self.bare(from_us), self.moment(to_us))
    }

    /// The day and zone of the times: `2026-03-01, UTC`, or only the zone for a log of several days.
    pub fn days(self) -> Option<String> {
        let own = self.0?;
        let zone = match own.offset_s {
            0 => "UTC".to_owned(),
            _ => format!("UTC{}", own.zone()?),
        };
        let date = own.local(0)?.format(DATE).to_string();
        Some(if own.dates { zone } else { format!("{date}, {zone}") })
    }

    /// The time at which the log begins: `2026-03-01T03:12:09Z`.
    pub fn begins(self) -> Option<String> {
        self.0.and_then(|own| Some(own.local(0)?.to_rfc3339_opts(SecondsFormat::AutoSi, true)))
    }
}

/// The date and time of `us`, if it counts from 1970. No computer's clock shows a year before 1980, so such a log
/// counts from its own beginning.
pub(crate) fn instant(us: u64) -> Option<DateTime<Utc>> {
    const LEAST_US: u64 = 315_532_800_000_000;
    i64::try_from(us).ok().filter(|_| us >= LEAST_US).and_then(DateTime::from_timestamp_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-01T03:12:09Z.
    const ORIGIN: u64 = 1_772_334_729_000_000;
    const HOUR: u64 = 3_600_000_000;

    #[test]
    fn a_log_is_told_in_its_own_times() {
        let said = |end, offset, whole, t| Clock::of_log(ORIGIN, end, offset, whole).moment(t);
        assert_eq!(said(3 * HOUR, 0, false, 8_874_534_999), "05:40:03.534");
        assert_eq!(said(3 * HOUR, 0, true, 8_875_000_000), "05:40:04");
        assert_eq!(said(3 * HOUR, -4 * 3_600, false, 0), "2026-02-28 23:12:09.000", "the night passes in its zone");
        assert_eq!(said(30 * HOUR, 0, false, 24 * HOUR), "2026-03-02 03:12:09.000");
        assert_eq!(Clock::of_log(5_000_000, 9, 0, false).moment(8_874_534_000), "8874.534 s", "no time of a clock");
        let days = |end, offset| Clock::of_log(ORIGIN, end, offset, false).days();
        assert_eq!(days(HOUR, 0).as_deref(), Some("2026-03-01, UTC"));
        assert_eq!(days(48 * HOUR, 7_200).as_deref(), Some("UTC+02:00"));
        let begins = |offset| Clock::of_log(ORIGIN, 1, offset, true).begins();
        assert_eq!(begins(0).as_deref(), Some("2026-03-01T03:12:09Z"));
        assert_eq!(begins(3_600).as_deref(), Some("2026-03-01T04:12:09+01:00"));
    }
}
