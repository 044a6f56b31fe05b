//! Known answers: histories of which it is known what the judge must say, whole, so that no part of it can go blind.
//!
//! The histories are `testdata/*.jsonl`, and `testdata/judgements.txt` says of each what came of it: the verdict, what each
//! invariant saw that could have failed, and the figures that are not nothing. A history named after an invariant,
//! `<invariant>-ok…` or `<invariant>-bad…`, shows one clause of it; `run-…` are whole runs, `figures-…` stories whose figures
//! were counted by hand, and `groups-…` stories of several groups, of which one at most does wrong.

use crate::{Judgement, Judges, Metrics, Names};
use protocols::history::{Event, Header, Sink, json::Reader};
use serde_json::Value;
use std::fmt::Write;

/// A history, and what its name is.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The file's name, without its ending.
    pub name: &'static str,
    /// The history, as JSON lines.
    pub text: &'static str,
}

/// What the judge must say of every history.
pub const JUDGEMENTS: &str = include_str!("../testdata/judgements.txt");

/// A history that was read.
#[derive(Clone, Debug)]
pub struct History {
    /// What it says of its run; a foreign log has none.
    pub header: Option<Header>,
    /// What its processes are called.
    pub names: Names,
    /// Everything that happened.
    pub events: Vec<Event>,
}

impl History {
    /// Reads JSON lines.
    ///
    /// # Errors
    /// What is wrong with which line.
    pub fn parse(text: &[u8]) -> Result<History, String> {
        let mut reader = Reader::new(text).map_err(|e| e.to_string())?;
        let events = reader.by_ref().collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        Ok(History { header: reader.header().cloned(), names: Names::of(reader.names(), reader.header()), events })
    }

    /// What the judge makes of it.
    pub fn judge(&self) -> Judgement {
        let mut judge = Judges::new(self.header.as_ref());
        self.events.iter().for_each(|event| judge.record(event));
        judge.finish_with(&self.names)
    }
}

impl Known {
    /// Where the file lies, from the root of the repository.
    pub fn path(&self) -> String {
        format!("reports/testdata/{}.jsonl", self.name)
    }

    /// Reads and judges it.
    ///
    /// # Errors
    /// It cannot be read, which is wrong as well.
    pub fn judge(&self) -> Result<Judgement, String> {
        Ok(History::parse(self.text.as_bytes())?.judge())
    }

    /// What the judge must say of it; nothing where that was never written down.
    pub fn must_say(&self) -> &'static str {
        let head = format!("== {}\n", self.name);
        let Some((_, rest)) = JUDGEMENTS.split_once(&head) else { return "" };
        rest.split("== ").next().unwrap_or_default()
    }

    /// The first line in which `judgement` differs from what is known, in one sentence.
    pub fn differs(&self, judgement: &Judgement) -> Option<String> {
        let (is, must) = (say(judgement), self.must_say());
        let (mut is, mut must) = (is.lines(), must.lines());
        loop {
            return match (is.next(), must.next()) {
                (None, None) => None,
                (Some(is), Some(must)) if is == must => continue,
                (is, must) => {
                    let [is, must] = [is, must].map(|line| line.unwrap_or("nothing").trim());
                    Some(format!("the judge must say “{must}”, but says “{is}”"))
                }
            };
        }
    }
}

