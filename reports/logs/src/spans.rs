//! Grants and work whose duration a line states. Two that overlap mean two leaders, unless only the difference between
//! two files' clocks makes them overlap.

use super::{key::Key, seen::Unsure, translate::Told};
use serde_json::Value;
use std::collections::BTreeMap;

/// The grant or work that a line begins, and its end by the line's own clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    on: Key,
    by: Key,
    over_ns: u64,
    shared: bool,
}

impl Span {
    /// What `by` begins on `on`, if the line states how long it lasts.
    pub fn of(told: &Told, on: Key, by: Key) -> Option<Span> {
        let number = |name: &str| told.fields.get(name).and_then(Value::as_u64);
        let length_us = number("duration").or_else(|| number("ttl"));
        let over_ns = match number("until") {
            Some(until_us) => until_us.saturating_mul(1_000),
            None => told.ns.saturating_add(length_us?.saturating_mul(1_000)),
        };
        let shared = told.fields.get("shared").and_then(Value::as_bool).unwrap_or(false);
        Some(Span { on, by, over_ns, shared })
    }

    fn excludes(&self, other: &Span) -> bool {
        self.by != other.by && !(self.shared && other.shared)
    }
}

/// A span, and the line that began it.
struct Held {
    span: Span,
    file: usize,
    line: u64,
}

/// How many spans are remembered for each thing led or written.
const HELD_MOST: usize = 64;

/// Spans that may not have ended yet.
#[derive(Default)]
pub struct Spans {
    held: BTreeMap<Key, Vec<Held>>,
    /// By how much, at most, a span began before another file's had ended, nanoseconds; `u64::MAX` if both are in one
    /// file.
    pub behind_ns: u64,
}

impl Spans {
    fn others<'a>(&'a self, span: &'a Span) -> impl Iterator<Item = &'a Held> {
        self.held.get(&span.on).into_iter().flatten().filter(|held| held.span.excludes(span))
    }

    /// Until when this file's span waits, since it may begin up to `margin_ns` later than its line says.
    pub fn wait_ns(&self, file: usize, ns: u64, span: &Span, margin_ns: u64) -> Option<u64> {
        let over = self.others(span).filter(|held| held.file != file).map(|held| held.span.over_ns);
        over.filter(|over| *over > ns && *over <= ns.saturating_add(margin_ns)).max()
    }

    /// Adds a span; returns lines that may or may not overlap as far as their times tell.
    pub fn begins(&mut self, file: usize, told: &Told, span: &Span, skew_ns: u64, digit_ns: &[u64]) -> Option<Unsure> {
        let (ns, digit) = (told.ns, |file: usize| digit_ns.get(file).map_or(0, |digit| digit.saturating_sub(1)));
        let (mut open, mut behind_ns) = (None, self.behind_ns);
        for Held { span: other, file: of, line: number } in self.others(span) {
            let (early_ns, late_ns) = (other.over_ns.saturating_sub(ns), ns.saturating_sub(other.over_ns));
            if early_ns > 0 {
                behind_ns = behind_ns.max(if *of == file { u64::MAX } else { early_ns });
            }
            let (before, after) = (skew_ns + digit(file), skew_ns + digit(*of));
            if *of != file && (early_ns > 0 && early_ns <= before || early_ns == 0 && late_ns < after) {
                let lines = [(*of, *number), (file, told.line)];
                open = open.or(Some(Unsure { lines, apart_ns: early_ns.max(late_ns), over: true }));
            }
        }
        self.behind_ns = behind_ns;
        let held = self.held.entry(span.on).or_default();
        // A renewal continues the former span.
        held.retain(|held| held.span.by != span.by);
        if held.len() == HELD_MOST {
            held.remove(0);
        }
        held.push(Held { span: span.clone(), file, line: told.line });
        open
    }

    /// Ends what `by` began on `on`, whatever duration it had stated.
    pub fn ended(&mut self, on: Key, by: Key) {
        if let Some(held) = self.held.get_mut(&on) {
            held.retain(|held| held.span.by != by);
        }
    }
}
