//! Runs as strips of the picture that shows who leads when.

use crate::run::Run;
use reports::plot::leaders_acting::{Reign, Strip};
use serde_json::Value;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

/// Collects the history lines needed here: faults and refused writes.
#[derive(Clone, Default)]
pub(super) struct Lines {
    kept: Arc<Mutex<Vec<Value>>>,
    /// The beginning of the current line.
    begun: Vec<u8>,
}

impl Lines {
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, line: &[u8]) {
        let has = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
        if has(b"\"event\":\"fault\"") || has(b"\"verdict\":\"fenced\"") {
            if let Ok(event) = serde_json::from_slice(line) {
                self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            }
        }
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                self.line(&line);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The strip of a run whose story was recorded, with its faults; `None` if it was not recorded.
pub(super) fn strip(label: String, run: &Run, events: &[Value]) -> Option<Strip> {
    let faults = || events.iter().filter(|event| event["event"] == "fault");
    let t_us = |event: &Value| event["t_us"].as_u64();
    let first_us = faults().find_map(t_us)?;
    let since = |t_us: u64| (t_us as f64 - first_us as f64) / 1e6;
    let end_us = run.judgement.end_us;
    let span = |begin: &Value| {
        let ends = |event: &&Value| event["phase"] == "end" && event["index"] == begin["index"];
        let from_us = t_us(begin)?;
        let end = faults().filter(ends).filter_map(t_us).find(|end| *end >= from_us);
        let lasts = begin["phase"] == "begin";
        Some((since(from_us), since(if lasts { end.unwrap_or(end_us) } else { from_us })))
    };
    let begun = faults().filter(|event| event["phase"] != "end").filter_map(span);
    let reign = |leader: &reports::timeline::Leader| Reign {
        node: leader.incarnation.node.0,
        believed: leader.elected_us.map(|from| (since(from), since(leader.ended.map_or(end_us, |(to, _)| to)))),
        acted: leader.first_us.zip(leader.last_us).map(|(from, to)| (since(from), since(to))),
    };
    let metrics = &run.judgement.metrics;
    Some(Strip {
        label,
        nodes: run.header.candidates,
        ends: since(end_us),
        faults: begun.collect(),
        reigns: run.highlights.as_ref()?.leaders().iter().map(reign).collect(),
        acting: metrics.leaders_acting_by_effect_max,
        believing: metrics.leaders_believing_max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_however_they_are_written() {
        let mut lines = Lines::default();
        let shared = lines.clone();
        lines
            .write_all(b"{\"event\":\"fault\",\"t_us\":1}\n{\"event\":\"grant\"}\n{\"event\":\"apply\",\"ver")
            .unwrap();
        lines.write_all(b"dict\":\"fenced\"}\n").unwrap();
        let kept = shared.take();
        assert_eq!((kept.len(), kept[0]["t_us"].as_u64()), (2, Some(1)));
    }
}
