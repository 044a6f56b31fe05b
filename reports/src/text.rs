//! The text report of one run: what went wrong, what was planned, what happened, what held, the figures, and how to see it again.

mod groups;
mod head;
mod invariants;
pub(crate) mod paint;
mod shards;

pub use paint::wrap;

use crate::{
    Judgement, Metrics, Verdict,
    invariant::{self, ALL, Class},
    json::RunFacts,
    timeline::{self, Highlights, Leader},
    words::{count, duration, grouped, moment},
};
use paint::{Paint, Tone, pad};
use protocols::history::Header;
use std::collections::BTreeMap;

/// The widest line, characters, unless somebody asks for another width.
pub const WIDTH: usize = 100;
/// The narrowest report, characters.
pub const WIDTH_MIN: usize = 50;
/// Reports that are narrower have one column where others have two, and no table.
const TWO_COLUMNS_MIN: usize = 90;
/// How many leaders are listed from the start, and how many from the end.
const LEADERS_MAX: (usize, usize) = (8, 4);

/// Kinds of messages that are shown.
const KINDS_MAX: usize = 6;

/// One run, as the report needs it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What the history said of itself; `None` for a foreign log.
    pub header: Option<&'a Header>,
    /// The plan's parameters, label and value, in the order to show them.
    pub parameters: &'a [(String, String)],
    /// The story.
    pub highlights: &'a Highlights,
    /// The verdict.
    pub judgement: &'a Judgement,
    /// What is known beside the history.
    pub facts: &'a RunFacts,
    /// The command that shows the run again.
    pub replay: Option<&'a str>,
    /// What to run next when something went wrong: what it shows, and the command.
    pub next: &'a [(&'static str, String)],
    /// Colour it, for a terminal.
    pub colour: bool,
}

/// `text` in indented lines of so many characters, each ending with a line end.
pub fn paragraph(text: &str, width: usize) -> String {
    let lines = wrap(text, width.max(WIDTH_MIN) - 4);
    lines
        .iter()
        .enumerate()
        .map(|(place, line)| format!("{}{line}\n", if place == 0 { "  " } else { "    " }))
        .collect()
}

/// The report, ending with a line end. No line is longer than 100 characters, except the replay command.
pub fn render(run: &Run) -> String {
    render_in(run, WIDTH)
}

/// The same in lines of so many characters, at least [`WIDTH_MIN`]. Only what has no space in it is longer.
pub fn render_in(run: &Run, width: usize) -> String {
    let paint = Paint { colour: run.colour, width: width.max(WIDTH_MIN) };
    let mut lines = vec![headline(run, paint)];
    lines.extend(head::lines(run.judgement, run.highlights, run.next, paint));
    let mut section = |title: &str, body: Vec<String>| {
        if !body.is_empty() {
            lines.push(String::new());
            lines.push(paint.paint(Tone::Bold, title));
            lines.extend(
                body.into_iter().map(|l| if l.is_empty() { l } else { format!("  {l}").trim_end().to_owned() }),
            );
        }
    };
    section("Plan", columns(run.parameters, paint.width));
    let of = run.highlights.group.map_or(String::new(), |group| format!(" of group {group}"));
    section(&format!("Timeline{of}"), timeline::draw::draw(run.highlights, paint));
    section(&format!("Leaders{of}"), leaders(run.highlights, paint));
    section("Groups", groups::lines(&run.judgement.groups, paint));
    let shards = run.judgement.metrics.shards.as_ref().map(|figures| shards::lines(figures, paint));
    section("Shards", shards.unwrap_or_default());
    section("Invariants", invariants::lines(&run.judgement.invariants, paint));
    section("Figures", columns(&figures(run), paint.width));
    lines.push(String::new());
    lines.extend(verdict(run.judgement, paint));
    if let Some(replay) = run.replay {
        lines.push(format!("{} {replay}", paint.paint(Tone::Dim, "run it again:")));
    }
    lines.join("\n") + "\n"
}

fn headline(run: &Run, paint: Paint) -> String {
    let title = match run.header {
        Some(h) => {
            format!("{} · {} · seed {} · fencing {}", h.scenario, h.protocol, h.seed, h.fencing.word())
        }
        None => format!("a history of {}", count(run.judgement.history_events, "event")),
    };
    paint.paint(Tone::Bold, &title)
}

