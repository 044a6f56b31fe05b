//! How long elections take: for each protocol and range of election timeouts, the fraction of runs in which a new
//! leader was elected within a time after the old one was killed. After Ongaro and Ousterhout, "In Search of an
//! Understandable Consensus Algorithm" (2014), figure 16.

use super::{Area, Axis, Failed, GRID, INK, Picture, Undrawable, colour, number, quantile, style, text_colour, within};
use plotters::{
    coord::CoordTranslate,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Width, and height without the lines below the chart; pixels.
const SIZE: (u32, u32) = (1400, 860);
/// Space for the title, for the labels beside the curves, and for the lines below.
const MARGINS: (u32, u32, u32) = (96, 330, 54);

/// The distributions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ElectionCdf {
    /// Schema version: 1.
    pub schema: u32,
    /// Candidates in each run.
    pub nodes: u16,
    /// The network's profile.
    pub network: String,
    /// The seeds: `0..1000`.
    pub seeds: String,
    /// One curve for each protocol and range.
    pub curves: Vec<Curve>,
}

/// One distribution. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Curve {
    pub protocol: String,
    /// The range of election timeouts; null for a protocol without any.
    pub election_timeout_ms: Option<(u64, u64)>,
    /// How long others wait for a silent leader.
    pub lease_ttl_ms: u64,
    /// From the death of the leader to the next election, for each run with one, sorted.
    #[serde(skip)]
    pub elections_ms: Vec<f64>,
    /// The number of runs with such an election.
    pub n: u64,
    /// Runs that ended before another election.
    pub censored: u64,
    /// The mean of the times; null if there are none.
    pub mean_ms: Option<f64>,
    /// The percentiles of the times, from the 0th (the shortest) to the 100th (the longest); empty if there are none.
    pub percentiles_ms: Vec<f64>,
    /// Election messages in a whole run, by kind.
    pub messages_by_kind: BTreeMap<String, Spread>,
}

/// A figure over several runs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spread {
    pub mean: f64,
    pub min: u64,
    pub max: u64,
}

impl Curve {
    /// The distribution of these times.
    pub fn new(
        protocol: &str,
        election_timeout_ms: Option<(u64, u64)>,
        lease_ttl_ms: u64,
        mut times: Vec<f64>,
    ) -> Self {
        times.sort_by(f64::total_cmp);
        let n = times.len() as u64;
        Curve {
            protocol: protocol.to_owned(),
            election_timeout_ms,
            lease_ttl_ms,
            n,
            censored: 0,
            mean_ms: (n > 0).then(|| times.iter().sum::<f64>() / n as f64),
            percentiles_ms: (0..=100).filter_map(|p| quantile(&times, f64::from(p) / 100.0)).collect(),
            messages_by_kind: BTreeMap::new(),
            elections_ms: times,
        }
    }

    /// A label that distinguishes it from the other curves.
    pub fn label(&self) -> String {
        match self.election_timeout_ms {
            Some((min, max)) => format!("{} {min}–{max} ms", self.protocol),
            None => format!("{} {}", self.protocol, milliseconds(self.lease_ttl_ms as f64)),
        }
    }

    /// The time within which a fraction of the runs had elected; `None` if fewer had.
    fn within(&self, share: f64) -> Option<f64> {
        let total = self.n + self.censored;
        let rank = (share * total as f64).ceil().max(1.0) as usize;
        self.elections_ms.get(rank - 1).copied()
    }

    /// The steps of the curve: time, and the percentage of runs.
    fn steps(&self) -> Vec<(f64, f64)> {
        let total = (self.n + self.censored) as f64;
        let mut steps = Vec::with_capacity(2 * self.elections_ms.len());
        for (place, time) in self.elections_ms.iter().enumerate() {
            steps.push((*time, 100.0 * place as f64 / total));
            steps.push((*time, 100.0 * (place + 1) as f64 / total));
        }
        steps
    }
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 10_000.0 => format!("{} s", number((ms / 100.0).round() / 10.0)),
        ms if ms >= 1_000.0 => format!("{} s", number((ms / 10.0).round() / 100.0)),
        ms if ms >= 10.0 => format!("{ms:.0} ms"),
        ms => format!("{} ms", number((ms * 10.0).round() / 10.0)),
    }
}

