//! The findings of the invariants.

use super::paint::{Paint, Tone, pad, wrap};
use crate::{
    invariant::{ALL, Class, Entry, InvariantResult, leaders_acting_by_effect, liveness, no_stale_write},
    words::{count, grouped},
};

/// The least width of an invariant's sentence.
const DETAIL_MIN: usize = 20;
/// The most important invariants: did two take effect, was anything stale accepted, and did somebody lead?
const KEY: [&Entry; 3] = [&leaders_acting_by_effect::ENTRY, &no_stale_write::ENTRY, &liveness::ENTRY];

/// Which invariants are listed one by one, beside the violated ones and the situation under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    All,
    /// Those that had something to check: for a log, the others are named with what they need.
    Checked,
    /// The [`KEY`] ones, and one line with the number of the others.
    Key,
}

/// The lines of each listed invariant.
pub(super) fn lines(results: &[InvariantResult], told: Told, paint: Paint) -> Vec<String> {
    let is_told = |seen: &InvariantResult| match told {
        _ if !seen.holds || seen.class == Class::Vacuity => true,
        Told::All => true,
        Told::Checked => seen.could_fail,
        Told::Key => KEY.iter().any(|entry| entry.name == seen.name),
    };
    let rest_told = told == Told::Key;
    let (told, others): (Vec<&InvariantResult>, Vec<_>) = results.iter().partition(|seen| is_told(seen));
    let mut lines: Vec<String> = told.into_iter().flat_map(|seen| of_one(seen, paint)).collect();
    let rest = of_others(&others)
        .filter(|_| rest_told)
        .map(|text| wrap(&text, paint.width.saturating_sub(2)))
        .unwrap_or_default();
    lines.extend(rest.iter().map(|text| paint.paint(Tone::Dim, text)));
    lines
}

/// How many others held, and how many had nothing to check.
fn of_others(others: &[&InvariantResult]) -> Option<String> {
    let idle = others.iter().filter(|seen| !seen.could_fail).count() as u64;
    let held = others.len() as u64 - idle;
    let text = match (held, idle) {
        (0, 0) => return None,
        (held, 0) => format!("✓ {} more held", grouped(held)),
        (0, idle) => format!("– {} had nothing to check", count(idle, "other")),
        (held, idle) => format!("✓ {} more held, and {} had nothing to check", grouped(held), grouped(idle)),
    };
    Some(format!("{text}; --verbose lists them"))
}

fn of_one(result: &InvariantResult, paint: Paint) -> Vec<String> {
    let name_width = ALL.iter().map(|e| e.name.len()).max().unwrap_or(0) + 2;
    let (mark, tone) = match (result.holds, result.could_fail) {
        (false, _) => ("✗", Tone::Bad),
        (true, true) => ("✓", Tone::Good),
        (true, false) => ("–", Tone::Dim),
    };
    let room = paint.width.saturating_sub(4 + name_width).max(DETAIL_MIN);
    let plain = if result.holds { Tone::Plain } else { Tone::Bad };
    let line = |(place, part): (usize, String)| {
        let (mark, name) = if place == 0 { (mark, result.name) } else { (" ", "") };
        format!("{} {}{}", paint.paint(tone, mark), pad(name, name_width), paint.paint(plain, &part))
    };
    wrap(&result.detail, room).into_iter().enumerate().map(line).collect()
}
