//! The trade-off of a lease's time to live: a long one makes failover slow, a short one lets pauses depose leaders that
//! were only delayed. Failover time against ttl with each protocol's analytic bound, beside the failovers that a stated
//! profile of pauses caused.

use super::{Area, Axis, Failed, GRID, INK, Picture, Undrawable, colour, decades, number, panel, quantile, style};
use plotters::{
    coord::combinators::{LogCoord, WithKeyPoints},
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Width and height, pixels.
const SIZE: (u32, u32) = (1500, 828);
/// Space above the panels, for the title; and below them, for the legend and the captions.
const MARGINS: (u32, u32) = (64, 178);

/// A sweep over times to live.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlSweep {
    /// Schema version.
    pub schema: u32,
    /// One point for each protocol and ttl.
    pub points: Vec<Point>,
    /// The pauses in the runs of the second panel, in words.
    pub pause_profile: String,
    /// The seeds: `0..100`.
    pub seeds: String,
}

/// The results of one protocol with one ttl.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub protocol: String,
    /// The lease's time to live, milliseconds.
    pub ttl_ms: u64,
    /// From the fault to the first accepted write of the successor, for each run that recovered, milliseconds.
    pub failover_ms: Vec<f64>,
    /// Runs that did not recover before they ended.
    pub failover_censored: u64,
    /// The longest failover that the protocol's timers allow, milliseconds.
    pub bound_ms: f64,
    /// Failovers that the pause profile caused, per hour of virtual time.
    pub false_failovers_per_hour: f64,
    /// The number of these failovers; without it their uncertainty is not drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_failovers: Option<u64>,
    /// The virtual time in which they were counted, hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_hours: Option<f64>,
    /// The fraction of requests in these hours that were served in time, parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_served_ppm: Option<u64>,
    pub runs: u64,
}

impl Picture for TtlSweep {
    fn check(&self) -> Result<(), Undrawable> {
        Data::new(self).map(drop)
    }

    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        Data::new(self).map_or(Ok(()), |data| data.draw(root))
    }
}

struct Data<'a> {
    sweep: &'a TtlSweep,
    /// The protocols in the order of the points.
    protocols: Vec<&'a str>,
    /// In seconds.
    ttls: Vec<f64>,
}

/// A point's failover times: 5th percentile, median, 95th percentile, seconds.
fn spread(point: &Point) -> Option<[f64; 3]> {
    let mut sorted = point.failover_ms.clone();
    sorted.sort_by(f64::total_cmp);
    let [low, median, high] = [0.05, 0.5, 0.95].map(|q| quantile(&sorted, q));
    Some([low? / 1e3, median? / 1e3, high? / 1e3])
}

/// The 95 % confidence interval of a point's rate of failovers, per hour.
fn between(point: &Point) -> Option<(f64, f64)> {
    let (low, high) = crate::statistics::poisson_interval(point.false_failovers?, 0.95);
    let hours = point.paused_hours.filter(|hours| *hours > 0.0)?;
    Some((low / hours, high / hours))
}

impl<'a> Data<'a> {
    fn new(sweep: &'a TtlSweep) -> Result<Self, Undrawable> {
        if sweep.points.is_empty() {
            return Err(Undrawable("a ttl sweep needs at least one point".to_owned()));
        }
        let wrong = sweep.points.iter().find(|p| {
            let positive = |v: f64| v.is_finite() && v > 0.0;
            let rate = p.false_failovers_per_hour;
            p.ttl_ms == 0 || !positive(p.bound_ms) || !p.failover_ms.iter().all(|v| positive(*v)) || !rate.is_finite()
        });
        if let Some(p) = wrong {
            return Err(Undrawable(format!(
                "{} at a ttl of {} ms has a time that is not above 0",
                p.protocol, p.ttl_ms
            )));
        }
        let mut protocols: Vec<&str> = Vec::new();
        for point in &sweep.points {
            if !protocols.contains(&point.protocol.as_str()) {
                protocols.push(&point.protocol);
            }
        }
        let ttls: BTreeSet<u64> = sweep.points.iter().map(|p| p.ttl_ms).collect();
        Ok(Data { sweep, protocols, ttls: ttls.into_iter().map(|ms| ms as f64 / 1e3).collect() })
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let title = "What a lease's time to live costs";
        root.draw(&Text::new(title, (24, 18), style(30)))?;
        let (_, rest) = root.split_vertically(MARGINS.0);
        let (panels, below) = rest.split_vertically(SIZE.1 - MARGINS.0 - MARGINS.1);
        let (left, right) = panels.split_horizontally(SIZE.0 / 2);
        self.failover(&left)?;
        self.pauses(&right)?;
        self.legend(&below)
    }

    /// The least and the most hours in which a point's failovers were counted.
    fn paused_hours(&self) -> (f64, f64) {
        let hours = || self.sweep.points.iter().filter_map(|p| p.paused_hours);
        (hours().fold(f64::INFINITY, f64::min), hours().fold(0.0, f64::max))
    }

