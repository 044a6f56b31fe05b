//! The safety frontier: for each of several values of one parameter, the first value of another at which runs become
//! unsafe, compared with the computed bound.

mod edge;

use crate::{
    error::Failed,
    interrupt,
    probe::{Held, Probe, Seen, Violation},
    repro,
};
use edge::{BESIDE, Edge, SCANNED, Verdict, first_change};
use reports::plot::frontier::{Along, Bound, Figures, Point, Safe, Unsafe};
use scenarios::{
    Params, arithmetic,
    axis::{Axis, Span},
};

pub struct Frontier<'a> {
    /// What runs, and its seeds.
    pub probe: Probe<'a>,
    /// The parameters of every run, except the two.
    pub params: &'a Params,
    pub x: Axis,
    /// The second parameter and its search range.
    pub y: Span,
}

impl Verdict for Seen {
    fn violates(&self) -> bool {
        matches!(self, Seen::Violated(_))
    }
}

impl Frontier<'_> {
    /// Searches at each value of `x` until the program is asked to end; every point is passed to `tried`.
    ///
    /// # Errors
    /// The parameters make no sense, a run could not be finished, or the search ended before the first value was done.
    pub fn search(&self, xs: &[u64], tried: impl Fn(u64, u64, &Seen)) -> Result<Figures, Failed> {
        let mut points = Vec::new();
        for x in xs {
            match self.point(*x, &tried) {
                Err(_) if interrupt::asked() && !points.is_empty() => break,
                point => points.push(point?),
            }
        }
        Ok(self.figures(xs, points))
    }

    /// The results, with everything needed to draw them.
    pub fn figures(&self, xs: &[u64], points: Vec<Point>) -> Figures {
        let (Probe { scenario, protocol, seeds, .. }, y) = (&self.probe, self.y);
        Figures {
            schema: 1,
            scenario: scenario.name.to_owned(),
            protocol: protocol.name.to_owned(),
            fencing: self.params.fencing.word().to_owned(),
            seeds: (seeds.start, seeds.end),
            x: along(self.x, (xs.first().copied().unwrap_or(0), xs.last().copied().unwrap_or(0))),
            y: along(y.axis, (y.from, y.to)),
            scanned: SCANNED,
            beside: BESIDE,
            bound_of: self.bound_of(xs),
            points,
        }
    }

    fn at(&self, x: u64, y: u64) -> Params {
        self.y.axis.set(&self.x.set(self.params, x), y)
    }

    fn point(&self, x: u64, tried: &impl Fn(u64, u64, &Seen)) -> Result<Point, Failed> {
        let mut before = None;
        let edge = first_change((self.y.from, self.y.to), |y| {
            let seen = self.probe.at(&self.at(x, y), before)?;
            tried(x, y, &seen);
            if let Seen::Violated(Violation { seed, .. }) = seen {
                before = Some(seed);
            }
            Ok(seen)
        })?;
        let Edge { below, above, again, tried: values_tried } = edge;
        let (mut violation, mut held) = (None, None);
        for (value, seen) in [Some(below), above].into_iter().flatten() {
            match seen {
                Seen::Violated(found) => violation = Some((value, found)),
                Seen::Held(seeds) => held = Some((value, seeds)),
            }
        }
        let says = |y| arithmetic::says(self.probe.scenario, self.probe.protocol, &self.at(x, y));
        let contradicted = violation.as_ref().is_some_and(|(y, found)| {
            says(*y).is_some_and(|says| says.safe && says.invariant.is_none_or(|name| found.violated.contains(&name)))
        });
        // Running the same seed on both sides of the edge shows the effect of the step between them.
        let beside = violation.as_ref().map_or(self.probe.seeds.start, |(_, found)| found.seed);
        let holds = held.map(|(y, seeds)| self.safe(x, y, seeds, beside)).transpose()?;
        let text = self.x.text(x);
        Ok(Point {
            x,
            text,
            violates: violation.map(|(y, found)| self.unsafe_at(x, y, found)),
            holds,
            again,
            values_tried,
            bound: self.bound(x),
            contradicted,
        })
    }

    fn unsafe_at(&self, x: u64, y: u64, found: Violation) -> Unsafe {
        let Violation { seed, violated } = found;
        let violated = violated.into_iter().map(str::to_owned).collect();
        Unsafe { at: y, text: self.y.axis.text(y), seed, violated, arguments: self.arguments(x, y, seed) }
    }

    fn safe(&self, x: u64, y: u64, seeds: Held, seed: u64) -> Result<Safe, Failed> {
        let verdict = match self.probe.one(&self.at(x, y), seed)? {
            Seen::Held(Held { inconclusive: 1, .. }) => "vacuous",
            Seen::Held(Held { leaderless: 1, .. }) => "liveness",
            Seen::Held(_) => "pass",
            Seen::Violated(_) => {
                return Err(Failed::Harness(format!("seed {seed} gave another verdict when it ran again")));
            }
        };
        let Held { passed, inconclusive, leaderless } = seeds;
        let (text, verdict, arguments) = (self.y.axis.text(y), verdict.to_owned(), self.arguments(x, y, seed));
        Ok(Safe { at: y, text, passed, inconclusive, leaderless, seed, verdict, arguments })
    }

    /// The arguments that repeat one seed of a point.
    fn arguments(&self, x: u64, y: u64, seed: u64) -> Vec<String> {
        repro::arguments(self.probe.scenario.name, self.probe.protocol.name, &self.at(x, y), seed)
    }

    /// The computed bound along `y`, which is crossed at most once.
    fn bound(&self, x: u64) -> Option<Bound> {
        let safe = |y| arithmetic::says(self.probe.scenario, self.probe.protocol, &self.at(x, y)).map(|says| says.safe);
        let (mut low, mut high) = (self.y.from, self.y.to);
        let (at_low, at_high) = (safe(low)?, safe(high)?);
        if at_low == at_high {
            return Some(if at_low { Bound::Everywhere } else { Bound::Nowhere });
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if safe(middle)? == at_low { low = middle } else { high = middle }
        }
        let value = if at_low { low } else { high };
        let text = self.y.axis.text(value);
        Some(if at_low { Bound::UpTo { value, text } } else { Bound::From { value, text } })
    }

    /// What the computed bound applies to, in words.
    fn bound_of(&self, xs: &[u64]) -> Option<String> {
        let (scenario, protocol) = (self.probe.scenario, self.probe.protocol);
        let says = arithmetic::says(scenario, protocol, &self.at(*xs.first()?, self.y.from))?;
        Some(says.invariant.map_or("all of safety".to_owned(), |name| format!("`{name}`")))
    }
}

fn along(axis: Axis, (from, to): (u64, u64)) -> Along {
    let (shown_in, shown_per) = axis.shown();
    Along {
        axis: axis.name().to_owned(),
        option: axis.option().to_owned(),
        about: axis.about().to_owned(),
        unit: axis.unit().to_owned(),
        from,
        to,
        shown_in: shown_in.to_owned(),
        shown_per,
    }
}