/// Pairs in two columns, filled downwards; a pair that is too wide for its column gets a line.
fn columns(pairs: &[(String, String)], width: usize) -> Vec<String> {
    let (columns, column) = if width < TWO_COLUMNS_MIN { (1, width - 2) } else { (2, (width - 4) / 2) };
    let label = pairs.iter().map(|(l, _)| l.chars().count()).max().unwrap_or(0) + 2;
    let value_width = column.saturating_sub(label).max(1);
    let (wide, narrow): (Vec<_>, Vec<_>) = pairs.iter().partition(|(_, v)| v.chars().count() + 2 > value_width);
    let rows = narrow.len().div_ceil(columns);
    let cell = |pair: &(String, String)| format!("{}{}", pad(&pair.0, label), pair.1);
    let mut lines = Vec::new();
    for row in 0..rows {
        let left = pad(&cell(narrow[row]), column);
        let right = narrow.get(row + rows).map(|pair| cell(pair)).unwrap_or_default();
        lines.push(format!("{left}{right}").trim_end().to_owned());
    }
    let room = width.saturating_sub(2 + label).max(1);
    for (label_text, value) in wide {
        // A word that is too long for its column gets a line to itself.
        let below = value.split(' ').any(|word| word.chars().count() > room);
        let parts = if below { wrap(value, width - 4) } else { wrap(value, room) };
        if below {
            lines.push(label_text.clone());
            lines.extend(parts.iter().map(|part| format!("  {part}")));
            continue;
        }
        for (place, part) in parts.into_iter().enumerate() {
            let head = if place == 0 { label_text.as_str() } else { "" };
            lines.push(format!("{}{part}", pad(head, label)));
        }
    }
    lines
}

/// The column of leaders has so much room at least, characters.
const LEADER_MIN: usize = 18;

fn leaders(highlights: &Highlights, paint: Paint) -> Vec<String> {
    let all = highlights.leaders();
    if all.is_empty() {
        return Vec::new();
    }
    // A token that is cut off says nothing: the column is as wide as the longest.
    let names = all.iter().map(|leader| highlights.names().incarnation(leader.incarnation).chars().count() + 2);
    let named = names.max().unwrap_or(0).max(LEADER_MIN);
    let narrow = paint.width < TWO_COLUMNS_MIN + named - LEADER_MIN;
    let row = |cells: [&str; 6]| {
        let widths = [named, 10, 20, 22, 9, 0];
        let aligned =
            cells.iter().zip(widths).map(|(cell, width)| if width == 0 { (*cell).into() } else { pad(cell, width) });
        aligned.collect::<String>().trim_end().to_owned()
    };
    let titles = ["", "elected", "took effect", "accepted", "refused", "believed until"];
    let mut lines = if narrow { Vec::new() } else { vec![paint.paint(Tone::Dim, &row(titles))] };
    let (head, tail) = LEADERS_MAX;
    for (place, leader) in all.iter().enumerate() {
        if all.len() > head + tail && (head..all.len() - tail).contains(&place) {
            if place == head {
                lines.push(
                    paint.paint(
                        Tone::Dim,
                        &format!("… {} left out …", count((all.len() - head - tail) as u64, "leader")),
                    ),
                );
            }
            continue;
        }
        let cells = leader_cells(highlights, leader);
        let cells = cells.each_ref().map(String::as_str);
        let tone = if leader.stale > 0 { Tone::Bad } else { Tone::Plain };
        match narrow {
            true => lines.extend(told(cells, titles, paint.width - 4).iter().map(|line| paint.paint(tone, line))),
            false => lines.push(paint.paint(tone, &row(cells))),
        }
    }
    lines
}

/// A row of the table as a sentence, where there is no room for a table.
fn told(cells: [&str; 6], titles: [&str; 6], width: usize) -> Vec<String> {
    let parts = cells.iter().zip(titles).skip(1).filter(|(cell, _)| !cell.is_empty());
    let parts: Vec<String> = parts.map(|(cell, title)| format!("{title} {cell}")).collect();
    let lines = wrap(&format!("{}: {}", cells[0], parts.join(", ")), width - 2);
    lines.into_iter().enumerate().map(|(place, line)| if place == 0 { line } else { format!("  {line}") }).collect()
}

