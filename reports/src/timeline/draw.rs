//! The story as text: a line per event, a lane per node, and one for the store.

use super::{
    Highlights,
    row::{LaneState, Mark, Row, Running},
};
use crate::{
    clock::Clock,
    course::moment::Turn,
    metrics::DarkStretch,
    phrases,
    text::paint::{Paint, Tone, columns, middled, pad, wrap},
    words::{count, duration},
};

/// How many lanes fit beside the story.
const LANES_MAX: usize = 12;
/// A longer interval without a line gets a line of its own, microseconds.
const QUIET_US: u64 = 200_000;
/// The widest name of a node; longer ones are cut.
const NAME_MAX: usize = 12;
/// The columns for all lanes together; names are cut further if there are many.
const LANES_WIDTH: usize = 40;
/// The least width of the story, however narrow the report is.
const TEXT_MIN: usize = 20;

const LEGEND: [(&str, Tone, &str); 7] = [
    ("█", Tone::Good, "believes that it leads"),
    ("?", Tone::Warn, "not yet reported as stopped"),
    ("▒", Tone::Warn, "believes, but is paused"),
    ("░", Tone::Warn, "paused"),
    ("·", Tone::Dim, "follows"),
    ("×", Tone::Bad, "down"),
    ("~", Tone::Warn, "cut off"),
];

/// The lines of the timeline, with its heading and legend.
pub(crate) fn draw(highlights: &Highlights, paint: Paint) -> Vec<String> {
    let drawing = Drawing::new(highlights, paint);
    let mut lines = vec![drawing.heading()];
    let mut before: Option<&Row> = None;
    for row in &highlights.head {
        drawing.quiet(before, row, &mut lines);
        drawing.row(row, &mut lines);
        before = row.accepted.map_or(before, |_| Some(row));
    }
    if highlights.left_out > 0 {
        let text = format!("{} left out", count(highlights.left_out, "line"));
        lines.push(paint.paint(Tone::Dim, &format!("{:>width$}… {text} …", "", width = drawing.time_width)));
        before = None;
    }
    for row in &highlights.tail {
        drawing.quiet(before, row, &mut lines);
        drawing.row(row, &mut lines);
        before = row.accepted.map_or(before, |_| Some(row));
    }
    lines.extend(drawing.legend());
    lines
}

struct Drawing<'a> {
    highlights: &'a Highlights,
    paint: Paint,
    clock: Clock,
    /// The columns before the lanes.
    time_width: usize,
    lane_width: usize,
    /// The columns of the store's lane.
    store_width: usize,
}

impl<'a> Drawing<'a> {
    fn new(highlights: &'a Highlights, paint: Paint) -> Self {
        let shown = highlights.lanes().len().clamp(1, LANES_MAX);
        let names = highlights.lanes().iter().map(|n| columns(&highlights.names().node(*n)));
        let name = names.max().unwrap_or(0).min(NAME_MAX);
        let (rows, clock) = (highlights.head.iter().chain(&highlights.tail), highlights.names().clock());
        let time_width = rows.map(|row| clock.bare(row.t_us).len()).max().unwrap_or(0).max(9) + 2;
        let lane_width = name.min((LANES_WIDTH / shown).saturating_sub(1)).max(2) + 1;
        Drawing { highlights, paint, clock, time_width, lane_width, store_width: name.max(2) + 5 }
    }

    fn lanes(&self) -> usize {
        self.highlights.lanes().len().min(LANES_MAX)
    }

    fn heading(&self) -> String {
        let mut line = format!("{:>width$}", "time  ", width = self.time_width);
        for node in self.highlights.lanes().iter().take(LANES_MAX) {
            line += &middled(&self.highlights.names().node(*node), self.lane_width - 1);
            line.push(' ');
        }
        line += " store";
        if self.highlights.lanes().len() > LANES_MAX {
            line += &format!("   (the first {LANES_MAX} of {} nodes)", self.highlights.lanes().len());
        }
        self.paint.paint(Tone::Dim, line.trim_end())
    }

