//! Where a scenario becomes unsafe along two parameters, as numbers: a cell for each point of a frontier.

use super::sets::{Axes, Experiment, PlanSet};
use crate::{frontier, probe::Probe, registry::Registry};
use protocols::{election::Protocol, fence::checks::Fencing};
use reports::{
    experiments::Cell,
    plot::frontier::{Bound, Figures, Point},
};
use scenarios::{
    Params,
    axis::{Span, Values},
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
) -> Result<Figures, String> {
    let name = &set.scenario;
    let scenario = scenario::find(name).ok_or_else(|| format!("there is no scenario `{name}`"))?;
    let probe = Probe { registry, scenario, protocol, seeds: set.seeds(), jobs };
    let ((x, values), y) = (Values::parse(&axes.x)?, Span::parse(&axes.y)?);
    frontier::Frontier { probe, params, x, y }.search(&values.list(0), |_, _, _| ())
}

/// A cell for each of its points: the variant says where it lies.
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
