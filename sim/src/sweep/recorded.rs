//! A sweep's results as a baseline for later ones.

use super::{Outcome, Sweep};
use crate::{
    baseline::{
        Baseline, Unreadable, marks,
        runs::{ENDING, Runs},
    },
    canary, known,
};
use std::path::Path;

impl Sweep<'_> {
    /// The new content of `file`, whose present content is `earlier`: figures of cells, or, depending on its extension,
    /// digests of runs. Cells that this sweep leaves out are kept.
    ///
    /// # Errors
    /// The swarm's committed baseline, which names all marks, is unreadable.
    pub fn recorded(&self, outcome: &Outcome, file: &Path, earlier: &str) -> Result<String, Unreadable> {
        let keeps = |cell: &str| !self.covers(cell);
        if file.extension().is_some_and(|ending| ending == ENDING) {
            let cells = outcome.cells.iter().map(|cell| (cell.name(), &cell.seen.digests));
            let runs = Runs::of(self.figure_options(), cells);
            return Ok(runs.with_others_of(Runs::read(earlier).unwrap_or_default(), keeps).to_text());
        }
        let earlier = serde_json::from_str(earlier).unwrap_or_default();
        Ok(self.baseline(outcome)?.with_others_of(&earlier, keeps).to_json())
    }

    fn baseline(&self, outcome: &Outcome) -> Result<Baseline, Unreadable> {
        // Canaries have their own limits.
        let cells = outcome
            .cells
            .iter()
            .filter(|cell| !cell.scenario.starts_with(canary::PREFIX) && !cell.scenario.starts_with(known::PREFIX));
        let cells = cells.map(|cell| (cell.name(), &cell.seen));
        let swarm = Baseline::committed_swarm()?;
        let knows = marks::invariants(&self.registry.invariants).chain(swarm.marks().cloned()).collect();
        Ok(Baseline::record(self.figure_options(), [self.seeds.start, self.seeds.end], knows, cells))
    }

    /// Whether the sweep runs this cell of the baseline.
    fn covers(&self, cell: &str) -> bool {
        if cell.starts_with(canary::PREFIX) {
            return !self.canaries().is_empty();
        }
        let mut words = cell.split(' ');
        let (scenario, protocol, nodes) = (words.next(), words.next(), words.next().and_then(|n| n.parse().ok()));
        self.scenarios.iter().any(|swept| Some(swept.name) == scenario)
            && self.protocols.iter().any(|swept| Some(swept.name) == protocol)
            && nodes.is_some_and(|nodes| self.sizes.numbers().contains(&nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{registry::Registry, sweep::Sizes};
    use protocols::election;
    use scenarios::{Params, scenario};
    use std::collections::BTreeSet;

    #[test]
    fn each_cell_of_the_default_sweep_has_digests_and_nothing_else_has() {
        let params = Params { rate: 200, ..Params::default() };
        let (scenarios, protocols) = (scenario::ALL.to_vec(), election::ALL.to_vec());
        let (registry, sizes) = (&Registry::default(), Sizes::Usual);
        let sweep =
            Sweep { registry, scenarios, protocols, sizes, seeds: 0..4, params: &params, shard: (1, 1), jobs: 1 };
        let cells = sweep.which().into_iter().map(|(s, p, nodes)| format!("{} {} {nodes}", s.name, p.name));
        let canaries = sweep.canaries().into_iter().map(|canary| {
            let plan = (canary.plan)(0, true).expect("it makes sense");
            format!("{}{} {} {}", canary::PREFIX, canary.name, plan.protocol, plan.candidates.len())
        });
        let run: BTreeSet<String> = cells.chain(canaries).collect();
        let recorded = Runs::committed().expect("they are digests");
        let recorded: BTreeSet<String> = recorded.cells().map(str::to_owned).collect();
        let differ: Vec<_> = run.symmetric_difference(&recorded).collect();
        assert!(differ.is_empty(), "record these anew: {differ:#?}");
    }
}