    /// The ttl axis of both panels: logarithmic, with a tick at each ttl of the sweep.
    fn ttl_axis(&self) -> WithKeyPoints<LogCoord<f64>> {
        let (first, last) = (self.ttls[0], self.ttls[self.ttls.len() - 1]);
        (first / 1.5..last * 1.5).log_scale().with_key_points(self.ttls.clone())
    }

    /// The place of a protocol's marks, beside the others' so that they do not hide one another.
    fn beside(&self, place: usize, ttl_s: f64) -> f64 {
        ttl_s * 1.1_f64.powf(place as f64 - (self.protocols.len() as f64 - 1.0) / 2.0)
    }

    fn of(&self, protocol: &'a str) -> Vec<&'a Point> {
        let mut points: Vec<_> = self.sweep.points.iter().filter(|p| p.protocol == protocol).collect();
        points.sort_by_key(|p| p.ttl_ms);
        points
    }

    fn failover<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let bounds = self.sweep.points.iter().map(|p| p.bound_ms / 1e3);
        let values: Vec<f64> = self.sweep.points.iter().filter_map(spread).flatten().chain(bounds).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min) / 1.5;
        let high = values.iter().copied().fold(0.0, f64::max) * 1.5;
        let mut chart = panel(area, "Failover time: from the fault to the successor's first accepted write")
            .build_cartesian_2d(
                self.ttl_axis(),
                (low..high).log_scale().with_key_points(decades(low, high, &[1.0, 2.0, 5.0])),
            )?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(style(18))
            .axis_desc_style(style(19))
            .x_desc("lease time to live, seconds")
            .y_desc("failover time, seconds")
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .draw()?;
        for (place, protocol) in self.protocols.iter().enumerate() {
            let colour = colour(place);
            let points = self.of(protocol);
            let at = |p: &Point| self.beside(place, p.ttl_ms as f64 / 1e3);
            let bound: Vec<_> = points.iter().map(|p| (at(p), p.bound_ms / 1e3)).collect();
            chart.draw_series(DashedLineSeries::new(bound.clone(), 9, 6, colour.stroke_width(2)))?;
            // Bounds of several protocols may coincide: a cap at each point shows them all.
            chart.draw_series(
                bound
                    .into_iter()
                    .map(|at| EmptyElement::at(at) + PathElement::new([(-7, 0), (7, 0)], colour.stroke_width(3))),
            )?;
            for (x, [low, median, high]) in points.iter().filter_map(|p| Some((at(p), spread(p)?))) {
                chart.draw_series([PathElement::new([(x, low), (x, high)], colour.stroke_width(4))])?;
                chart.draw_series([Circle::new((x, median), 7, colour.filled())])?;
                chart.draw_series([Circle::new((x, median), 3, WHITE.filled())])?;
            }
        }
        Ok(())
    }

    fn pauses<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let most = |p: &Point| between(p).map_or(p.false_failovers_per_hour, |(_, high)| high);
        let most = self.sweep.points.iter().map(most).fold(0.0, f64::max);
        // One point of hundreds would shrink all others to dots on a linear axis.
        let y = Axis::through_zero(0.0, most.max(1.0), 1.0);
        let mut chart = panel(area, "Failovers without a crash, per hour").build_cartesian_2d(self.ttl_axis(), y)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(style(18))
            .axis_desc_style(style(19))
            .x_desc("lease time to live, seconds")
            .y_desc("failovers per hour, logarithmic from 1 on")
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .draw()?;
        let longest = self.paused_hours().1;
        for (place, protocol) in self.protocols.iter().enumerate() {
            // No line between points: a handful of events in a few hours allows no interpolation.
            for point in self.of(protocol) {
                let x = self.beside(place, point.ttl_ms as f64 / 1e3);
                if let Some((low, high)) = between(point) {
                    chart.draw_series([PathElement::new([(x, low), (x, high)], colour(place).stroke_width(3))])?;
                }
                let at = (x, point.false_failovers_per_hour);
                chart.draw_series([Circle::new(at, 6, colour(place).filled())])?;
                if point.paused_hours.is_some_and(|hours| hours < longest) {
                    chart.draw_series([Circle::new(at, 3, WHITE.filled())])?;
                }
            }
        }
        Ok(())
    }

    /// Drawn below the panels, where it covers no data.
    fn legend<DB: DrawingBackend>(&self, area: &Area<DB>) -> Result<(), Failed<DB>> {
        let middle = || style(19).pos(Pos::new(HPos::Left, VPos::Center));
        let mut x = 30;
        for (place, protocol) in self.protocols.iter().enumerate() {
            area.draw(&Circle::new((x, 22), 7, colour(place).filled()))?;
            area.draw(&Text::new(*protocol, (x + 14, 22), middle()))?;
            x += 50 + 10 * protocol.chars().count() as i32;
        }
        let y = 58;
        area.draw(&PathElement::new([(30, y - 12), (30, y + 12)], INK.stroke_width(4)))?;
        area.draw(&Circle::new((30, y), 7, INK.filled()))?;
        area.draw(&Circle::new((30, y), 3, WHITE.filled()))?;
        area.draw(&Text::new("median, bar from the 5th to the 95th percentile", (46, y), middle()))?;
        for dash in 0..4 {
            area.draw(&PathElement::new([(480 + 15 * dash, y), (489 + 15 * dash, y)], INK.stroke_width(2)))?;
        }
        area.draw(&PathElement::new([(500, y), (518, y)], INK.stroke_width(4)))?;
        area.draw(&Text::new("bound: the longest that the protocol's timers allow", (550, y), middle()))?;
        let censored: u64 = self.sweep.points.iter().map(|p| p.failover_censored).sum();
        let (least, most) =
            (self.sweep.points.iter().map(|p| p.runs).min(), self.sweep.points.iter().map(|p| p.runs).max());
        let runs = match (least.unwrap_or(0), most.unwrap_or(0)) {
            (least, most) if least == most => format!("{most} runs a point"),
            (least, most) => format!("{least} to {most} runs a point"),
        };
        let runs = match censored {
            0 => format!("Seeds {}; {runs}, all of which recovered.", self.sweep.seeds),
            n => format!("Seeds {}; {runs}; {n} did not recover and are left out on the left.", self.sweep.seeds),
        };
        area.draw(&Text::new(runs, (24, 84), style(18)))?;
        let pauses =
            format!("Pauses on the right: {}. Bars there: 95 % confidence for one count.", self.sweep.pause_profile);
        area.draw(&Text::new(pauses, (24, 112), style(18)))?;
        if let (least, most) = self.paused_hours()
            && least < most
        {
            let hours =
                format!("Marks on the right: filled, counted in {most:.0} h; hollow, in fewer, at least {least:.1} h.");
            area.draw(&Text::new(hours, (760, 140), style(18)))?;
        }
        let beside = "Marks for one ttl are drawn side by side; all of them belong to the ttl at the tick.";
        area.draw(&Text::new(beside, (24, 140), style(18)))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{draw_png, draw_svg, tests::drawn},
        *,
    };
    use std::path::Path;

    fn made_up() -> TtlSweep {
        let protocols = [("redis-lease", 0.0), ("redis-fenced", 0.02), ("etcd-election", 0.5)];
        let mut points = Vec::new();
        for (protocol, more) in protocols {
            for ttl_s in [1.0, 3.0, 10.0, 30.0] {
                let failover =
                    |i: u32| 1000.0 * (ttl_s * (0.67 + f64::from(i) / 250.0) + more * (0.2 + f64::from(i % 7) / 7.0));
                points.push(Point {
                    protocol: protocol.to_owned(),
                    ttl_ms: (ttl_s * 1e3) as u64,
                    failover_ms: (0..100).map(failover).collect(),
                    failover_censored: 0,
                    bound_ms: 1000.0 * (ttl_s * 4.0 / 3.0 + more + 0.1),
                    false_failovers_per_hour: 40.0 * (-ttl_s / (2.0 + more)).exp(),
                    false_failovers: Some((400.0 * (-ttl_s / (2.0 + more)).exp()) as u64),
                    paused_hours: Some(10.0),
                    paused_served_ppm: None,
                    runs: 100,
                });
            }
        }
        let pause_profile = "one every 60 s on average, lasting 1 s on average (exponential), on the leader".to_owned();
        TtlSweep { schema: 1, points, pause_profile, seeds: "0..100".to_owned() }
    }

    #[test]
    fn both_formats_are_drawn_without_a_system_font() {
        let (text, _) = drawn(&made_up(), "ttl-sweep");
        for words in ["etcd-election", "failover time, seconds", "lease time to live, seconds", "Seeds 0..100", "10"] {
            assert!(text.contains(words), "{words}");
        }
    }

    #[test]
    fn the_limits_of_a_count_are_those_of_the_tables() {
        let limits = |n| {
            let point = Point { false_failovers: Some(n), paused_hours: Some(1.0), ..made_up().points.remove(0) };
            between(&point).unwrap()
        };
        // The exact limits of 0, 5 and 101 events.
        for (n, low, high) in [(0, 0.0, 3.69), (5, 1.62, 11.67), (101, 82.3, 122.7)] {
            let (l, h) = limits(n);
            assert!((l - low).abs() < 0.1 && (h - high).abs() < 0.1, "{n}: {l} to {h}");
        }
        assert_eq!(between(&Point { false_failovers: None, ..made_up().points.remove(0) }), None);
    }

    #[test]
    fn what_cannot_be_drawn_is_one_sentence() {
        let path = Path::new("no-such-folder/x.png");
        let empty = TtlSweep { points: Vec::new(), ..made_up() };
        assert_eq!(draw_png(&empty, path).unwrap_err().to_string(), "a ttl sweep needs at least one point");
        let mut negative = made_up();
        negative.points[0].failover_ms[0] = -1.0;
        let says = "redis-lease at a ttl of 1000 ms has a time that is not above 0";
        assert_eq!(draw_svg(&negative, path).unwrap_err().to_string(), says);
        assert!(
            draw_png(&made_up(), path).unwrap_err().to_string().starts_with("no-such-folder/x.png cannot be drawn: ")
        );
    }
}
