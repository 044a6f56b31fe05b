//! The audit: a history line for every seal and write that the store decided on, kept together with their effects.
//!
//! Lines stand in the order of the decisions of each resource; `t_us` is the deciding process's
//! [`crate::clock::true_time_us`].

use std::{fmt, io, time::Duration};

/// How much of the audit is kept. The ledgers need none of it: what decisions go by is kept beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Retention {
    /// Lines that were written no longer ago, in the time that the machine ran.
    pub age: Option<Duration>,
    /// Lines of so many bytes together.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Everything, for ever.
    pub const ALL: Retention = Retention { age: None, bytes: None };

    /// Is a line to go that was written at `t_us`, now, with so many bytes kept?
    pub(super) fn drops(&self, t_us: u64, now_us: u64, bytes: u64) -> bool {
        let old = self.age.is_some_and(|age| u128::from(now_us.saturating_sub(t_us)) > age.as_micros());
        old || self.bytes.is_some_and(|most| bytes > most)
    }
}

/// What is no longer in an audit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// How many lines.
    pub lines: u64,
    /// The last one's time.
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

/// Writes audit lines as a history that `fencepost check` reads: times never go back. They would where a database was used
/// across restarts of the machine, or by processes that stamped lines at the same time; such a time is lifted to the one
/// before it.
pub(super) struct Export<W> {
    out: W,
    last_us: u64,
    lines: u64,
}

const HEAD: &str = "{\"t_us\":";

/// The time of a line, and what follows it.
fn split(line: &str) -> Option<(u64, &str)> {
    let rest = line.strip_prefix(HEAD)?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// The time of a line, microseconds.
pub(super) fn time_us(line: &str) -> Option<u64> {
    split(line).map(|(t_us, _)| t_us)
}

impl<W: io::Write> Export<W> {
    pub(super) fn new(out: W) -> Self {
        Export { out, last_us: 0, lines: 0 }
    }

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.lines += 1;
        match split(line) {
            Some((t_us, rest)) => {
                self.last_us = self.last_us.max(t_us);
                writeln!(self.out, "{HEAD}{}{rest}", self.last_us)
            }
            // Not one of ours: whoever put it there will want to see it.
            None => writeln!(self.out, "{line}"),
        }
    }

    /// Flushes; how many lines there were.
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
        let mut export = Export::new(&mut out);
        for t_us in [5, 9, 7, 12] {
            export.line(&format!("{{\"t_us\":{t_us},\"event\":\"end\"}}")).expect("memory takes it");
        }
        assert_eq!(export.finish().expect("memory takes it"), 4);
        let times: Vec<_> = String::from_utf8_lossy(&out).lines().map(time_us).collect();
        assert_eq!(times, [Some(5), Some(9), Some(9), Some(12)]);
    }
}
