//! The audit: a history line for every seal and write that the store decided on, kept in the same transaction as its
//! effects.
//!
//! Lines are in each resource's order of decisions; `t_us` is the deciding process's [`crate::log::true_time_us`].

use std::{fmt, io, time::Duration};

/// How much of the audit is kept. The ledgers do not need it: the state for decisions is kept separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Retention {
    /// The maximum age of a line, in the machine's uptime.
    pub age: Option<Duration>,
    /// The maximum total length of the lines.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Keeps everything.
    pub const ALL: Retention = Retention { age: None, bytes: None };

    /// Whether a line written at `t_us` is to be dropped now, with `bytes` bytes kept.
    pub(super) fn drops(&self, t_us: u64, now_us: u64, bytes: u64) -> bool {
        let old = self.age.is_some_and(|age| u128::from(now_us.saturating_sub(t_us)) > age.as_micros());
        old || self.bytes.is_some_and(|most| bytes > most)
    }
}

/// What has been dropped from an audit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The number of lines.
    pub lines: u64,
    /// The last dropped line's time.
    pub until_us: u64,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Dropped { lines, until_us } = self;
        write!(
            f,
            "audit begins at line {}: {lines} lines up to t_us {until_us} were dropped by --audit-keep",
            lines + 1
        )
    }
}

/// Writes audit lines as a history that `fencepost check` reads, with times that never decrease. A time that does is
/// replaced by the one before it: that happens if a database was used across restarts of the machine, or by processes
/// that stamped lines concurrently.
pub(super) struct Export<W> {
    out: W,
    /// What times are counted from, once known.
    from_us: Option<u64>,
    last_us: u64,
    lines: u64,
}

const HEAD: &str = "{\"t_us\":";

/// A line's time, and what follows it.
fn split(line: &str) -> Option<(u64, &str)> {
    let rest = line.strip_prefix(HEAD)?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// A line's time, microseconds.
pub(super) fn time_us(line: &str) -> Option<u64> {
    split(line).map(|(t_us, _)| t_us)
}

impl<W: io::Write> Export<W> {
    /// With `own_zero`, times are counted from the first line's. The machine's uptime, microseconds, may look like
    /// seconds since 1970.
    pub(super) fn new(out: W, own_zero: bool) -> Self {
        Export { out, from_us: (!own_zero).then_some(0), last_us: 0, lines: 0 }
    }

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.lines += 1;
        match split(line) {
            Some((t_us, rest)) => {
                self.last_us = self.last_us.max(t_us);
                let from_us = *self.from_us.get_or_insert(t_us);
                writeln!(self.out, "{HEAD}{}{rest}", self.last_us - from_us)
            }
            // A foreign line is passed on: its author will want to see it.
            None => writeln!(self.out, "{line}"),
        }
    }

    /// Flushes; returns the number of lines.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_never_go_back() {
        let mut out = Vec::new();
        for (own_zero, must) in [(false, [5, 9, 9, 12]), (true, [0, 4, 4, 7])] {
            out.clear();
            let mut export = Export::new(&mut out, own_zero);
            for t_us in [5, 9, 7, 12] {
                export.line(&format!("{{\"t_us\":{t_us},\"event\":\"end\"}}")).expect("memory takes it");
            }
            assert_eq!(export.finish().expect("memory takes it"), 4);
            let times: Vec<_> = String::from_utf8_lossy(&out).lines().map(time_us).collect();
            assert_eq!(times, must.map(Some));
        }
    }
}
