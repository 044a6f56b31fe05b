//! The head of the report of a run that went wrong: what happened, why that is wrong, and what to run next.

use super::paint::{Paint, Tone, wrap};
use crate::{Judgement, Verdict, timeline::Highlights};

/// The head, with an empty line before it; nothing if all held, or if nobody listened for the cause. `meaning` says, if
/// known, why the run tested too little.
pub(super) fn lines(
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