impl Picture for ElectionCdf {
    fn check(&self) -> Result<(), Undrawable> {
        let wrong = |c: &&Curve| c.elections_ms.iter().any(|ms| !ms.is_finite() || *ms < 0.0);
        if let Some(curve) = self.curves.iter().find(wrong) {
            return Err(Undrawable(format!("{} has an election time that is below 0", curve.label())));
        }
        match self.curves.iter().any(|c| !c.elections_ms.is_empty()) {
            true => Ok(()),
            false => Err(Undrawable("there is no election time to draw: nobody was elected in any run".to_owned())),
        }
    }

    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let left = |size| style(size).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new("How long an election takes", (30, 34), left(30)))?;
        let about = "Share of runs in which a leader was elected within a time after the leader before it was killed";
        root.draw(&Text::new(about, (30, 70), left(20)))?;
        let (_, rest) = root.split_vertically(MARGINS.0);
        let (chart, below) = rest.split_vertically(SIZE.1 - MARGINS.0 - MARGINS.2);
        self.chart(&chart)?;
        let text = format!("{} candidates, network {}, seeds {}{}", self.nodes, self.network, self.seeds, self.lost());
        below.draw(&Text::new(text, (30, 22), left(18)))
    }
}

impl ElectionCdf {
    fn lost(&self) -> String {
        match self.curves.iter().map(|c| c.censored).sum() {
            0 => String::new(),
            1 => "; in 1 run nobody was elected before it ended".to_owned(),
            n => format!("; in {n} runs nobody was elected before they ended"),
        }
    }

