//! The safety frontier of a protocol in a scenario: at each value of one parameter, the first value of another that
//! violates safety, with the calculated bound overlaid, and a table of the seeds beside it.

mod figures;

pub use figures::{Along, Bound, Figures, Point, Safe, Unsafe};

use super::{Area, Axis, Failed, GRID, INK, Picture, Undrawable, colour, number, panel, style, text_colour};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Width of the chart and of the table beside it, pixels.
const WIDTHS: (u32, u32) = (860, 640);
/// Space above chart and table, for the title; and below them, for the legend.
const MARGINS: (u32, u32) = (108, 128);
/// Height of the chart, and of a row of the table; pixels.
const HEIGHT: u32 = 560;
const ROW: i32 = 26;
/// Right ends of the table's columns.
const COLUMNS: [i32; 5] = [90, 250, 410, 480, 625];

impl Picture for Figures {
    fn check(&self) -> Result<(), Undrawable> {
        let wrong = |along: &Along| along.from > along.to || !along.shown_per.is_finite() || along.shown_per <= 0.0;
        if let Some(along) = [&self.x, &self.y].into_iter().find(|along| wrong(along)) {
            return Err(Undrawable(format!("the axis {} has no values", along.axis)));
        }
        if self.points.is_empty() { Err(Undrawable("a frontier needs at least one point".to_owned())) } else { Ok(()) }
    }

    fn size(&self) -> (u32, u32) {
        let rows = (self.points.len() as u32 + 2) * ROW as u32;
        (WIDTHS.0 + WIDTHS.1, MARGINS.0 + HEIGHT.max(rows) + MARGINS.1)
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let title = format!("Safety frontier of {} in {}, fencing {}", self.protocol, self.scenario, self.fencing);
        root.draw(&Text::new(title, (24, 20), style(30)))?;
        let (from, to) = self.seeds;
        let (last, y, x) = (to.saturating_sub(1), &self.y.about, &self.x.about);
        let about = format!("The {y} at which runs begin to violate safety, for each {x}. Seeds {from} to {last}.");
        root.draw(&Text::new(about, (24, 64), style(20)))?;
        let (_, rest) = root.split_vertically(MARGINS.0);
        let (middle, below) = rest.split_vertically(self.size().1 - MARGINS.0 - MARGINS.1);
        let (chart, table) = middle.split_horizontally(WIDTHS.0);
        self.chart(&chart)?;
        self.table(&table)?;
        self.legend(&below)
    }
}

/// A point of the chart: on the edge, or on the chart's rim if no edge was found within.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mark {
    Edge(f64, f64),
    /// Nothing violates safety: the edge is above the chart.
    Beyond(f64),
    /// Everything violates safety: the edge is below the chart.
    Below(f64),
}

impl Figures {
    fn shown(&self, point: &Point) -> Mark {
        let x = point.x as f64 / self.x.shown_per;
        match (&point.violates, &point.holds) {
            (None, _) => Mark::Beyond(x),
            (Some(_), None) => Mark::Below(x),
            (Some(found), Some(_)) => Mark::Edge(x, found.at as f64 / self.y.shown_per),
        }
    }

