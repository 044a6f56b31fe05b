//! What each invariant saw.

use super::paint::{Paint, Tone, pad, wrap};
use crate::invariant::{ALL, InvariantResult};

/// Columns that an invariant's sentence has at least.
const DETAIL_MIN: usize = 20;

/// A line or more for each.
pub(super) fn lines(results: &[InvariantResult], paint: Paint) -> Vec<String> {
    let name_width = ALL.iter().map(|e| e.name.len()).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for result in results {
        let (mark, tone) = match (result.holds, result.could_fail) {
            (false, _) => ("✗", Tone::Bad),
            (true, true) => ("✓", Tone::Good),
            (true, false) => ("–", Tone::Dim),
        };
        let room = paint.width.saturating_sub(4 + name_width).max(DETAIL_MIN);
        for (place, part) in wrap(&result.detail, room).into_iter().enumerate() {
            let (mark, name) = if place == 0 { (mark, result.name) } else { (" ", "") };
            let plain = if result.holds { Tone::Plain } else { Tone::Bad };
            lines.push(format!("{} {}{}", paint.paint(tone, mark), pad(name, name_width), paint.paint(plain, &part)));
        }
    }
    lines
}
