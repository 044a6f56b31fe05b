//! Distributions beside each other: a row per item compared, a bar from one percentile to another, a mark at the
//! median, and the bound if there is one.

use super::{Area, Axis, Failed, GRID, INK, Picture, Undrawable, colour, style};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Width, pixels.
const WIDTH: u32 = 1400;
/// Height of a row, of the space above the chart, and of that below it; pixels.
const ROW: u32 = 30;
/// See [`ROW`].
const ABOVE: u32 = 100;
/// See [`ROW`].
const BELOW: u32 = 150;
/// The left edge of the chart; labels are left of it.
const LEFT: u32 = 330;
/// Values below this count as near 0 on a logarithmic axis with a 0: the first if there are any such values, else the
/// second.
const NEAR: [f64; 2] = [0.1, 1.0];

/// Rows to compare. Values are in the unit that `axis` names.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranges {
    pub title: String,
    /// What a bar means: one sentence.
    pub about: String,
    /// The axis's label, with its unit.
    pub axis: String,
    /// The meaning of the bounds; empty without any.
    pub bound: String,
    /// The names of the series, distinguished by colour.
    pub series: Vec<String>,
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
    /// Is the axis logarithmic? If a value is 0 or below, it is so on either side of 0.
    pub logarithmic: bool,
    /// A target for all rows, with its label.
    pub target: Option<(f64, String)>,
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub label: String,
    /// At most one bar for each series: the series, and where the bar begins, has its mark, and ends.
    pub bars: Vec<(usize, [f64; 3])>,
    /// The value that no run should exceed.
    pub bound: Option<f64>,
}

impl Picture for Ranges {
    fn check(&self) -> Result<(), Undrawable> {
        let mut values = self.rows.iter().flat_map(|row| row.bars.iter().flat_map(|(_, bar)| bar));
        if self.rows.iter().all(|row| row.bars.is_empty()) {
            return Err(Undrawable(format!("{}: there is nothing to draw", self.title)));
        }
        match values.all(|value| value.is_finite()) {
            true => Ok(()),
            false => Err(Undrawable(format!("{}: a value is not a number", self.title))),
        }
    }

    fn size(&self) -> (u32, u32) {
        (WIDTH, ABOVE + BELOW + ROW * self.rows.len() as u32)
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let left = |size| style(size).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(self.title.as_str(), (30, 34), left(30)))?;
        root.draw(&Text::new(self.about.as_str(), (30, 72), left(19)))?;
        let (_, rest) = root.split_vertically(ABOVE);
        let (chart, below) = rest.split_vertically(ROW * self.rows.len() as u32 + 70);
        self.chart(&chart)?;
        self.legend(&below)
    }
}

impl Ranges {
    fn axis(&self) -> Axis {
        let bars = self.rows.iter().flat_map(|row| row.bars.iter().flat_map(|(_, bar)| bar.iter().copied()));
        let bounds = self.rows.iter().filter_map(|row| row.bound).chain(self.target.iter().map(|(at, _)| *at));
        let values: Vec<f64> = bars.chain(bounds).collect();
        let (least, most) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        if self.logarithmic {
            if least > 0.0 {
                return Axis::spanning_decades(least, most);
            }
            let small = values.iter().any(|value| *value != 0.0 && value.abs() < NEAR[1]);
            return Axis::through_zero(least, most, if small { NEAR[0] } else { NEAR[1] });
        }
        Axis::around_zero(least.min(0.0), most.max(1.0))
    }

