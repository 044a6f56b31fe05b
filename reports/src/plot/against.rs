//! One figure against another: a line per item compared, with the setting at each of its points.

use super::{Area, Axis, Failed, GRID, INK, Picture, Undrawable, colour, number, panel, style, text_colour};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Width and height of the chart, pixels.
const CHART: (u32, u32) = (1100, 620);
/// Space above the chart, for the title; and below it, for each row of the legend.
const ABOVE: u32 = 100;
const ROW: u32 = 32;
/// How many lines a row of the legend names.
const PER_ROW: usize = 3;

/// A chart that compares lines.
#[derive(Clone, PartialEq, Debug)]
pub struct Against {
    pub title: String,
    /// What a point means: one sentence.
    pub about: String,
    /// The axes' labels, with units.
    pub axes: (String, String),
    /// The lines, distinguished by colour.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    pub label: String,
    /// Its points, each with its label.
    pub points: Vec<(f64, f64, String)>,
}

impl Picture for Against {
    fn check(&self) -> Result<(), Undrawable> {
        let mut points = self.lines.iter().flat_map(|line| &line.points).peekable();
        if points.peek().is_none() {
            return Err(Undrawable(format!("{}: there is nothing to draw", self.title)));
        }
        match points.all(|(x, y, _)| x.is_finite() && y.is_finite() && *x >= 0.0 && *y >= 0.0) {
            true => Ok(()),
            false => Err(Undrawable(format!("{}: a value is not a number, or below 0", self.title))),
        }
    }

    fn size(&self) -> (u32, u32) {
        (CHART.0, ABOVE + CHART.1 + ROW * self.lines.len().div_ceil(PER_ROW) as u32 + 20)
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let left = |size| style(size).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(self.title.as_str(), (30, 34), left(30)))?;
        root.draw(&Text::new(self.about.as_str(), (30, 72), left(19)))?;
        let (_, rest) = root.split_vertically(ABOVE);
        let (chart, below) = rest.split_vertically(CHART.1);
        self.chart(&chart)?;
        for (place, line) in self.lines.iter().enumerate() {
            let column = (CHART.0 as usize - 60) / PER_ROW * (place % PER_ROW);
            let (x, y) = (30 + column as i32, (ROW * (place / PER_ROW) as u32 + ROW / 2) as i32);
            below.draw(&PathElement::new([(x, y), (x + 28, y)], colour(place).stroke_width(3)))?;
            below.draw(&Circle::new((x + 14, y), 6, colour(place).filled()))?;
            below.draw(&Text::new(line.label.as_str(), (x + 40, y), left(18)))?;
        }
        Ok(())
    }
}

impl Against {
    /// Linear axes from 0 past all points.
    fn axes(&self) -> (Axis, Axis) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let most = |of: fn(&(f64, f64, String)) -> f64| points().map(of).fold(f64::MIN_POSITIVE, f64::max);
        let [x, y] = [most(|(x, ..)| *x), most(|(_, y, _)| *y)].map(|most| Axis::around_zero(0.0, most * 1.05));
        (x, y)
    }

    fn chart<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let (x, y) = self.axes();
        let mut chart = panel(area, "").build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(18))
            .axis_desc_style(style(19))
            .x_desc(self.axes.0.as_str())
            .y_desc(self.axes.1.as_str())
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .draw()?;
        let mut taken: Vec<Box4> = Vec::new();
        for line in &self.lines {
            let pixels: Vec<_> = line.points.iter().map(|(x, y, _)| chart.backend_coord(&(*x, *y))).collect();
            taken.extend(pixels.iter().map(|(x, y)| [x - 7, y - 7, x + 7, y + 7]));
            taken.extend(pixels.windows(2).flat_map(|ends| along(ends[0], ends[1])));
        }
        // Keep names off the axes, too.
        let (axis, bottom) = chart.backend_coord(&(0.0, 0.0));
        taken.extend([[axis - 200, 0, axis, bottom], [axis - 200, bottom, axis + CHART.0 as i32, bottom + 200]]);
        for (place, line) in self.lines.iter().enumerate() {
            let at = || line.points.iter().map(|(x, y, _)| (*x, *y));
            chart.draw_series(LineSeries::new(at(), colour(place).stroke_width(2)))?;
            chart.draw_series(at().map(|at| Circle::new(at, 6, colour(place).filled())))?;
            let ink = text_colour(place);
            for (x, y, name) in &line.points {
                let (dx, dy) = free(chart.backend_coord(&(*x, *y)), name, &mut taken);
                let text = style(17).pos(Pos::new(HPos::Left, VPos::Center)).color(&ink);
                chart.draw_series([EmptyElement::at((*x, *y)) + Text::new(name.clone(), (dx, dy), text)])?;
            }
        }
        Ok(())
    }
}

