//! The text report of one run: what went wrong, the plan, what happened, what held, the figures, and how to repeat it.

mod figures;
mod groups;
mod invariants;
pub(crate) mod paint;

pub use paint::wrap;

use crate::{
    Judgement, Verdict,
    invariant::{self, ALL, Class},
    json::RunFacts,
    timeline::{self, Highlights, Leader},
    words::{count, grouped},
};
use invariants::Told;
use paint::{Paint, Tone, pad};
use protocols::history::Header;

/// The default width of lines, characters.
pub const WIDTH: usize = 100;
/// The smallest width, characters.
pub const WIDTH_MIN: usize = 50;
/// Narrower reports have one column instead of two, and no table.
const TWO_COLUMNS_MIN: usize = 90;
/// How many leaders are listed from the beginning, and how many from the end.
const LEADERS_MAX: (usize, usize) = (8, 4);

/// A run and what else the report needs.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The history's header; `None` for a log.
    pub header: Option<&'a Header>,
    /// Labels and values of the plan's parameters, in the order to show them.
    pub parameters: &'a [(String, String)],
    pub highlights: &'a Highlights,
    pub judgement: &'a Judgement,
    /// Facts that are not in the history.
    pub facts: &'a RunFacts,
    /// The command that repeats the run.
    pub replay: Option<&'a str>,
    /// If known, why the run tested too little and which option to change: a sentence without its full stop.
    pub meaning: Option<&'a str>,
    /// What to run next if something went wrong: what it shows, and the command.
    pub next: &'a [(&'a str, String)],
    /// Print the whole report? Otherwise, a run gets its timeline, violated invariants, a few figures and the verdict.
    pub all: bool,
    /// Use colours, for a terminal?
    pub colour: bool,
}

/// Wraps `text` into indented lines of `width` characters, each with a line end.
pub fn paragraph(text: &str, width: usize) -> String {
    let lines = wrap(text, width.max(WIDTH_MIN) - 4);
    lines
        .iter()
        .enumerate()
        .map(|(place, line)| format!("{}{line}\n", if place == 0 { "  " } else { "    " }))
        .collect()
}

/// The report, ending with a line end. No line exceeds 100 characters, except the replay command.
pub fn render(run: &Run) -> String {
    render_in(run, WIDTH)
}

/// The same for lines of `width` characters, at least [`WIDTH_MIN`]. Only text without spaces is longer.
pub fn render_in(run: &Run, width: usize) -> String {
    let paint = Paint { colour: run.colour, width: width.max(WIDTH_MIN) };
    let mut lines = vec![headline(run, paint)];
    lines.extend(invariants::head_lines(run.judgement, run.highlights, run.meaning, run.next, paint));
    let mut section = |title: &str, body: Vec<String>| {
        if !body.is_empty() {
            lines.push(String::new());
            lines.push(paint.paint(Tone::Bold, title));
            lines.extend(
                body.into_iter().map(|l| if l.is_empty() { l } else { format!("  {l}").trim_end().to_owned() }),
            );
        }
    };
    // A run can be repeated to get the whole report; a log without a header cannot.
    let whole = run.all || run.header.is_none();
    section("Plan", if whole { columns(run.parameters, paint.width) } else { Vec::new() });
    let of = run.highlights.group.map_or(String::new(), |group| format!(" of group {group}"));
    section(&format!("Timeline{of}"), timeline::draw::draw(run.highlights, paint));
    section(&format!("Leaders{of}"), if whole { leaders(run.highlights, paint) } else { Vec::new() });
    section("Groups", groups::lines(&run.judgement.groups, paint));
    let shards = run.judgement.metrics.shards.as_ref().map(|figures| groups::shard_lines(figures, paint));
    section("Shards", shards.unwrap_or_default());
    let told = match (run.all, run.header) {
        (true, _) => Told::All,
        (false, None) => Told::Checked,
        (false, Some(_)) if run.judgement.groups.is_empty() => Told::Violated,
        // Each group lists its own.
        (false, Some(_)) => Told::Nothing,
    };
    section("Invariants", invariants::lines(&run.judgement.invariants, told, paint));
    let specified = &run.judgement.specified;
    let told = whole || specified.contradiction.is_some();
    section("Specification", if told { wrap(&specified.say(), paint.width - 2) } else { Vec::new() });
    let figures = figures::of(&run.judgement.metrics, run.facts, run.header).into_iter();
    let figures: Vec<_> = figures.filter(|(label, _)| whole || figures::BRIEF.contains(&&**label)).collect();
    section("Figures", columns(&figures, paint.width));
    lines.push(String::new());
    lines.extend(verdict(run.judgement, run.header.is_some(), paint));
    if let Some(replay) = run.replay {
        lines.push(format!("{} {replay}", paint.paint(Tone::Dim, "run it again:")));
    }
    if !whole {
        lines.push(paint.paint(Tone::Dim, "-v shows the plan, leaders, invariants, all figures"));
    }
    lines.join("\n") + "\n"
}