    fn legend(&self) -> Vec<String> {
        let shown = |glyph: &str| {
            let rows = self.highlights.head.iter().chain(&self.highlights.tail);
            let mut states = rows.flat_map(|row| &row.lanes);
            states.any(|state| look(*state).0 == glyph || (glyph == "~" && state.cut_off))
        };
        // A log of writes does not say who leads.
        let follows = if self.highlights.tells_beliefs { "follows" } else { "runs; the log does not say who believes" };
        let entries = LEGEND.iter().filter(|(glyph, ..)| shown(glyph));
        let entries =
            entries.map(|(glyph, tone, says)| (glyph, *tone, if *says == "follows" { follows } else { says }));
        // A line is broken only between entries.
        let (mut lines, mut used) = (vec![String::new()], 0);
        for (glyph, tone, says) in entries {
            let length = 2 + says.chars().count();
            if used > 0 && self.time_width + used + 3 + length > self.paint.width - 2 {
                lines.push(String::new());
                used = 0;
            }
            let (gap, last) = (if used > 0 { 3 } else { 0 }, lines.len() - 1);
            lines[last] += &format!("{:gap$}{} {says}", "", self.paint.paint(tone, glyph));
            used += gap + length;
        }
        lines.into_iter().map(|line| format!("{:width$}{line}", "", width = self.time_width)).collect()
    }

    /// A line for a long interval between two others for which it is known: what was accepted in it?
    fn quiet(&self, before: Option<&Row>, row: &Row, lines: &mut Vec<String>) {
        let Some(before) = before.filter(|b| row.t_us - b.t_us >= QUIET_US) else { return };
        let (Some(until), Some(from)) = (row.accepted, before.accepted) else { return };
        let (writes, length) = (until - from, duration((row.t_us - before.t_us) as f64));
        let (mut new, mut goes_on) = (Vec::new(), false);
        for dark in self.highlights.dark.iter().filter(|dark| is_within(dark, before, row)) {
            match self.was_told(dark, before) {
                true => goes_on = true,
                false => new.push(dark.dark_us),
            }
        }
        let dark = match new[..] {
            [] => None,
            [one] => Some(phrases::dark(one)),
            ref all => {
                let sum = phrases::dark(all.iter().sum());
                Some(format!("{sum}, in {} parts", all.len()))
            }
        };
        let (tone, text) = match (writes, dark) {
            (0, Some(dark)) => (Tone::Warn, dark),
            (0, None) if goes_on => (Tone::Warn, "still dark".to_owned()),
            (0, None) => (Tone::Warn, format!("no write accepted in {length}")),
            (n, None) => (Tone::Dim, format!("{} accepted in {length}", count(n, "write"))),
            (n, Some(dark)) => (Tone::Warn, format!("{} accepted in {length}; {dark}", count(n, "write"))),
        };
        let time = format!("{:>width$}", "⋮    ", width = self.time_width);
        let lanes = self.lane_cells(&before.lanes);
        let store = if writes == 0 { "" } else { "┃" };
        let store = self.paint.paint(Tone::Dim, &pad(store, self.store_width));
        lines.push(format!("{}{lanes} {store}{}", self.paint.paint(Tone::Dim, &time), self.paint.paint(tone, &text)));
    }

    /// Was the dark interval already shown between two earlier lines?
    fn was_told(&self, dark: &DarkStretch, before: &Row) -> bool {
        let rows: Vec<&Row> = self.highlights.head.iter().chain(&self.highlights.tail).collect();
        let earlier = rows.windows(2).take_while(|pair| pair[1].t_us <= before.t_us);
        let mut quiet = earlier.filter(|pair| pair[1].t_us - pair[0].t_us >= QUIET_US);
        quiet.any(|pair| is_within(dark, pair[0], pair[1]))
    }