    fn chart<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        // A logarithmic axis has no 0.
        let times = || self.curves.iter().flat_map(|c| &c.elections_ms).map(|ms| ms.max(1e-3));
        let axis = Axis::spanning(times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        let log = axis.log;
        let mut chart = ChartBuilder::on(area)
            .margin_left(24)
            .margin_right(MARGINS.1)
            .x_label_area_size(64)
            .y_label_area_size(76)
            .build_cartesian_2d(axis.clone(), 0.0..100.0)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(18))
            .axis_desc_style(style(19))
            .x_desc(if log { "milliseconds since the kill, logarithmic" } else { "milliseconds since the kill" })
            .y_desc("runs, per cent")
            .y_label_formatter(&|v| number(*v))
            .y_labels(6)
            .draw()?;
        for (place, curve) in self.curves.iter().enumerate() {
            let mut steps = curve.steps();
            // Runs without an election lie beyond the end of the axis.
            if let Some(last) = steps.last().copied().filter(|_| curve.censored > 0) {
                steps.push((axis.range.end, last.1));
            }
            chart.draw_series(LineSeries::new(steps, colour(place).stroke_width(3)))?;
        }
        let on_screen = chart.as_coord_spec().clone();
        let right = area.dim_in_pixel().0 as i32 - MARGINS.1 as i32;
        for (rank, place) in self.by_median().into_iter().enumerate() {
            let share = self.label_share(rank);
            let curve = &self.curves[place];
            let Some(time) = curve.within(share) else { continue };
            let point = within(area, on_screen.translate(&(time.max(1e-3), 100.0 * share)));
            self.label(area, place, point, right)?;
        }
        Ok(())
    }

    /// The indices of curves that can be labelled, from the slowest to the fastest.
    fn by_median(&self) -> Vec<usize> {
        let median = |place: &usize| self.curves[*place].within(0.5).unwrap_or(f64::INFINITY);
        let mut places: Vec<_> = (0..self.curves.len()).filter(|p| !self.curves[*p].elections_ms.is_empty()).collect();
        places.sort_by(|a, b| median(b).total_cmp(&median(a)));
        places
    }

    /// The height of the label of the curve with this rank: the slowest is lowest, so that the lines from curves to
    /// labels cross as little as possible.
    fn label_share(&self, rank: usize) -> f64 {
        let count = self.by_median().len() as f64;
        (0.09 + 0.82 * (rank as f64 + 0.5) / count).min(0.95)
    }

    /// A curve's name and figures beside the chart, with a thin line to the curve.
    fn label<DB: DrawingBackend>(
        &self,
        area: &Area<DB>,
        place: usize,
        at: (i32, i32),
        right: i32,
    ) -> Result<(), Failed<DB>> {
        let (curve, colour, text) = (&self.curves[place], colour(place), text_colour(place));
        let mut x = at.0;
        while x < right {
            area.draw(&PathElement::new([(x, at.1), ((x + 3).min(right + 8), at.1)], colour.mix(0.7).stroke_width(1)))?;
            x += 7;
        }
        area.draw(&Circle::new(at, 5, colour.filled()))?;
        area.draw(&Circle::new(at, 2, WHITE.filled()))?;
        let anchored = |size: u32, v| style(size).pos(Pos::new(HPos::Left, v));
        area.draw(&Text::new(curve.label(), (right + 14, at.1 - 1), anchored(20, VPos::Bottom).color(&text)))?;
        let figure = |share: f64| curve.within(share).map_or("never".to_owned(), milliseconds);
        let figures = format!("median {}, 99 % {}", figure(0.5), figure(0.99));
        area.draw(&Text::new(figures, (right + 14, at.1 + 3), anchored(17, VPos::Top)))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{draw_svg, tests::drawn},
        *,
    };
    use std::path::Path;

    fn made_up() -> ElectionCdf {
        let curve = |max: u64| {
            let times = (0..500).map(|i| 152.0 + (max - 150) as f64 * (f64::from(i) / 500.0).powi(2)).collect();
            Curve::new("made-up", Some((150, max)), 150, times)
        };
        let curves = [151, 155, 175, 200, 300].map(curve).to_vec();
        ElectionCdf { schema: 1, nodes: 5, network: "lan".to_owned(), seeds: "0..500".to_owned(), curves }
    }

    #[test]
    fn every_curve_is_labelled_with_its_figures() {
        let (text, _) = drawn(&made_up(), "election-cdf");
        for words in
            ["made-up 150–151 ms", "made-up 150–300 ms", "median", "milliseconds since the kill", "seeds 0..500"]
        {
            assert!(text.contains(words), "{words}");
        }
        let mut wide = made_up();
        wide.curves.push(Curve::new("slow", None, 3_000, vec![2_000.0, 3_000.0]));
        wide.curves[0].censored = 1;
        let (text, _) = drawn(&wide, "election-cdf-wide");
        for words in ["logarithmic", "slow 3 s", "in 1 run nobody was elected", "2000"] {
            assert!(text.contains(words), "{words}");
        }
    }

    #[test]
    fn a_run_without_an_election_counts_as_one_that_took_longer() {
        let mut curve = Curve::new("p", None, 1, vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((curve.within(0.5), curve.within(1.0), curve.mean_ms), (Some(2.0), Some(4.0), Some(2.5)));
        assert_eq!((curve.percentiles_ms.len(), curve.percentiles_ms[0], curve.percentiles_ms[100]), (101, 1.0, 4.0));
        curve.censored = 4;
        assert_eq!((curve.within(0.5), curve.within(0.51)), (Some(4.0), None));
        assert_eq!(curve.steps().last(), Some(&(4.0, 50.0)));
    }

    #[test]
    fn what_cannot_be_drawn_is_one_sentence() {
        let path = Path::new("no-such-folder/x.svg");
        let mut nothing = made_up();
        nothing.curves.iter_mut().for_each(|c| c.elections_ms.clear());
        let says = "there is no election time to draw: nobody was elected in any run";
        assert_eq!(draw_svg(&nothing, path).unwrap_err().to_string(), says);
        nothing.curves[0].elections_ms = vec![-1.0];
        assert_eq!(
            draw_svg(&nothing, path).unwrap_err().to_string(),
            "made-up 150–151 ms has an election time that is below 0"
        );
        assert!(
            draw_svg(&made_up(), path).unwrap_err().to_string().starts_with("no-such-folder/x.svg cannot be drawn: ")
        );
    }
}
