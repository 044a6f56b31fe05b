//! A baseline recorded in parts: the cells of one sweep, plus those of an earlier one that it left out.

use super::Baseline;
use std::collections::BTreeMap;

impl Baseline {
    /// Adds the cells of `earlier` that `keeps` wants and this baseline lacks. Adds nothing if the options differ.
    #[must_use]
    pub fn with_others_of(mut self, earlier: &Baseline, keeps: impl Fn(&str) -> bool) -> Baseline {
        if earlier.options != self.options {
            return self;
        }
        let missing = earlier.runs.keys().filter(|cell| !self.runs.contains_key(*cell) && keeps(cell));
        let missing: Vec<String> = missing.cloned().collect();
        if missing.is_empty() {
            return self;
        }
        // A mark that only one of the two knows cannot be compared in all cells.
        self.knows.retain(|name| earlier.knows.contains(name));
        let knows = self.knows.clone();
        self.shares.values_mut().for_each(|shares| shares.retain(|name, _| knows.contains(name)));
        let recorded: Vec<String> = self.runs.keys().cloned().collect();
        let all = recorded.into_iter().map(|cell| (cell, self.seeds));
        let mut seeds: BTreeMap<String, [u64; 2]> = all.collect();
        for cell in missing {
            seeds.insert(cell.clone(), earlier.seeds_of(&cell));
            let (cells, shares, values) =
                (earlier.cells.get(&cell), earlier.shares.get(&cell), earlier.values.get(&cell));
            self.cells.extend(cells.map(|of| (cell.clone(), of.clone())));
            self.shares.extend(shares.map(|of| (cell.clone(), of.clone())));
            self.values.extend(values.map(|of| (cell.clone(), of.clone())));
            self.runs.extend(earlier.runs.get(&cell).map(|runs| (cell, *runs)));
        }
        // `seeds` holds the range that most cells have.
        let with = |of: [u64; 2]| seeds.values().filter(|seeds| **seeds == of).count();
        if with(earlier.seeds) > with(self.seeds) {
            self.seeds = earlier.seeds;
        }
        self.seeds_of = seeds.into_iter().filter(|(_, seeds)| *seeds != self.seeds).collect();
        self
    }
}
