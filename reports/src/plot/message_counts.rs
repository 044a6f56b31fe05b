//! The cost of one election in messages: by kind, against the number of candidates, with a panel for each protocol.

use super::{Area, Axis, Failed, GRID, INK, Picture, Undrawable, colour, number, style, text_colour, within};
use plotters::{
    coord::CoordTranslate,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Width and height of a panel, pixels.
const PANEL: (u32, u32) = (700, 440);
/// Panels per row.
const COLUMNS: u32 = 2;
/// Space for the title, beside the bars for the kinds' names, and below the panels.
const MARGINS: (u32, u32, u32) = (96, 260, 54);
/// Half of a bar's width, candidates.
const HALF_BAR: f64 = 0.34;
/// Labels closer together than this, pixels, would cover each other.
const LABEL_HEIGHT: i32 = 20;
/// Labels stay below this, pixels from the top of their panel, to keep clear of the caption.
const LABEL_TOP: i32 = 56;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MessageCounts {
    /// Schema version: 1.
    pub schema: u32,
    /// What was counted, in words.
    pub about: String,
    /// One point for each protocol and number of candidates.
    pub points: Vec<Point>,
}

/// The messages of one protocol with so many candidates.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    pub protocol: String,
    /// The number of candidates.
    pub nodes: u16,
    /// How elections were counted.
    pub how: How,
    /// The number of elections averaged.
    pub elections: u64,
    /// Mean number of messages in one election, by kind.
    pub by_kind: BTreeMap<String, f64>,
    /// The mean of all messages together.
    pub total: f64,
    /// The fewest in one election.
    pub total_min: u64,
    /// The most in one election.
    pub total_max: u64,
    /// Messages by kind if all candidates begin at once, if that can be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_at_once: Option<BTreeMap<String, u64>>,
}

/// How elections were counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Electors alone on a silent network, one election for each candidate that can begin: exact.
    Exact,
    /// Whole runs in which the leader was killed, one for each seed.
    Runs,
}

impl Point {
    /// The point of these elections, of which there is at least one.
    pub fn new(protocol: &str, nodes: u16, how: How, elections: &[BTreeMap<String, u64>]) -> Self {
        let mut by_kind: BTreeMap<String, f64> = BTreeMap::new();
        for (kind, n) in elections.iter().flatten() {
            *by_kind.entry(kind.clone()).or_default() += *n as f64 / elections.len() as f64;
        }
        let totals = || elections.iter().map(|by_kind| by_kind.values().sum::<u64>());
        Point {
            protocol: protocol.to_owned(),
            nodes,
            how,
            elections: elections.len() as u64,
            total: by_kind.values().sum(),
            by_kind,
            total_min: totals().min().unwrap_or(0),
            total_max: totals().max().unwrap_or(0),
            all_at_once: None,
        }
    }
}

impl Picture for MessageCounts {
    fn check(&self) -> Result<(), Undrawable> {
        let wrong = |p: &&Point| p.by_kind.values().any(|n| !n.is_finite() || *n < 0.0);
        if let Some(point) = self.points.iter().find(wrong) {
            return Err(Undrawable(format!(
                "{} with {} candidates has a count that is below 0",
                point.protocol, point.nodes
            )));
        }
        if self.points.is_empty() { Err(Undrawable("there are no messages to draw".to_owned())) } else { Ok(()) }
    }

    fn size(&self) -> (u32, u32) {
        let panels = self.panels() as u32;
        (PANEL.0 * panels.clamp(1, COLUMNS), MARGINS.0 + PANEL.1 * panels.div_ceil(COLUMNS) + MARGINS.2)
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let left = |size| style(size).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new("What an election costs", (30, 34), left(30)))?;
        root.draw(&Text::new(
            "Messages of one election, against the number of candidates; by kind each protocol has its own scale",
            (30, 70),
            left(20),
        ))?;
        let protocols = self.protocols();
        let rows = self.panels().div_ceil(COLUMNS as usize);
        let (_, rest) = root.split_vertically(MARGINS.0);
        let (panels, below) = rest.split_vertically(PANEL.1 * rows as u32);
        let columns = self.panels().min(COLUMNS as usize);
        let areas = panels.split_evenly((rows, columns));
        let mut areas = areas.iter();
        if protocols.len() > 1
            && let Some(area) = areas.next()
        {
            self.overview(area, &protocols)?;
        }
        for (area, protocol) in areas.zip(&protocols) {
            self.panel(area, protocol)?;
        }
        below.draw(&Text::new(self.about.as_str(), (30, 24), left(18)))
    }
}