    /// The lines of the bound, interrupted where there is none.
    fn bounds(&self) -> Vec<Vec<(f64, f64)>> {
        let mut lines = vec![Vec::new()];
        for point in &self.points {
            let value = point.bound.as_ref().and_then(Bound::value).map(|value| value as f64 / self.y.shown_per);
            match value {
                Some(y) => {
                    lines.last_mut().into_iter().for_each(|line| line.push((point.x as f64 / self.x.shown_per, y)))
                }
                None => lines.push(Vec::new()),
            }
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// Axes for everything drawn; values on a logarithmic axis must be above 0.
    fn axes(&self) -> (Axis, Axis) {
        let xs = self.points.iter().map(|p| p.x as f64 / self.x.shown_per);
        let edges = self.points.iter().filter_map(|p| match self.shown(p) {
            Mark::Edge(_, y) => Some(y),
            _ => None,
        });
        let bounds = self.bounds().into_iter().flatten().map(|(_, y)| y);
        let ys: Vec<f64> = edges.chain(bounds).collect();
        let ends = [self.y.from.max(1), self.y.to].map(|end| end as f64 / self.y.shown_per);
        let ys = if ys.iter().any(|y| *y > 0.0) { ys } else { ends.to_vec() };
        (spanning(xs, self.x.shown_per), spanning(ys.into_iter(), self.y.shown_per))
    }

    fn chart<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let (x, y) = self.axes();
        let (floor, roof) = (y.range.start, y.range.end);
        let title = format!("{} against {}", self.y.axis, self.x.axis);
        let mut chart = panel(area, &title).build_cartesian_2d(x, y)?;
        let name = |along: &Along| format!("{}, {}", along.about, along.shown_in);
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(18))
            .axis_desc_style(style(19))
            .x_desc(name(&self.x))
            .y_desc(name(&self.y))
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .draw()?;
        let marks: Vec<Mark> = self.points.iter().map(|p| self.shown(p)).collect();
        // No line across points without an edge.
        for line in marks.split(|mark| !matches!(mark, Mark::Edge(..))) {
            let line = line.iter().filter_map(|mark| match mark {
                Mark::Edge(x, y) => Some((*x, y.max(floor))),
                _ => None,
            });
            chart.draw_series(LineSeries::new(line, colour(1).stroke_width(2)))?;
        }
        for (mark, point) in marks.iter().zip(&self.points) {
            match *mark {
                Mark::Edge(x, y) => {
                    chart.draw_series([Circle::new((x, y.max(floor)), 6, colour(1).filled())])?;
                }
                Mark::Beyond(x) => {
                    chart.draw_series([TriangleMarker::new((x, roof), 9, colour(2).filled())])?;
                }
                Mark::Below(x) => {
                    chart.draw_series([TriangleMarker::new((x, floor), -9, colour(1).filled())])?;
                }
            }
            let again = point.again.iter().map(|y| (*y as f64 / self.y.shown_per).max(floor)).filter(|y| *y <= roof);
            let x = point.x as f64 / self.x.shown_per;
            chart.draw_series(again.map(|y| Circle::new((x, y), 5, colour(3).stroke_width(2))))?;
        }
        // Drawn last, since the edge may lie just above the bound; its caps stick out on either side of the edge's
        // mark.
        for line in self.bounds() {
            chart.draw_series(DashedLineSeries::new(line.clone(), 9, 6, colour(0).stroke_width(2)))?;
            chart
                .draw_series(line.into_iter().map(|at| {
                    EmptyElement::at(at) + PathElement::new([(-13, 0), (13, 0)], colour(0).stroke_width(3))
                }))?;
        }
        Ok(())
    }

    fn table<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let right = || style(18).pos(Pos::new(HPos::Right, VPos::Center));
        let heads = [&*self.x.axis, "violates", "holds", "seed", "arithmetic"];
        for (head, x) in heads.into_iter().zip(COLUMNS) {
            area.draw(&Text::new(head, (x, 20), right()))?;
        }
        area.draw(&PathElement::new([(10, 36), (COLUMNS[4] + 5, 36)], INK.stroke_width(1)))?;
        for (row, point) in (2..).zip(&self.points) {
            let seed = point.violates.as_ref().map_or("–".to_owned(), |found| found.seed.to_string());
            let bound = point.bound.as_ref().map_or("–".to_owned(), Bound::words);
            let cells = [point.text.clone(), point.violates_words(), point.holds_words(), seed, bound];
            let colours = [INK, text_colour(1), INK, INK, text_colour(0)];
            for ((cell, x), colour) in cells.into_iter().zip(COLUMNS).zip(colours) {
                area.draw(&Text::new(cell, (x, row * ROW), right().color(&colour)))?;
            }
        }
        Ok(())
    }

    fn legend<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let middle = || style(19).pos(Pos::new(HPos::Left, VPos::Center));
        let mut x = 40;
        let mut say = |words: &str, mark: &dyn Fn(i32) -> Result<(), Failed<DB>>| {
            mark(x)?;
            area.draw(&Text::new(words.to_owned(), (x + 34, 24), middle()))?;
            x += 80 + 9 * words.chars().count() as i32;
            Ok::<_, Failed<DB>>(())
        };
        say("violates safety", &|x| area.draw(&Circle::new((x + 15, 24), 6, colour(1).filled())))?;
        if let Some(bound_of) = &self.bound_of {
            let line = |x| [(x, 24), (x + 9, 24), (x + 15, 24), (x + 24, 24)];
            let dash = |from, to| PathElement::new([from, to], colour(0).stroke_width(2));
            let mark = |x| {
                let [a, b, c, d] = line(x);
                area.draw(&dash(a, b)).and_then(|()| area.draw(&dash(c, d)))
            };
            say(&format!("analytic bound for {}", bound_of.trim_matches('`')), &mark)?;
        }
        if self.points.iter().any(|p| p.violates.is_none()) {
            say("no violation found", &|x| area.draw(&TriangleMarker::new((x + 15, 24), 9, colour(2).filled())))?;
        }
        if self.points.iter().any(|p| p.violates.is_some() && p.holds.is_none()) {
            say("violates throughout", &|x| area.draw(&TriangleMarker::new((x + 15, 24), -9, colour(1).filled())))?;
        }
        let exceptions: usize = self.points.iter().map(|p| p.again.len()).sum();
        if exceptions > 0 {
            let mark = |x| area.draw(&Circle::new((x + 15, 24), 5, colour(3).stroke_width(2)));
            say("safe beyond the edge", &mark)?;
        }
        let values: usize = self.points.iter().map(|p| p.values_tried).sum();
        let (from, to) = self.seeds;
        let all = format!(
            "{values} values tried with up to {} seeds each: {} across each range, then bisection to one {}, then {} on either side \
             of the edge.",
            to - from,
            self.scanned,
            self.y.unit,
            self.beside
        );
        area.draw(&Text::new(all, (24, 62), style(18)))?;
        let said = match exceptions {
            0 => "Every value that was tried past an edge agrees with it.".to_owned(),
            n => format!("{n} values that were tried past an edge disagree with it: each seed has an edge of its own."),
        };
        area.draw(&Text::new(said, (24, 90), style(18)))
    }
}