fn leader_cells(highlights: &Highlights, leader: &Leader) -> [String; 6] {
    let seconds = |us: u64| format!("{:.3}", us as f64 / 1e6);
    let effect = match (leader.first_us, leader.last_us) {
        (Some(first), Some(last)) => format!("{} – {} s", seconds(first), seconds(last)),
        _ => "never".to_owned(),
    };
    let until = match (leader.ended, leader.elected_us) {
        (Some((t_us, why)), _) => format!("{}, {why}", moment(t_us)),
        (None, Some(_)) => "the end".to_owned(),
        (None, None) => String::new(),
    };
    let stale = if leader.stale > 0 {
        format!("{} ({} stale)", grouped(leader.accepted), grouped(leader.stale))
    } else {
        grouped(leader.accepted)
    };
    let elected = leader.elected_us.map_or(String::new(), moment);
    [highlights.names().incarnation(leader.incarnation), elected, effect, stale, grouped(leader.refused), until]
}

/// A list of times: each when they are few, otherwise how they spread.
fn times(values_ms: &[f64]) -> String {
    let say = |ms: f64| duration(ms * 1000.0);
    match values_ms {
        [] => "none".to_owned(),
        few if few.len() <= 3 => few.iter().map(|ms| say(*ms)).collect::<Vec<_>>().join(", "),
        many => {
            let mut sorted = many.to_vec();
            sorted.sort_by(f64::total_cmp);
            let [least, median, most] = [0, sorted.len() / 2, sorted.len() - 1].map(|place| say(sorted[place]));
            format!("{} times, {least} to {most}, median {median}", many.len())
        }
    }
}

/// Message counts: those that are most, and how many there are of all others together.
fn by_kind(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    counts.sort_by_key(|(kind, n)| (std::cmp::Reverse(*n), *kind));
    let shown = if counts.len() > KINDS_MAX { KINDS_MAX - 1 } else { counts.len() };
    let (most, others) = counts.split_at(shown);
    let others: u64 = others.iter().map(|(_, n)| n).sum();
    let mut words: Vec<_> = most.iter().map(|(kind, n)| format!("{} {kind}", grouped(*n))).collect();
    if others > 0 {
        words.push(format!("{} of other kinds", grouped(others)));
    }
    words.join(", ")
}

/// What hand-overs cost the leader's work-set, if it has one.
fn work_set(m: &Metrics) -> Vec<(&'static str, String)> {
    let (Some(done), Some(again), Some(skipped)) = (m.work_done, m.work_redone, m.work_skipped) else {
        return Vec::new();
    };
    let stalled = m.work_stalled_ms_max.map(|ms| ("work-set stood still for", duration(ms * 1000.0)));
    let rows = [
        ("items of the work-set done", grouped(done)),
        ("of them done again", grouped(again)),
        ("items left out", grouped(skipped)),
    ];
    rows.into_iter().chain(stalled).collect()
}

/// How often effects outside were had, if there are any.
fn outside(m: &Metrics) -> Vec<(&'static str, String)> {
    let (Some(done), Some(again), Some(left_out)) = (m.effects_done, m.effects_repeated, m.effects_left_out) else {
        return Vec::new();
    };
    vec![
        ("items done outside", grouped(done)),
        ("of them done twice", grouped(again)),
        ("items passed over", grouped(left_out)),
    ]
}