impl MessageCounts {
    /// The protocols in the order of the points.
    fn protocols(&self) -> Vec<&str> {
        let mut protocols: Vec<&str> = Vec::new();
        for point in &self.points {
            if !protocols.contains(&point.protocol.as_str()) {
                protocols.push(&point.protocol);
            }
        }
        protocols
    }

    /// One panel for each protocol, and one with all of them if there are several.
    fn panels(&self) -> usize {
        match self.protocols().len() {
            1 => 1,
            protocols => protocols + 1,
        }
    }

    /// The axis of the number of candidates.
    fn candidates(&self) -> Axis {
        let nodes: BTreeSet<u16> = self.points.iter().map(|p| p.nodes).collect();
        let (first, last) = (nodes.first().copied().unwrap_or(0), nodes.last().copied().unwrap_or(0));
        let ticks = nodes.iter().map(|n| f64::from(*n)).collect();
        Axis::with_ticks(f64::from(first) - 0.6..f64::from(last) + 0.6, ticks)
    }

    /// The totals of all protocols on one scale, for comparison.
    fn overview<DB: DrawingBackend>(&self, area: &Area<DB>, protocols: &[&str]) -> Result<(), Failed<DB>> {
        let totals = || self.points.iter().map(|p| p.total).filter(|total| *total > 0.0);
        let (least, most) = (totals().fold(f64::INFINITY, f64::min).min(1e9), totals().fold(1.0, f64::max));
        let mut chart = ChartBuilder::on(area)
            .caption("One scale for all: total messages", style(21))
            .margin_left(10)
            .margin_top(14)
            .margin_right(MARGINS.1)
            .x_label_area_size(52)
            .y_label_area_size(66)
            .build_cartesian_2d(self.candidates(), Axis::spanning(least, most))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(17))
            .axis_desc_style(style(18))
            .x_desc("candidates")
            .y_desc("messages")
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .draw()?;
        let on_screen = chart.as_coord_spec().clone();
        let mut labels: Vec<(i32, i32, usize)> = Vec::new();
        for (place, protocol) in protocols.iter().enumerate() {
            let points = self.points.iter().filter(|p| p.protocol == *protocol && p.total > 0.0);
            let line: Vec<(f64, f64)> = points.map(|p| (f64::from(p.nodes), p.total)).collect();
            let Some(last) = line.last() else { continue };
            let (x, y) = within(area, on_screen.translate(last));
            labels.push((y, x, place));
            chart.draw_series(LineSeries::new(line.clone(), colour(place).stroke_width(2)))?;
            chart.draw_series(line.into_iter().map(|at| Circle::new(at, 4, colour(place).filled())))?;
        }
        // From the bottom of the screen upwards, as `apart` expects.
        labels.sort_unstable_by(|a, b| b.cmp(a));
        let heights: Vec<i32> = labels.iter().map(|(y, ..)| *y).collect();
        let apart = apart(&heights);
        // Many labels close together would climb into the caption.
        let highest = apart.iter().map(|(_, to)| *to).min().unwrap_or(LABEL_TOP);
        let lower = (LABEL_TOP - highest).max(0);
        for ((_, x, place), (from, to)) in labels.iter().zip(apart) {
            let to = to + lower;
            area.draw(&PathElement::new([(x + 8, from), (x + 26, to)], colour(*place).stroke_width(1)))?;
            let text = text_colour(*place);
            let middle = style(17).pos(Pos::new(HPos::Left, VPos::Center)).color(&text);
            area.draw(&Text::new(protocols[*place], (x + 30, to), middle))?;
        }
        Ok(())
    }

    /// One protocol's bars on their own scale, with numbers above them: protocols differ a hundredfold.
    fn panel<DB: DrawingBackend>(&self, area: &Area<DB>, protocol: &str) -> Result<(), Failed<DB>> {
        let points: Vec<&Point> = self.points.iter().filter(|p| p.protocol == protocol).collect();
        let most = points.iter().map(|p| p.total_max as f64).fold(1.0, f64::max);
        let title = match points.first().map(|p| p.how) {
            Some(How::Exact) => format!("{protocol}: exact, mean over initiators"),
            _ => format!("{protocol}: mean over runs"),
        };
        let x = self.candidates();
        let mut chart = ChartBuilder::on(area)
            .caption(title, style(21))
            .margin_left(10)
            .margin_top(14)
            .margin_right(MARGINS.1)
            .x_label_area_size(52)
            .y_label_area_size(66)
            .build_cartesian_2d(x, 0.0..most * 1.12)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(17))
            .axis_desc_style(style(18))
            .x_desc("candidates")
            .y_desc("messages")
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .y_labels(6)
            .draw()?;
        let kinds: BTreeSet<&str> = points.iter().flat_map(|p| p.by_kind.keys().map(String::as_str)).collect();
        let mut labels = Vec::new();
        for point in &points {
            let (at, mut base) = (f64::from(point.nodes), 0.0);
            for (place, kind) in kinds.iter().enumerate() {
                let n = point.by_kind.get(*kind).copied().unwrap_or(0.0);
                let corners = [(at - HALF_BAR, base), (at + HALF_BAR, base + n)];
                chart.draw_series([Rectangle::new(corners, colour(place).filled())])?;
                if points.last().is_some_and(|last| last.nodes == point.nodes) && n > 0.0 {
                    labels.push((place, *kind, n, base + n / 2.0));
                }
                base += n;
            }
            let (least, most) = (point.total_min as f64, point.total_max as f64);
            if least < most {
                chart.draw_series([PathElement::new([(at, least), (at, most)], INK.stroke_width(2))])?;
            }
            let above = style(16).pos(Pos::new(HPos::Center, VPos::Bottom));
            let total = EmptyElement::at((at, base.max(most)))
                + Text::new(number((base * 10.0).round() / 10.0), (0, -4), above);
            chart.draw_series([total])?;
        }
        let last = points.last().map_or(0.0, |p| f64::from(p.nodes));
        let on_screen = chart.as_coord_spec().clone();
        let right = within(area, on_screen.translate(&(last + HALF_BAR, 0.0))).0;
        let heights: Vec<i32> = labels.iter().map(|l| within(area, on_screen.translate(&(last, l.3))).1).collect();
        for ((place, kind, n, _), (from, to)) in labels.iter().zip(apart(&heights)) {
            let colour = colour(*place);
            area.draw(&PathElement::new([(right + 3, from), (right + 16, to)], colour.stroke_width(1)))?;
            let text = text_colour(*place);
            let middle = style(17).pos(Pos::new(HPos::Left, VPos::Center)).color(&text);
            area.draw(&Text::new(format!("{kind} {}", number((n * 10.0).round() / 10.0)), (right + 20, to), middle))?;
        }
        Ok(())
    }
}

