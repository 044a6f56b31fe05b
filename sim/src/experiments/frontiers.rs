//! Frontiers where a scenario becomes unsafe along two parameters, as numbers: one cell per point.

use super::sets::{Axes, Experiment, PlanSet};
use crate::{error::Failed, frontier, probe::Probe, registry::Registry};
use protocols::{election::Protocol, fence::checks::Fencing};
use reports::{
    experiments::{Cell, Numbers},
    plot::frontier::{Bound, Figures, Point, Safe, Unsafe},
};
use scenarios::{
    Params,
    axis::{Axis, Span, Values},
    registry::Missing,
    scenario,
};

/// Searches the frontier of a plan set with one protocol.
pub(super) fn search(
    registry: &Registry,
    set: &PlanSet,
    axes: &Axes,
    params: &Params,
    protocol: &'static Protocol,
    jobs: usize,
) -> Result<Figures, Failed> {
    let name = &set.scenario;
    let scenario = scenario::find(name).ok_or_else(|| Missing { what: "scenario", name: name.to_string() })?;
    let probe = Probe { registry, scenario, protocol, seeds: set.seeds(), jobs };
    let ((x, values), y) = (Values::parse(&axes.x)?, Span::parse(&axes.y)?);
    frontier::Frontier { probe, params, x, y }.search(&values.list(0), |_, _, _| ())
}

/// The frontiers of an experiment, restored from the numbers.
///
/// # Errors
/// A plan set cannot be read.
pub fn drawn(registry: &Registry, experiment: &Experiment, numbers: &Numbers) -> Result<Vec<Figures>, Failed> {
    let mut all = Vec::new();
    for set in &experiment.full {
        let Some(axes) = &set.frontier else { continue };
        let ((x, values), y) = (Values::parse(&axes.x)?, Span::parse(&axes.y)?);
        let (name, xs, params) = (&set.scenario, values.list(0), set.params(registry)?);
        let scenario = scenario::find(name).ok_or_else(|| Missing { what: "scenario", name: name.to_string() })?;
        for protocol in set.protocols(registry)? {
            let point = |at: &u64| {
                let key = format!("{}/{name}/{}/{} {}", experiment.number, protocol.name, x.name(), x.text(*at));
                point((x, *at), y.axis, numbers.matching(&key).next()?)
            };
            let points: Vec<Point> = xs.iter().filter_map(point).collect();
            let probe = Probe { registry, scenario, protocol, seeds: set.seeds(), jobs: 1 };
            let figures = frontier::Frontier { probe, params: &params, x, y }.figures(&xs, points);
            all.extend((!figures.points.is_empty()).then_some(figures));
        }
    }
    Ok(all)
}

/// A point restored from its cell; `None` if values beyond the edge behaved differently, which only the search can
/// place.
fn point((x, at): (Axis, u64), y: Axis, cell: &Cell) -> Option<Point> {
    let count = |name: &str| cell.counts.get(name).copied();
    let seed = count("seed")?;
    let inconclusive = count("inconclusive").unwrap_or(0);
    let violates = count("violates_at").map(|at| Unsafe {
        at,
        text: y.text(at),
        seed,
        violated: cell.violated.keys().cloned().collect(),
        arguments: cell.command.split(' ').map(str::to_owned).collect(),
    });
    let holds = count("holds_at").map(|at| Safe {
        at,
        text: y.text(at),
        passed: cell.runs - inconclusive,
        inconclusive,
        leaderless: 0,
        seed,
        verdict: if inconclusive > 0 { "vacuous" } else { "pass" }.to_owned(),
        arguments: Vec::new(),
    });
    let bound = count("bound").map(|value| Bound::UpTo { value, text: y.text(value) });
    let (contradicted, values_tried) = (count("contradicted")? > 0, count("values_tried")? as usize);
    let as_drawn = count("unlike_the_edge")? == 0;
    as_drawn.then_some(Point {
        x: at,
        text: x.text(at),
        violates,
        holds,
        again: Vec::new(),
        values_tried,
        bound,
        contradicted,
    })
}

/// One cell per point; the variant gives its place.
pub(super) fn cells(experiment: &Experiment, figures: &Figures, protocol: &Protocol, fencing: Fencing) -> Vec<Cell> {
    let (from, to) = figures.seeds;
    let cell = |point: &Point| {
        let mut cell = Cell {
            experiment: experiment.number,
            scenario: figures.scenario.clone(),
            protocol: protocol.name.to_owned(),
            variant: format!("{} {}", figures.x.axis, point.text),
            tokened: protocol.tokened,
            fencing: fencing == Fencing::On,
            runs: to - from,
            ..Cell::default()
        };
        if let Some(found) = &point.violates {
            cell.command = found.arguments.join(" ");
            cell.count([("violates_at", found.at), ("seed", found.seed)]);
            found.violated.iter().for_each(|name| _ = cell.violated.insert(name.clone(), 1));
        }
        cell.count(point.holds.as_ref().map(|held| ("holds_at", held.at)));
        cell.count(point.holds.as_ref().map(|held| ("inconclusive", held.inconclusive)));
        cell.count(point.bound.as_ref().and_then(Bound::value).map(|bound| ("bound", bound)));
        cell.count([
            ("values_tried", point.values_tried as u64),
            ("unlike_the_edge", point.again.len() as u64),
            ("contradicted", point.contradicted.into()),
        ]);
        cell
    };
    figures.points.iter().map(cell).collect()
}
