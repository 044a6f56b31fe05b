//! Who leads when: a strip per run with a lane per node, a thin line while the node believes that it leads, a thick one
//! from its first accepted write to its last, and a mark across the strip while two are acting at once.

use super::{Area, Failed, GRID, INK, Picture, Undrawable, colour, style};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Width, pixels.
const WIDTH: u32 = 1400;
/// Height of a node's lane, of a narrow lane, and of the space between strips; pixels.
const LANE: u32 = 13;
/// See [`LANE`].
const NARROW_LANE: u32 = 7;
/// With more nodes than this, lanes are narrow.
const FEW_NODES: u16 = 5;
/// See [`LANE`].
const BETWEEN: u32 = 16;
/// Height of the space above the strips, and below them; pixels.
const ABOVE: u32 = 100;
/// See [`ABOVE`].
const BELOW: u32 = 120;
/// Where strips begin, and the distance of their ends from the right; names are on the left, counts on the right.
const SIDES: (u32, u32) = (300, 210);
/// After the end of a run.
const OVER: RGBColor = RGBColor(240, 240, 240);
/// While two are acting at once.
const ALARM: RGBColor = RGBColor(200, 0, 0);

/// Strips of one picture, with a common axis: seconds since each run's first fault.
#[derive(Clone, PartialEq, Debug)]
pub struct LeadersActing {
    pub title: String,
    /// What the runs are: one sentence.
    pub about: String,
    /// The range of time shown, seconds since the first fault.
    pub span_s: (f64, f64),
    /// The strips from top to bottom.
    pub strips: Vec<Strip>,
}

/// One run.
#[derive(Clone, PartialEq, Debug)]
pub struct Strip {
    pub label: String,
    pub nodes: u16,
    /// When the run ended, seconds since the first fault.
    pub ends: f64,
    /// Intervals of faults, seconds; instantaneous faults get the thickness of their line.
    pub faults: Vec<(f64, f64)>,
    /// All leaderships.
    pub reigns: Vec<Reign>,
    /// The most leaders acting at once.
    pub acting: u64,
    /// The most nodes believing at once.
    pub believing: u64,
}

/// One leadership, seconds since the first fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reign {
    /// The node's number, from 0.
    pub node: u16,
    /// From election to the end of the belief.
    pub believed: Option<(f64, f64)>,
    /// From the first accepted write to the last.
    pub acted: Option<(f64, f64)>,
}

impl Strip {
    fn lane(&self) -> u32 {
        if self.nodes > FEW_NODES { NARROW_LANE } else { LANE }
    }

    fn height(&self) -> u32 {
        self.lane() * u32::from(self.nodes) + BETWEEN
    }

    /// The intervals in which more than one was acting.
    fn at_once(&self) -> Vec<(f64, f64)> {
        let acted: Vec<(f64, f64)> = self.reigns.iter().filter_map(|reign| reign.acted).collect();
        let mut both = Vec::new();
        for (place, one) in acted.iter().enumerate() {
            for other in &acted[place + 1..] {
                let (from, to) = (one.0.max(other.0), one.1.min(other.1));
                if from < to {
                    both.push((from, to));
                }
            }
        }
        both
    }
}

impl Picture for LeadersActing {
    fn check(&self) -> Result<(), Undrawable> {
        match self.strips.is_empty() || self.span_s.0 >= self.span_s.1 {
            true => Err(Undrawable(format!("{}: there is nothing to draw", self.title))),
            false => Ok(()),
        }
    }

    fn size(&self) -> (u32, u32) {
        (WIDTH, ABOVE + BELOW + self.strips.iter().map(Strip::height).sum::<u32>())
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>> {
        let left = |size| style(size).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(self.title.as_str(), (30, 34), left(30)))?;
        root.draw(&Text::new(self.about.as_str(), (30, 72), left(19)))?;
        let mut top = ABOVE as i32;
        let bottom = (self.size().1 - BELOW) as i32;
        self.time_axis(root, (top, bottom))?;
        for strip in &self.strips {
            self.strip(root, strip, top)?;
            top += strip.height() as i32;
        }
        self.legend(root, bottom + 66)
    }
}

impl LeadersActing {
    fn x(&self, s: f64) -> i32 {
        let (from, to) = self.span_s;
        let width = f64::from(WIDTH - SIDES.0 - SIDES.1);
        SIDES.0 as i32 + ((s.clamp(from, to) - from) / (to - from) * width).round() as i32
    }

