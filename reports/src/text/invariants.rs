//! What went wrong, as text: the head of the report, and the findings of the invariants.

use super::paint::{Paint, Tone, pad, wrap};
use crate::{
    Judgement, Verdict,
    invariant::{ALL, Class, InvariantResult},
    timeline::Highlights,
};

/// The least width of an invariant's sentence.
const DETAIL_MIN: usize = 20;
/// Which invariants a report lists one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    All,
    /// Those that had something to check: for a log, the others are named with what they need.
    Checked,
    /// Only those that were violated.
    Violated,
    Nothing,
}

/// The lines of each listed invariant.
pub(super) fn lines(results: &[InvariantResult], told: Told, paint: Paint) -> Vec<String> {
    let is_told = |seen: &InvariantResult| match told {
        Told::Nothing => false,
        _ if !seen.holds => true,
        Told::All => true,
        Told::Checked => seen.could_fail || seen.class == Class::Vacuity,
        Told::Violated => false,
    };
    results.iter().filter(|seen| is_told(seen)).flat_map(|seen| of_one(seen, paint)).collect()
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

// The head of the report of a run that went wrong: what happened, why that is wrong, and what to run next.

/// The head, with an empty line before it; nothing if all held, or if nobody listened for the cause. `meaning` says, if
/// known, why the run tested too little.
pub(super) fn head_lines(
    judgement: &Judgement,
    highlights: &Highlights,
    meaning: Option<&str>,
    next: &[(&str, String)],
    paint: Paint,
) -> Vec<String> {
    let (title, tone) = match judgement.verdict {
        Verdict::Pass => return Vec::new(),
        Verdict::Safety => ("✗ SAFETY VIOLATED", Tone::Bad),
        Verdict::Liveness => ("✗ LIVENESS VIOLATED", Tone::Bad),
        Verdict::Vacuous if judgement.is_cut_short => ("? INTERRUPTED", Tone::Warn),
        Verdict::Vacuous => ("? INCONCLUSIVE", Tone::Warn),
    };
    let cause = &highlights.cause;
    let happened = cause.text();
    if happened.is_empty() {
        return Vec::new();
    }
    let of = highlights.group.map_or(String::new(), |group| format!(", in group {group}"));
    let mut lines = vec![String::new(), paint.paint(tone, &format!("{title}{of}"))];
    let mut paragraph = |label: &str, text: &str| {
        // Colour has no width, so the label is painted after wrapping.
        let wrapped = wrap(&format!("{label}: {text}"), paint.width - 2);
        lines.extend(wrapped.iter().enumerate().map(|(place, line)| match line.strip_prefix(label) {
            Some(rest) if place == 0 => format!("  {}{rest}", paint.paint(Tone::Bold, label)),
            _ => format!("  {line}"),
        }));
    };
    paragraph("What happened", &happened);
    match judgement.verdict {
        Verdict::Vacuous if judgement.is_cut_short => {}
        Verdict::Vacuous => {
            let meaning = meaning.unwrap_or("the run tested too little");
            paragraph("What it means", &format!("this is neither a pass nor a violation: {meaning}."));
        }
        _ => paragraph("Why it is wrong", &cause.rule().unwrap_or_default()),
    }
    if !next.is_empty() {
        lines.push(format!("  {}:", paint.paint(Tone::Bold, "What to run next")));
        let widest = next.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
        // A command is never broken, so that it can be copied.
        lines.extend(next.iter().map(|(what, command)| format!("    {what:widest$}  {command}")));
    }
    lines
}