/// Moves labels apart so that they do not cover each other: each height, from the bottom of the screen upwards, with
/// the height of its label.
fn apart(heights: &[i32]) -> Vec<(i32, i32)> {
    let mut highest = i32::MAX;
    let place = |height: &i32| {
        let at = (*height).min(highest.saturating_sub(LABEL_HEIGHT));
        highest = at;
        (*height, at)
    };
    heights.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{draw_svg, tests::drawn},
        *,
    };
    use std::path::Path;

    fn made_up() -> MessageCounts {
        let mut points = Vec::new();
        for protocol in ["bully", "ring", "raft"] {
            for nodes in 3..=9 {
                let n = u64::from(nodes);
                let election = |extra: u64| {
                    let by_kind = [("election", n * (n - 1) / 2 + extra), ("ok", n), ("coordinator", n - 1)];
                    by_kind.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect::<BTreeMap<_, _>>()
                };
                let (how, extra) = if protocol == "raft" { (How::Runs, 4) } else { (How::Exact, 0) };
                points.push(Point::new(protocol, nodes, how, &[election(0), election(extra)]));
            }
        }
        MessageCounts { schema: 1, about: "Made up.".to_owned(), points }
    }

    #[test]
    fn every_kind_of_every_protocol_is_named() {
        let (text, _) = drawn(&made_up(), "message-counts");
        let words =
            ["bully: exact", "ring: exact", "raft: mean over runs", "coordinator 8", "election 36", "election 38"];
        for words in words.into_iter().chain(["53", "55", "candidates", "Made up.", "One scale for all"]) {
            assert!(text.contains(words), "{words}");
        }
    }

    #[test]
    fn labels_keep_their_distance() {
        assert_eq!(apart(&[300, 295, 200]), [(300, 300), (295, 280), (200, 200)]);
    }

    #[test]
    fn what_cannot_be_drawn_is_one_sentence() {
        let mut counts = made_up();
        counts.points[0].by_kind.insert("ok".to_owned(), -1.0);
        let path = Path::new("no-such-folder/x.svg");
        assert_eq!(
            draw_svg(&counts, path).unwrap_err().to_string(),
            "bully with 3 candidates has a count that is below 0"
        );
        counts.points.clear();
        assert_eq!(draw_svg(&counts, path).unwrap_err().to_string(), "there are no messages to draw");
    }
}
