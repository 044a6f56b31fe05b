//! Kubernetes' MicroTime: RFC 3339 in UTC with microseconds (kubernetes/apimachinery,
//! `pkg/apis/meta/v1/micro_time.go`).

use crate::types::SECOND;

const DAY_S: i64 = 86_400;
const MICROSECONDS: u64 = 1_000_000;

/// Formats microseconds since the Unix epoch as Kubernetes does.
pub fn written(us: u64) -> String {
    let (days, of_day) = ((us / MICROSECONDS) as i64 / DAY_S, (us / MICROSECONDS) as i64 % DAY_S);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", us % MICROSECONDS)
}

/// Parses RFC 3339 to the microsecond; `None` if it is invalid, or before 1970.
pub fn read(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once('T')?;
    let mut date = date.split('-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let end = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at(end);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.split(':').map(digits);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let in_bounds = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
    if !in_bounds || date.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let offset_s = match zone {
        "Z" => 0,
        zone => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let ahead = digits(hours)? * 3_600 + digits(minutes)? * 60;
            if zone.starts_with('-') { -ahead } else { ahead }
        }
    };
    let micros: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let seconds = days(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second - offset_s;
    Some(u64::try_from(seconds).ok()?.checked_mul(MICROSECONDS)? + micros)
}

/// Such a time in whole seconds, as the elections compare it.
pub fn whole_seconds(us: u64) -> u64 {
    us / (SECOND / 1_000)
}

fn digits(text: &str) -> Option<i64> {
    let plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Year, month and day from days since the Unix epoch (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// Days since the Unix epoch from a date; the same source.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        for (us, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            (1_795_353_117_123_456, "2026-11-22T13:11:57.123456Z"),
        ] {
            assert_eq!((written(us).as_str(), read(text)), (text, Some(us)));
        }
        assert_eq!(read("1970-01-01T02:00:00.5+02:00"), Some(500_000));
        for wrong in ["", "1970-01-01", "1970-13-01T00:00:00Z", "1970-01-01T00:00:00", "x-01-01T00:00:00Z"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