    fn shows(&self, (from, to): (f64, f64)) -> bool {
        to >= self.span_s.0 && from <= self.span_s.1
    }

    fn time_axis<DB: DrawingBackend>(&self, root: &Area<DB>, (top, bottom): (i32, i32)) -> Result<(), Failed<DB>> {
        let (from, to) = self.span_s;
        let step =
            [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0].into_iter().find(|step| (to - from) / step <= 12.0).unwrap_or(60.0);
        let under = style(17).pos(Pos::new(HPos::Center, VPos::Top));
        for tick in (from / step).ceil() as i64..=(to / step).floor() as i64 {
            let s = tick as f64 * step;
            let x = self.x(s);
            root.draw(&PathElement::new([(x, top), (x, bottom)], GRID.stroke_width(1)))?;
            root.draw(&Text::new(super::number(s), (x, bottom + 6), under.clone()))?;
        }
        let middle = self.x((from + to) / 2.0);
        root.draw(&Text::new("seconds since the first fault", (middle, bottom + 30), under))
    }

    fn strip<DB: DrawingBackend>(&self, root: &Area<DB>, strip: &Strip, top: i32) -> Result<(), Failed<DB>> {
        let lanes = (strip.lane() * u32::from(strip.nodes)) as i32;
        let (first, last) = (top + BETWEEN as i32 / 2, top + BETWEEN as i32 / 2 + lanes);
        self.end(root, strip, (first, last))?;
        for (from, to) in strip.faults.iter().copied().filter(|span| self.shows(*span)) {
            let (from, to) = (self.x(from), self.x(to));
            root.draw(&Rectangle::new([(from, first), (to.max(from + 2), last)], RGBColor(238, 226, 204).filled()))?;
        }
        for span in strip.at_once().into_iter().filter(|span| self.shows(*span)) {
            let (from, to) = (self.x(span.0), self.x(span.1));
            let band = [(from, first - 3), (to.max(from + 3), last + 3)];
            root.draw(&Rectangle::new(band, ALARM.mix(0.25).filled()))?;
            root.draw(&Rectangle::new(band, ALARM.stroke_width(2)))?;
        }
        for reign in &strip.reigns {
            let y = first + (strip.lane() * u32::from(reign.node) + strip.lane() / 2) as i32;
            let colour = colour(usize::from(reign.node));
            for (span, half) in [(reign.believed, 1), (reign.acted, strip.lane() as i32 / 3)] {
                let Some((from, to)) = span.filter(|span| self.shows(*span)) else { continue };
                let (from, to) = (self.x(from), self.x(to).max(self.x(from) + 2));
                root.draw(&Rectangle::new([(from, y - half), (to, y + half)], colour.filled()))?;
            }
        }
        let middle = (first + last) / 2;
        let right = style(18).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(strip.label.as_str(), (SIDES.0 as i32 - 12, middle), right))?;
        let at = (WIDTH as i32 - SIDES.1 as i32 + 14, middle);
        let ink = if strip.acting > 1 { ALARM } else { INK };
        let left = style(17).color(&ink).pos(Pos::new(HPos::Left, VPos::Center));
        let later = self.later(strip);
        let up = if later.is_empty() { 0 } else { 9 };
        let most = format!("acting {}, believing {}", strip.acting, strip.believing);
        root.draw(&Text::new(most, (at.0, at.1 - up), left.clone()))?;
        root.draw(&Text::new(later, (at.0, at.1 + up), left))?;
        let line = last + BETWEEN as i32 / 2;
        root.draw(&PathElement::new([(30, line), (WIDTH as i32 - 30, line)], GRID.stroke_width(1)))
    }

    /// What comes after the picture's end, in words; empty if nothing does.
    fn later(&self, strip: &Strip) -> String {
        let after = |from: f64| from > self.span_s.1;
        let first = |all: Vec<f64>| all.into_iter().filter(|from| after(*from)).min_by(f64::total_cmp);
        let two = first(strip.at_once().into_iter().map(|(from, _)| from).collect());
        let next = first(strip.reigns.iter().filter_map(|reign| Some(reign.acted?.0)).collect());
        match (two, next) {
            (Some(s), _) => format!("two act from {s:.1} s on"),
            // If leaders come and go all the time, the next one is no news.
            (None, Some(s)) if strip.nodes <= FEW_NODES => format!("the next acts at {s:.1} s"),
            _ => String::new(),
        }
    }

    /// Marks the end of the run, or draws an arrow if it goes on.
    fn end<DB: DrawingBackend>(
        &self,
        root: &Area<DB>,
        strip: &Strip,
        (top, bottom): (i32, i32),
    ) -> Result<(), Failed<DB>> {
        let (x, right) = (self.x(strip.ends), self.x(self.span_s.1));
        if strip.ends < self.span_s.1 {
            root.draw(&Rectangle::new([(x, top), (right, bottom)], OVER.filled()))?;
            return root.draw(&PathElement::new([(x, top - 3), (x, bottom + 3)], INK.stroke_width(3)));
        }
        let middle = (top + bottom) / 2;
        let arrow = vec![(right + 2, middle - 5), (right + 10, middle), (right + 2, middle + 5)];
        root.draw(&Polygon::new(arrow, INK.filled()))
    }

    fn legend<DB: DrawingBackend>(&self, root: &Area<DB>, y: i32) -> Result<(), Failed<DB>> {
        let middle = || style(17).pos(Pos::new(HPos::Left, VPos::Center));
        let mark = |x: i32, half: i32| [(x, y - half), (x + 40, y + half)];
        root.draw(&Rectangle::new(mark(30, 1), colour(0).filled()))?;
        root.draw(&Text::new("a node believes that it leads", (80, y), middle()))?;
        root.draw(&Rectangle::new(mark(330, 4), colour(0).filled()))?;
        root.draw(&Text::new("its writes are accepted: it takes effect", (380, y), middle()))?;
        root.draw(&Rectangle::new(mark(710, 8), RGBColor(238, 226, 204).filled()))?;
        root.draw(&Text::new("a fault lasts", (760, y), middle()))?;
        root.draw(&Rectangle::new(mark(900, 8), ALARM.mix(0.25).filled()))?;
        root.draw(&Rectangle::new(mark(900, 8), ALARM.stroke_width(2)))?;
        root.draw(&Text::new("two take effect at once", (950, y), middle()))?;
        root.draw(&Rectangle::new(mark(1160, 8), OVER.filled()))?;
        root.draw(&PathElement::new([(1160, y - 10), (1160, y + 10)], INK.stroke_width(3)))?;
        root.draw(&Text::new("the run is over", (1210, y), middle()))?;
        let lanes = "A lane and a colour for each node, n1 at the top. An arrow: the run goes on. On the right: the most of the whole run, and \
                     what comes after the picture.";
        root.draw(&Text::new(lanes, (30, y + 30), middle()))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::drawn, *};

    #[test]
    fn two_at_once_are_marked() {
        let reign =
            |node, from: f64, to: f64| Reign { node, believed: Some((from, to + 1.0)), acted: Some((from, to)) };
        let strip = |label: &str, reigns| Strip {
            label: label.to_owned(),
            nodes: 3,
            ends: 9.5,
            faults: vec![(0.0, 3.5)],
            reigns,
            acting: 1,
            believing: 2,
        };
        let clean = strip("etcd-election", vec![reign(0, -2.0, 0.0), reign(1, 2.6, 9.0)]);
        let both = strip("redis-naive", vec![reign(0, -2.0, 5.0), reign(2, 2.6, 9.0)]);
        let mut late = strip("consul-session", vec![reign(0, -2.0, 41.0), reign(1, 35.0, 60.0)]);
        late.ends = 60.0;
        assert_eq!((clean.at_once(), both.at_once()), (vec![], vec![(2.6, 5.0)]));
        let picture = LeadersActing {
            title: "Leaders acting".to_owned(),
            about: "One run each.".to_owned(),
            span_s: (-2.0, 10.0),
            strips: vec![clean, both, late],
        };
        let (text, _) = drawn(&picture, "leaders-acting");
        for words in [
            "redis-naive",
            "seconds since the first fault",
            "acting 1, believing 2",
            "10",
            "two act from 35.0 s on",
            "the run is over",
        ] {
            assert!(text.contains(words), "{words}");
        }
        assert!(LeadersActing { strips: Vec::new(), ..picture }.check().is_err());
    }
}