/// Left, top, right, bottom, pixels.
type Box4 = [i32; 4];

/// A line from one point to another, as the boxes that it crosses.
fn along(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = Box4> {
    let steps = ((to.0 - from.0).abs().max((to.1 - from.1).abs()) / 6).max(1);
    let at = move |from: i32, to: i32, step: i32| from + (to - from) * step / steps;
    (0..=steps)
        .map(move |step| (at(from.0, to.0, step), at(from.1, to.1, step)))
        .map(|(x, y)| [x - 3, y - 3, x + 3, y + 3])
}

/// The offset at which a point's name covers nothing: near the point first, to the right before the left.
fn free((x, y): (i32, i32), name: &str, taken: &mut Vec<Box4>) -> (i32, i32) {
    let width = 9 * name.chars().count() as i32;
    let sides = [12, -12 - width, -width / 2];
    let around =
        (1..8).flat_map(|far| [-1, 1].into_iter().flat_map(move |up| sides.map(|dx| (dx, up * (4 + 10 * far)))));
    let place = |(dx, dy): (i32, i32)| [x + dx, y + dy - 9, x + dx + width, y + dy + 9];
    let apart =
        |one: Box4, other: &Box4| one[2] < other[0] || other[2] < one[0] || one[3] < other[1] || other[3] < one[1];
    let at = around.clone().find(|at| taken.iter().all(|other| apart(place(*at), other))).unwrap_or((12, -14));
    taken.push(place(at));
    at
}

#[cfg(test)]
mod tests {
    use super::{super::tests::drawn, *};

    #[test]
    fn names_stand_apart() {
        let mut taken = vec![[93, 93, 107, 107]];
        let one = free((100, 100), "hold-down 0s", &mut taken);
        let other = free((104, 101), "hold-down 2s", &mut taken);
        assert!(one != other && (one.1 - other.1).abs() + (one.0 - other.0).abs() > 15, "{one:?} {other:?}");
    }

    #[test]
    fn every_point_has_its_name_and_every_line_is_in_the_legend() {
        let line = |label: &str, by: f64| Line {
            label: label.to_owned(),
            points: [250, 500, 1_000]
                .map(|ms| (1e3 / f64::from(ms) * by, f64::from(ms) / 1e3, format!("{ms} ms")))
                .into(),
        };
        let mut against = Against {
            title: "What renewals buy".to_owned(),
            about: "A lease of 3 s.".to_owned(),
            axes: ("requests a second".to_owned(), "failovers an hour".to_owned()),
            lines: vec![line("redis-fenced", 3.0), line("db-row", 2.5)],
        };
        let (text, _) = drawn(&against, "against");
        for words in ["redis-fenced", "db-row", "250 ms", "requests a second", "failovers an hour", "A lease of 3 s."] {
            assert!(text.contains(words), "{words}");
        }
        against.lines[0].points[0].1 = f64::NAN;
        assert!(against.check().unwrap_err().to_string().contains("not a number"));
        against.lines.clear();
        assert_eq!(against.check().unwrap_err().to_string(), "What renewals buy: there is nothing to draw");
    }
}