/// A judgement in lines: the verdict, every invariant that was violated or could have been, and the figures that are not
/// those of an empty run.
pub fn say(judgement: &Judgement) -> String {
    let mut text = format!("{}, exit {}\n", judgement.verdict.name(), judgement.verdict.exit_code());
    for seen in judgement.invariants.iter().filter(|seen| seen.could_fail || !seen.holds) {
        let mark = match (seen.holds, seen.could_fail) {
            (true, _) => '✓',
            (false, true) => '✗',
            (false, false) => '?',
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {mark} {}: {}", seen.name, seen.detail);
    }
    let [is, usual] = [&judgement.metrics, &Metrics::default()].map(|m| serde_json::to_value(m).unwrap_or_default());
    if let Value::Object(figures) = is {
        for (name, value) in figures.iter().filter(|(name, value)| usual.get(name.as_str()) != Some(*value)) {
            let _ = writeln!(text, "  {name} = {value}");
        }
    }
    let unlisted = [
        ("requests_invoked", judgement.metrics.requests_invoked),
        ("requests_answered", judgement.metrics.requests_answered),
    ];
    for (name, value) in unlisted.into_iter().filter(|(_, value)| *value > 0) {
        let _ = writeln!(text, "  {name} = {value}");
    }
    if let Some(after) = judgement.metrics.served_after_ms {
        let _ = writeln!(text, "  served_after_ms = {after:.3}");
    }
    let _ = writeln!(text, "  {} events until {} µs", judgement.history_events, judgement.end_us);
    for (group, judged) in judgement.groups.iter().enumerate() {
        let _ = write!(text, "group {group}: {}", say(judged));
    }
    text
}

macro_rules! known {
    ($($name:literal)*) => {
        [$(Known { name: $name, text: include_str!(concat!("../testdata/", $name, ".jsonl")) }),*]
    };
}

/// Every history of which it is known.
pub static ALL: &[Known] = &known![
    "acts_on_belief-bad"
    "acts_on_belief-bad-before"
    "acts_on_belief-bad-dead"
    "acts_on_belief-bad-former-generation"
    "acts_on_belief-bad-goes-on"
    "acts_on_belief-bad-idle"
    "acts_on_belief-bad-idle-at-last"
    "acts_on_belief-bad-let-go"
    "acts_on_belief-bad-let-go-of-schedule"
    "acts_on_belief-bad-let-go-out-of-turn"
    "acts_on_belief-bad-power"
    "acts_on_belief-bad-seal-of-another-resource"
    "acts_on_belief-bad-seal-refused"
    "acts_on_belief-bad-too-many"
    "acts_on_belief-ok"
    "acts_on_belief-ok-idle-within-bound"
    "acts_on_belief-ok-let-go"
    "acts_on_belief-ok-many"
    "acts_on_belief-ok-sealed"
    "acts_on_belief-ok-slow-order"
    "acts_on_belief-ok-store-away"
    "acts_on_belief-ok-ticks"
    "dual_belief-bad"
    "dual_belief-bad-for-ever"
    "dual_belief-bad-resumed-beside"
    "dual_belief-bad-three"
    "dual_belief-bad-woke"
    "dual_belief-ok"
    "dual_belief-ok-bound"
    "dual_belief-ok-dead"
    "dual_belief-ok-in-pieces"
    "elections-bad-again"
    "elections-bad-grant"
    "elections-bad-grant-twice"
    "elections-bad-order"
    "elections-bad-same-generation-of-another"
    "elections-bad-two-owners"
    "elections-bad-vote-fell-back"
    "elections-bad-vote-fell-back-later"
    "elections-bad-vote-twice"
    "elections-ok"
    "elections-ok-grants"
    "elections-ok-late-news"
    "tokens_monotone-bad"
    "tokens_monotone-bad-lower"
    "tokens_monotone-bad-lower-seal"
    "tokens_monotone-bad-other-generation"
    "tokens_monotone-bad-schedule"
    "tokens_monotone-bad-seal-of-another"
    "tokens_monotone-ok"
    "tokens_monotone-ok-refused"
    "figures-avoidable-failover"
    "figures-beliefs"
    "figures-cut-from-service"
    "figures-dark"
    "figures-false-failover"
    "figures-grants"
    "figures-handoff"
    "figures-killed"
    "figures-never-replaced"
    "figures-reads"
    "figures-transferred"
    "figures-writes"
    "gc-pause"
    "gc-pause-unfenced"
    "groups-bad"
    "groups-bad-regress"
    "groups-ok"
    "leaders_acting_by_effect-bad"
    "leaders_acting_by_effect-bad-instant"
    "leaders_acting_by_effect-bad-restarted"
    "leaders_acting_by_effect-bad-schedule"
    "leaders_acting_by_effect-bad-three"
    "leaders_acting_by_effect-bad-within-a-microsecond"
    "leaders_acting_by_effect-ok"
    "leaders_acting_by_effect-ok-in-turn"
    "leaders_acting_by_effect-ok-refused"
    "liveness-bad"
    "liveness-bad-at-first"
    "liveness-bad-beside-a-stuck-follower"
    "liveness-bad-by-another"
    "liveness-bad-client"
    "liveness-bad-client-rejected"
    "liveness-bad-clique"
    "liveness-bad-cut-off-from-all"
    "liveness-bad-cut-off-from-service-too"
    "liveness-bad-end-of-run"
    "liveness-bad-flapping"
    "liveness-bad-in-between"
    "liveness-bad-late-writes"
    "liveness-bad-majority"
    "liveness-bad-never-healed"
    "liveness-bad-order"
    "liveness-bad-peers"
    "liveness-bad-refused-only"
    "liveness-bad-ring"
    "liveness-bad-slightly-slow"
    "liveness-bad-ticks-only"
    "liveness-bad-while-others-are-down"
    "liveness-ok"
    "liveness-ok-client-cut-off"
    "liveness-ok-client-silent"
    "liveness-ok-client-within-bound"
    "liveness-ok-clients"
    "liveness-ok-clocks"
    "liveness-ok-deaf-leader"
    "liveness-ok-end-of-run"
    "liveness-ok-grant-held"
    "liveness-ok-latency"
    "liveness-ok-loss"
    "liveness-ok-no-client"
    "liveness-ok-no-majority"
    "liveness-ok-no-way"
    "liveness-ok-one-way"
    "liveness-ok-order"
    "liveness-ok-ring-broken"
    "liveness-ok-service-paused"
    "liveness-ok-slow-disks"
    "liveness-ok-store-down"
    "liveness-ok-stuck-leader"
    "liveness-ok-stuck-with-a-bare-majority"
    "no_stale_read-bad"
    "no_stale_read-bad-after-a-read"
    "no_stale_read-bad-former-leader"
    "no_stale_read-bad-never-written"
    "no_stale_read-ok"
    "no_stale_read-ok-at-once"
    "no_stale_read-ok-former-leader-at-once"
    "no_stale_write-bad"
    "no_stale_write-bad-schedule"
    "no_stale_write-bad-sealed"
    "no_stale_write-bad-seen-first"
    "no_stale_write-bad-some-refused"
    "no_stale_write-bad-tokenless"
    "no_stale_write-ok"
    "no_stale_write-ok-elected-again"
    "no_stale_write-ok-seal-refused"
    "none-elections-tokenless"
    "none-one_number-tokenless"
    "one_number-bad"
    "one_number-bad-denied"
    "one_number-bad-far-apart"
    "one_number-bad-told"
    "one_number-bad-told-after-duplicate"
    "one_number-ok"
    "one_number-ok-repeated"
    "phantom_leader-bad"
    "phantom_leader-bad-after-a-pause"
    "phantom_leader-bad-expired"
    "phantom_leader-bad-other-owner"
    "phantom_leader-bad-released"
    "phantom_leader-bad-to-the-end"
    "phantom_leader-bad-until-dead"
    "phantom_leader-bad-until-paused"
    "phantom_leader-bad-untokened"
    "phantom_leader-bad-used-up"
    "phantom_leader-bad-votes"
    "phantom_leader-bad-votes-of-another"
    "phantom_leader-ok"
    "phantom_leader-ok-bound"
    "phantom_leader-ok-joined"
    "phantom_leader-ok-no-bound"
    "phantom_leader-ok-untokened"
    "phantom_leader-ok-votes"
    "read_version-bad"
    "read_version-bad-duplicate"
    "read_version-bad-fenced"
    "read_version-bad-left"
    "read_version-bad-schedule"
    "read_version-bad-sealed"
    "read_version-bad-skipped"
    "read_version-ok"
    "read_version-ok-unknown"
    "records-bad"
    "records-bad-claimed-twice"
    "records-bad-lost"
    "records-bad-never-sent"
    "records-bad-past"
    "records-bad-refused-too"
    "records-bad-seal-forgets"
    "records-bad-sealed"
    "records-bad-ticked-twice"
    "records-ok"
    "records-ok-repeated"
    "run-gc-pause-etcd-election"
    "run-isolate-leader-bully"
    "run-membership-churn-raft"
    "seq_strictly_increasing-bad"
    "seq_strictly_increasing-bad-apply-order"
    "seq_strictly_increasing-bad-real-time"
    "seq_strictly_increasing-bad-returned-before"
    "seq_strictly_increasing-bad-returned-twice"
    "seq_strictly_increasing-bad-same-in-apply-order"
    "seq_strictly_increasing-bad-same-in-real-time"
    "seq_strictly_increasing-bad-schedule"
    "seq_strictly_increasing-bad-unnamed"
    "seq_strictly_increasing-ok"
    "seq_strictly_increasing-ok-at-once"
    "seq_strictly_increasing-ok-repeated"
    "stopped_is_silent-bad"
    "stopped_is_silent-bad-campaigned"
    "stopped_is_silent-bad-client"
    "stopped_is_silent-bad-dead"
    "stopped_is_silent-bad-elected"
    "stopped_is_silent-bad-twice-stopped"
    "stopped_is_silent-bad-voted"
    "stopped_is_silent-bad-wrote"
    "stopped_is_silent-ok"
    "stopped_is_silent-ok-grace"
    "vacuity-bad"
    "vacuity-bad-nothing-happened"
    "vacuity-bad-one-short"
    "vacuity-ok"
    "vacuity-ok-every-fact"
    "vacuity-ok-foreign"];