/// An axis that contains all values; those below one unit of the parameter are on its rim.
fn spanning(values: impl Iterator<Item = f64>, shown_per: f64) -> Axis {
    let unit = 1.0 / shown_per;
    let (mut least, mut most) = (f64::INFINITY, unit);
    for value in values {
        (least, most) = (least.min(value.max(unit)), most.max(value));
    }
    let least = least.min(most);
    if most / least > 100.0 { Axis::spanning_decades(least, most) } else { Axis::spanning(least, most) }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{draw_svg, tests::drawn},
        *,
    };
    use std::path::Path;

    fn along(axis: &str, about: &str, (from, to): (u64, u64)) -> Along {
        let [axis, about, unit, shown_in] = [axis, about, "ms", "s"].map(str::to_owned);
        Along { option: format!("--{axis}"), axis, about, unit, from, to, shown_in, shown_per: 1e3 }
    }

    fn point(x: u64, violates: Option<u64>, holds: Option<u64>) -> Point {
        let text = |ms: u64| format!("{ms}ms");
        let violation =
            |at| Unsafe { at, text: text(at), seed: 170 + x, violated: vec!["records".to_owned()], arguments: vec![] };
        let held = |at| Safe {
            at,
            text: text(at),
            passed: 20,
            inconclusive: 0,
            leaderless: 0,
            seed: 1,
            verdict: "pass".to_owned(),
            arguments: vec![],
        };
        let bound = Some(Bound::UpTo { value: x / 2, text: text(x / 2) });
        let (violates, holds, again) = (violates.map(violation), holds.map(held), vec![x * 4]);
        Point { x, text: text(x), violates, holds, again, values_tried: 30, bound, contradicted: false }
    }

    fn made_up() -> Figures {
        let mut points: Vec<Point> = [1_000, 2_000, 5_000].map(|x| point(x, Some(x), Some(x - 1))).into();
        points.extend([point(10_000, None, Some(40_000)), point(30_000, Some(500), None)]);
        Figures {
            schema: 1,
            scenario: "gc-pause".to_owned(),
            protocol: "etcd-election".to_owned(),
            fencing: "off".to_owned(),
            seeds: (0, 20),
            x: along("ttl", "lease time to live", (1_000, 30_000)),
            y: along("pause", "pause of the leader", (500, 40_000)),
            scanned: 9,
            beside: 4,
            bound_of: Some("all of safety".to_owned()),
            points,
        }
    }

    #[test]
    fn every_point_has_its_seed_and_every_kind_of_mark_a_word() {
        let (text, _) = drawn(&made_up(), "frontier");
        for words in
            ["pause of the leader, s", "lease time to live, s", "from 5000ms", "to 4999ms", "5170", "to 2500ms"]
        {
            assert!(text.contains(words), "{words}");
        }
        for words in
            ["no violation found", "violates throughout", "analytic bound", "5 values that were tried past an edge"]
        {
            assert!(text.contains(words), "{words}");
        }
    }

    #[test]
    fn an_edge_that_falls_says_so() {
        let falls = point(1_000, Some(700), Some(701));
        assert_eq!((falls.violates_words(), falls.holds_words()), ("to 700ms".to_owned(), "from 701ms".to_owned()));
        let never = point(1_000, None, Some(900));
        assert_eq!((never.violates_words(), never.holds_words()), ("nothing".to_owned(), "everything".to_owned()));
    }

    #[test]
    fn what_is_found_at_none_is_drawn_on_the_rim() {
        let mut figures = made_up();
        figures.points = vec![point(1_000, Some(0), None), point(2_000, Some(1), Some(0))];
        let (text, _) = drawn(&figures, "frontier-rim");
        assert!(text.contains("everything") && !text.contains("NaN"), "{text}");
    }

    #[test]
    fn what_cannot_be_drawn_is_one_sentence() {
        let path = Path::new("no-such-folder/x.svg");
        let none = Figures { points: vec![], ..made_up() };
        assert_eq!(draw_svg(&none, path).unwrap_err().to_string(), "a frontier needs at least one point");
        let mut backwards = made_up();
        backwards.y.from = 50_000;
        assert_eq!(draw_svg(&backwards, path).unwrap_err().to_string(), "the axis pause has no values");
    }
}