    fn chart<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let axis = self.axis();
        let axis_ends = axis.range.clone();
        let rows = self.rows.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin_left(LEFT)
            .margin_right(40)
            .x_label_area_size(70)
            .build_cartesian_2d(axis, 0.0..rows)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(18))
            .axis_desc_style(style(19))
            .x_desc(self.axis.as_str())
            .disable_y_mesh()
            .draw()?;
        let (from, to) = (axis_ends.start, axis_ends.end);
        // Lines between rows make it clear which label a mark belongs to.
        for line in 1..self.rows.len() {
            chart.draw_series([PathElement::new([(from, line as f64), (to, line as f64)], GRID.stroke_width(1))])?;
        }
        let all = self.series.len().max(1) as f64;
        if let Some((at, _)) = &self.target {
            let line = [(*at, 0.0), (*at, rows)];
            chart.draw_series(DashedLineSeries::new(line, 4, 4, INK.stroke_width(2)))?;
        }
        for (place, row) in self.rows.iter().enumerate() {
            let middle = rows - place as f64 - 0.5;
            for (series, bar) in &row.bars {
                let y = middle + ((all - 1.0) / 2.0 - *series as f64) * 0.6 / all;
                let [low, mid, high] = *bar;
                chart.draw_series([PathElement::new([(low, y), (high, y)], colour(*series).stroke_width(5))])?;
                chart.draw_series([Circle::new((mid, y), 6, colour(*series).filled())])?;
                chart.draw_series([Circle::new((mid, y), 2, WHITE.filled())])?;
            }
            if let Some(bound) = row.bound {
                let cap = [(0, -12), (0, 12)];
                chart.draw_series([EmptyElement::at((bound, middle)) + PathElement::new(cap, INK.stroke_width(3))])?;
            }
        }
        // Drawn here since the drawing library would break these labels.
        for (place, row) in self.rows.iter().enumerate() {
            let y = (ROW * place as u32 + ROW / 2) as i32 + 3;
            let right = style(18).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(row.label.as_str(), (LEFT as i32 - 12, y), right))?;
        }
        Ok(())
    }

    fn legend<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let middle = || style(18).pos(Pos::new(HPos::Left, VPos::Center));
        let mut x = 30;
        for (place, series) in self.series.iter().enumerate() {
            area.draw(&PathElement::new([(x - 12, 22), (x + 12, 22)], colour(place).stroke_width(5)))?;
            area.draw(&Circle::new((x, 22), 6, colour(place).filled()))?;
            area.draw(&Circle::new((x, 22), 2, WHITE.filled()))?;
            area.draw(&Text::new(series.as_str(), (x + 20, 22), middle()))?;
            x += 60 + 10 * series.chars().count() as i32;
        }
        let mut x = 30;
        if !self.bound.is_empty() {
            area.draw(&PathElement::new([(x, 43), (x, 67)], INK.stroke_width(3)))?;
            area.draw(&Text::new(self.bound.as_str(), (x + 14, 55), middle()))?;
            x += 50 + 9 * self.bound.chars().count() as i32;
        }
        if let Some((_, what)) = &self.target {
            for dash in 0..3 {
                area.draw(&PathElement::new([(x, 44 + 8 * dash), (x, 48 + 8 * dash)], INK.stroke_width(2)))?;
            }
            area.draw(&Text::new(what.as_str(), (x + 14, 55), middle()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::drawn, *};

    #[test]
    fn rows_bounds_and_targets_are_drawn() {
        let row = |label: &str, mid: f64, bound| Row {
            label: label.to_owned(),
            bars: vec![(0, [mid / 2.0, mid, mid * 2.0]), (1, [mid, mid * 1.1, mid * 1.2])],
            bound,
        };
        let mut ranges = Ranges {
            title: "Failover".to_owned(),
            about: "From the kill to the first accepted write.".to_owned(),
            axis: "milliseconds, logarithmic".to_owned(),
            bound: "bound".to_owned(),
            series: vec!["killed".to_owned(), "resigned".to_owned()],
            rows: vec![row("etcd-election", 2_400.0, Some(4_000.0)), row("raft-core", 190.0, None)],
            logarithmic: true,
            target: Some((1_500.0, "target".to_owned())),
        };
        let (text, _) = drawn(&ranges, "ranges");
        for words in ["etcd-election", "raft-core", "milliseconds, logarithmic", "bound", "target", "resigned", "1000"]
        {
            assert!(text.contains(words), "{words}");
        }
        ranges.rows[0].bars[0].1[0] = -300.0;
        let (text, _) = drawn(&ranges, "ranges-both-sides");
        assert!(text.contains(">\n-100\n") && text.contains(">\n0\n"), "{text}");
        ranges.logarithmic = false;
        let (text, _) = drawn(&ranges, "ranges-linear");
        assert!(text.contains("etcd-election"));
        ranges.rows.clear();
        assert_eq!(ranges.check().unwrap_err().to_string(), "Failover: there is nothing to draw");
    }
}