    fn row(&self, row: &Row, lines: &mut Vec<String>) {
        let time = format!("{:>width$}  ", self.clock.bare(row.t_us), width = self.time_width - 2);
        let (store, tone) = self.store_cell(row);
        let indent = self.time_width + self.lanes() * self.lane_width + 1 + self.store_width;
        let text = wrap(&row.text, self.paint.width.saturating_sub(2 + indent).max(TEXT_MIN));
        let blank = " ".repeat(self.time_width);
        for (place, part) in text.iter().enumerate() {
            let (time, store) = match place {
                0 => (time.as_str(), self.paint.paint(store_tone(row.mark), &middled(&store, self.store_width - 1))),
                _ => (blank.as_str(), " ".repeat(self.store_width - 1)),
            };
            let lanes = self.lane_cells(&row.lanes);
            let line = format!("{time}{lanes} {store} {}", self.paint.paint(tone, part));
            lines.push(line.trim_end().to_owned());
        }
    }

    fn lane_cells(&self, states: &[LaneState]) -> String {
        let mut cells = String::new();
        for place in 0..self.lanes() {
            let state = states.get(place).copied().unwrap_or_default();
            let (glyph, tone) = look(state);
            let cut = if state.cut_off { "~" } else { " " };
            cells += &self.paint.paint(tone, glyph);
            cells += &self.paint.paint(Tone::Warn, cut);
            cells += &" ".repeat(self.lane_width - 2);
        }
        cells
    }

    fn store_cell(&self, row: &Row) -> (String, Tone) {
        let name = |node| self.highlights.names().node(node).into_owned();
        match row.mark {
            Mark::Quiet => {
                let tone = match row.turn {
                    Some(Turn::Bad) => Tone::Bad,
                    Some(Turn::Fault) => Tone::Warn,
                    _ => Tone::Plain,
                };
                (if row.in_effect { "┃".to_owned() } else { String::new() }, tone)
            }
            Mark::Accepted(node) => (format!("✓ {}", name(node)), Tone::Plain),
            Mark::Refused(node) => (format!("✗ {}", name(node)), Tone::Good),
            Mark::Stale(node) => (format!("! {}", name(node)), Tone::Bad),
        }
    }
}

fn store_tone(mark: Mark) -> Tone {
    match mark {
        Mark::Quiet => Tone::Dim,
        Mark::Accepted(_) => Tone::Good,
        Mark::Refused(_) => Tone::Warn,
        Mark::Stale(_) => Tone::Bad,
    }
}

fn look(state: LaneState) -> (&'static str, Tone) {
    match (state.running, state.believes) {
        (Running::NotYet, false) => (" ", Tone::Plain),
        (Running::Paused, true) => ("▒", Tone::Warn),
        (Running::Paused, false) => ("░", Tone::Warn),
        (Running::Down, _) => ("×", Tone::Bad),
        (_, true) => ("█", Tone::Good),
        (_, false) if state.untold => ("?", Tone::Warn),
        (Running::Runs, false) => ("·", Tone::Dim),
    }
}

/// Does it lie between two lines, at least mostly? The last request before a line may be the first that is not served.
fn is_within(dark: &DarkStretch, before: &Row, row: &Row) -> bool {
    let within_us = dark.to_us.min(row.t_us).saturating_sub(dark.from_us.max(before.t_us));
    within_us > 0 && within_us >= (QUIET_US / 2).min(dark.to_us - dark.from_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Judge, by_group::Stories};
    use protocols::{
        history::{Event, Kind, NodeState, Sink},
        types::NodeId,
    };

    #[test]
    fn the_dead_neither_stop_nor_wake() {
        let mut stories = Stories::new(None);
        stories.learn(&["n1".to_owned()], None);
        let states = [NodeState::Up, NodeState::Down, NodeState::Paused, NodeState::Resumed];
        for (place, state) in states.into_iter().enumerate() {
            let kind = Kind::Node { node: NodeId(0), state };
            stories.record(&Event { t_us: place as u64 * 1_000_000, group: 0, kind });
        }
        let highlights = stories.into_telling(&Judge::new(None).finish());
        let text = draw(&highlights, Paint { colour: false, width: 100 }).join("\n");
        assert!(text.contains("n1 is killed") && text.contains('×'), "{text}");
        assert!(!text.contains("paused") && !text.contains("runs again"), "{text}");
    }
}