fn figures(run: &Run) -> Vec<(String, String)> {
    let m = &run.judgement.metrics;
    let ms = |ms: f64| duration(ms * 1000.0);
    let failover = match m.failover_censored {
        0 => times(&m.failover_ms),
        n => format!("{}; {n} never recovered", times(&m.failover_ms)),
    };
    let mut rows = vec![
        ("leaders taking effect at once", grouped(m.leaders_acting_by_effect_max)),
        ("nodes believing at once", grouped(m.leaders_believing_max)),
        ("more than one believed for", ms(m.dual_belief_ms)),
        ("elections", grouped(m.elections)),
        ("failovers that were not needed", grouped(m.false_failovers)),
        ("failovers that a pause caused", grouped(m.avoidable_failovers)),
        ("writes accepted", grouped(m.writes_accepted)),
        ("writes refused for their token", grouped(m.writes_fenced)),
        ("writes of unknown outcome", grouped(m.writes_unknown)),
        ("numbers skipped", grouped(m.seq_gaps)),
    ];
    if let Some(copies) = &m.copies {
        rows.push(("acknowledged and lost", grouped(copies.writes_lost)));
        rows.push(("copies differed for", ms(copies.diverged_ms)));
    }
    if m.leaders_acting_by_effect_max > 1 {
        rows.push(("more than one took effect for", ms(m.dual_effect_ms)));
    }
    if m.reads_answered > 0 {
        rows.push(("reads answered", grouped(m.reads_answered)));
        rows.push(("stale reads", grouped(m.reads_stale)));
    }
    if let Some(dark_ms) = m.dark_ms {
        rows.push(("dark time", ms(dark_ms)));
        rows.extend(m.availability.map(|a| ("available", format!("{:.3} %", a * 100.0))));
    }
    rows.push(("failover time", failover));
    rows.push(("election time", times(&m.election_time_ms)));
    rows.push(("election latency", times(&m.election_latency_ms)));
    rows.push(("handoff gap, by effect", times(&m.handoff_effect_gap_ms)));
    rows.push(("handoff gap, by intent", times(&m.handoff_intent_gap_ms)));
    rows.extend(work_set(m));
    rows.extend(outside(m));
    rows.extend(m.cache_stale_ms.map(|stale_ms| ("a cache was set back for", ms(stale_ms))));
    if m.messages > 0 {
        rows.push(("messages", grouped(m.messages)));
    }
    if !m.messages_by_kind.is_empty() {
        rows.push(("contested elections", grouped(m.contested_elections)));
        rows.push(("messages of the election", by_kind(&m.messages_by_kind)));
    }
    if let Some(asked) = m.requests_to_service {
        let peak = m.requests_to_service_in_one_second_max.zip(m.requests_to_service_in_ten_ms_max);
        let peak = peak.map_or_else(String::new, |(second, burst)| {
            format!("; after the first fault at most {} in 1 s, {} in 10 ms", grouped(second), grouped(burst))
        });
        rows.push(("requests to the service", grouped(asked) + &peak));
    }
    if let Some(events) = run.facts.events {
        rows.push(("events", grouped(events)));
    }
    if let Some(simulated_ms) = run.facts.simulated_ms {
        rows.push(("simulated time", duration(simulated_ms as f64 * 1000.0)));
    }
    if let Some(wall_ms) = run.facts.wall_ms {
        rows.push(("real time", duration(wall_ms as f64 * 1000.0)));
    }
    if let Some(hash) = &run.facts.trace_hash {
        rows.push(("trace hash", hash.clone()));
    }
    rows.into_iter().map(|(label, value)| (label.to_owned(), value)).collect()
}

/// What was asked of the run and did not happen.
fn unmet(judgement: &Judgement) -> String {
    judgement.invariant("vacuity").map_or_else(String::new, |vacuity| vacuity.detail.clone())
}

fn verdict(judgement: &Judgement, paint: Paint) -> Vec<String> {
    let failed = |class| {
        let entries = ALL.iter().filter(|e| e.class == class);
        let broken = entries.filter(|e| judgement.invariant(e.name).is_some_and(|i| !i.holds));
        broken.map(|e| e.name).collect::<Vec<_>>().join(", ")
    };
    let (tone, text) = match judgement.verdict {
        Verdict::Pass => (Tone::Good, "PASS: every invariant held".to_owned()),
        Verdict::Safety => (Tone::Bad, format!("SAFETY VIOLATED: {}", failed(Class::Safety))),
        Verdict::Liveness => {
            let what = match failed(Class::Liveness) {
                only if only == invariant::placed::ENTRY.name => "a shard stayed with another than it is placed at",
                _ => "no leader acted within the bound",
            };
            (Tone::Bad, format!("LIVENESS VIOLATED: {what}"))
        }
        Verdict::Vacuous => {
            (Tone::Warn, format!("INCONCLUSIVE: the situation under test never arose ({})", unmet(judgement)))
        }
    };
    wrap(&text, paint.width).iter().map(|line| paint.paint(tone, line)).collect()
}