fn headline(run: &Run, paint: Paint) -> String {
    let title = match run.header {
        // Of a drill: what somebody else's store checks, nobody says.
        Some(h) if h.plan_digest.is_empty() => format!("{} · {} · seed {}", h.scenario, h.protocol, h.seed),
        Some(h) => {
            format!("{} · {} · seed {} · fencing {}", h.scenario, h.protocol, h.seed, h.fencing.word())
        }
        None => format!("a history of {}", count(run.judgement.history_events, "event")),
    };
    paint.paint(Tone::Bold, &title)
}

/// Pairs in two columns, filled downwards; a pair too wide for its column gets its own line.
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
        // If a word is too long for its column, the value gets its own lines.
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

/// The room for when and why a belief ended, characters.
const LAST_MIN: usize = 24;
/// The least room for the column of leaders, characters.
const LEADER_MIN: usize = 18;

fn leaders(highlights: &Highlights, paint: Paint) -> Vec<String> {
    let all = highlights.leaders();
    if all.is_empty() {
        return Vec::new();
    }
    // A truncated token says nothing, so the column is as wide as the longest name.
    let names = all.iter().map(|leader| highlights.names().incarnation(leader.incarnation).chars().count() + 2);
    let named = names.max().unwrap_or(0).max(LEADER_MIN);
    // A log of writes has no elections and beliefs: empty columns are omitted.
    let mut used = [false; 6];
    let mut widths = [named, 10, 20, 22, 9, 0];
    for leader in all {
        let cells = leader_cells(highlights, leader);
        cells.iter().zip(&mut used).for_each(|(cell, used)| *used |= !cell.is_empty());
        // A time of day needs more room than seconds.
        cells.iter().zip(&mut widths).take(3).for_each(|(cell, width)| *width = (cell.chars().count() + 2).max(*width));
    }
    let row = |cells: [&str; 6]| {
        let aligned =
            cells.iter().zip(widths).zip(used).filter(|(_, used)| *used).map(|((cell, width), _)| match width {
                0 => (*cell).to_owned(),
                width => pad(cell, width),
            });
        aligned.collect::<String>().trim_end().to_owned()
    };
    // Seconds need no more room than the titles; times of day may.
    let all_used: usize = widths.iter().zip(used).filter(|(_, used)| *used).map(|(width, _)| *width).sum();
    let narrow = match highlights.names().clock().is_elapsed() {
        true => paint.width < TWO_COLUMNS_MIN + named - LEADER_MIN,
        false => paint.width < TWO_COLUMNS_MIN.max(all_used + if used[5] { LAST_MIN } else { 2 }),
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

/// A row of the table as a sentence, if there is no room for a table.
fn told(cells: [&str; 6], titles: [&str; 6], width: usize) -> Vec<String> {
    let parts = cells.iter().zip(titles).skip(1).filter(|(cell, _)| !cell.is_empty());
    let parts: Vec<String> = parts.map(|(cell, title)| format!("{title} {cell}")).collect();
    let lines = wrap(&format!("{}: {}", cells[0], parts.join(", ")), width - 2);
    lines.into_iter().enumerate().map(|(place, line)| if place == 0 { line } else { format!("  {line}") }).collect()
}

fn leader_cells(highlights: &Highlights, leader: &Leader) -> [String; 6] {
    let clock = highlights.names().clock();
    let effect = match (leader.first_us, leader.last_us) {
        (Some(first), Some(last)) => clock.span(first, last),
        _ => "never".to_owned(),
    };
    let until = match (leader.ended, leader.elected_us) {
        (Some((t_us, why)), _) => format!("{}, {}", clock.moment(t_us), why.words()),
        (None, Some(_)) if leader.left_open => "not said".to_owned(),
        (None, Some(_)) => "the end".to_owned(),
        (None, None) => String::new(),
    };
    let stale = if leader.stale > 0 {
        format!("{} ({} stale)", grouped(leader.accepted), grouped(leader.stale))
    } else {
        grouped(leader.accepted)
    };
    let elected = leader.elected_us.map_or(String::new(), |t_us| clock.moment(t_us));
    [highlights.names().incarnation(leader.incarnation), elected, effect, stale, grouped(leader.refused), until]
}

/// What the run was required to show and did not.
fn unmet(judgement: &Judgement) -> String {
    judgement.invariant("vacuity").map_or_else(String::new, |vacuity| vacuity.detail.to_string())
}

/// A pass mentions the fraction of requests served in time if it is below this.
const SERVED_LEAST: f64 = 0.8;

/// That many requests were not served in time although every invariant held, to be appended to a sentence; empty
/// otherwise.
pub fn unserved(judgement: &Judgement) -> String {
    let Some(share) = judgement.metrics.availability.filter(|share| *share < SERVED_LEAST) else {
        return String::new();
    };
    format!("; but {:.1} % of the requests were not served in time", (1.0 - share) * 100.0)
}

/// `whole`: the history is complete, unlike a log.
fn verdict(judgement: &Judgement, whole: bool, paint: Paint) -> Vec<String> {
    let failed = |class| {
        let entries = ALL.iter().filter(|e| e.class == class);
        let broken = entries.filter(|e| judgement.invariant(e.name).is_some_and(|i| !i.holds));
        broken.map(|e| e.name).collect::<Vec<_>>().join(", ")
    };
    let (tone, text) = match judgement.verdict {
        Verdict::Pass if whole => (Tone::Good, format!("PASS: every invariant held{}", unserved(judgement))),
        Verdict::Pass => {
            let seen = judgement.invariants.iter().filter(|i| i.could_fail && i.name != invariant::vacuity::ENTRY.name);
            let (seen, all) = (seen.count(), ALL.len() - 1);
            (Tone::Good, format!("PASS: every invariant that could be checked held: {seen} of {all}"))
        }
        Verdict::Safety => (Tone::Bad, format!("SAFETY VIOLATED: {}", failed(Class::Safety))),
        Verdict::Liveness => {
            let what = match failed(Class::Liveness) {
                only if only == invariant::placed::ENTRY.name => "a shard stayed with the wrong member",
                _ => "no leader acted within the bound",
            };
            (Tone::Bad, format!("LIVENESS VIOLATED: {what}"))
        }
        Verdict::Vacuous if judgement.specified.contradiction.is_some() => {
            (Tone::Warn, format!("INCONCLUSIVE: {}; please report it", judgement.specified.say()))
        }
        Verdict::Vacuous if judgement.is_cut_short => {
            (Tone::Warn, format!("INTERRUPTED: {}; nothing was violated until then", unmet(judgement)))
        }
        Verdict::Vacuous if !whole => (
            Tone::Warn,
            format!("INCONCLUSIVE: this log does not show whether leadership was safe ({})", unmet(judgement)),
        ),
        Verdict::Vacuous => {
            (Tone::Warn, format!("INCONCLUSIVE: the situation under test never arose ({})", unmet(judgement)))
        }
    };
    wrap(&text, paint.width).iter().map(|line| paint.paint(tone, line)).collect()
}
