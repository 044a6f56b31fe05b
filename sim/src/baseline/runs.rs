//! Detects any change of behaviour by digests of the traces of each cell's first seeds.
//!
//! Figure ranges show that a protocol elects twice as often, but not a change to one write in a thousand or to the
//! order of two messages. The same plan gives the same bytes, so a different trace means that the code behaves
//! differently. If the change is deliberate, record anew with `sweep all --seeds 0..4 --record-baseline
//! seeds/baseline/scenarios.runs`, and say why in the commit.

use super::{By, Moved, Unreadable};
use std::collections::BTreeMap;

/// The extension of digest files.
pub const ENDING: &str = "runs";
/// The digests of the default sweep.
const COMMITTED: &str = include_str!("../../data/scenarios.runs");
/// Seeds from 0 to below this have digests.
const SEEDS: u64 = 4;
/// The prefix of the line with the options of the recorded sweep.
const OPTIONS: &str = "options ";

pub type Digests = BTreeMap<u64, u32>;

/// Adds a run's digest if its seed has one.
pub(super) fn add(digests: &mut Digests, seed: u64, trace_hash: &str) {
    let digest = trace_hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    digests.extend(digest.filter(|_| seed < SEEDS).map(|digest| (seed, digest)));
}

/// A line that does not hold a cell's digests.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not a cell")]
pub struct NoCell(pub String);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Runs {
    /// The options of the sweep, without seeds.
    options: String,
    cells: BTreeMap<String, Digests>,
}

impl Runs {
    /// The digests of cells that have one for seed 0: the file format implies seeds from 0 on.
    pub fn of<'a>(options: String, cells: impl IntoIterator<Item = (String, &'a Digests)>) -> Runs {
        let some = cells.into_iter().filter(|(_, digests)| digests.contains_key(&0));
        Runs { options, cells: some.map(|(cell, digests)| (cell, digests.clone())).collect() }
    }

    #[cfg(test)]
    pub(crate) fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.keys().map(String::as_str)
    }

    /// The digests committed with this build.
    ///
    /// # Errors
    /// They are unreadable, which a test rules out.
    pub fn committed() -> Result<Runs, Unreadable> {
        Runs::read(COMMITTED).map_err(|wrong| Unreadable { file: "scenarios.runs", why: format!(": {wrong}") })
    }

    /// Parses a file's text.
    ///
    /// # Errors
    /// The first line that describes no cell.
    pub fn read(text: &str) -> Result<Runs, NoCell> {
        let mut lines = text.lines();
        let options = lines
            .next()
            .and_then(|line| line.strip_prefix(OPTIONS))
            .ok_or_else(|| NoCell("the first line".to_owned()))?;
        let cell = |line: &str| {
            let (cell, digests) = line.rsplit_once(": ")?;
            let one = |(seed, digits)| Some((seed, u32::from_str_radix(digits, 16).ok()?));
            Some((cell.to_owned(), (0_u64..).zip(digests.split(' ')).map(one).collect::<Option<Digests>>()?))
        };
        let cells = lines.map(|line| cell(line).ok_or_else(|| NoCell(line.to_owned()))).collect::<Result<_, _>>()?;
        Ok(Runs { options: options.to_owned(), cells })
    }

    /// The committed form: one line per cell, with its digests from seed 0 on.
    pub fn to_text(&self) -> String {
        let digits = |digests: &Digests| digests.values().map(|digest| format!("{digest:08x}")).collect::<Vec<_>>();
        let cells = self.cells.iter().map(|(cell, digests)| format!("{cell}: {}\n", digits(digests).join(" ")));
        format!("{OPTIONS}{}\n{}", self.options, cells.collect::<String>())
    }

    /// Adds the cells of `earlier` that `keeps` wants and this one lacks.
    #[must_use]
    pub fn with_others_of(mut self, earlier: Runs, keeps: impl Fn(&str) -> bool) -> Runs {
        if earlier.options == self.options {
            let missing = earlier.cells.into_iter().filter(|(cell, _)| keeps(cell) && !self.cells.contains_key(cell));
            self.cells.extend(missing.collect::<Vec<_>>());
        }
        self
    }

    /// The cells in which a run differs from the record, as one moved figure. `None` if the options differ.
    pub fn changed<'a>(&self, options: &str, cells: impl IntoIterator<Item = (String, &'a Digests)>) -> Option<Moved> {
        if options != self.options {
            return None;
        }
        let mut changed: Option<(String, usize)> = None;
        let (mut runs, mut same) = (0, 0);
        for (cell, digests) in cells {
            let Some(recorded) = self.cells.get(&cell) else { continue };
            let known: Vec<bool> = digests.iter().filter_map(|(seed, is)| Some(recorded.get(seed)? == is)).collect();
            if known.contains(&false) {
                changed.get_or_insert((cell, 0)).1 += 1;
                runs += known.len();
                same += known.iter().filter(|same| **same).count();
            }
        }
        let (first, many) = changed?;
        let cell = match many {
            1 => first,
            2 => format!("{first} and 1 other cell"),
            many => format!("{first} and {} other cells", many - 1),
        };
        let is = same as f64 * 100.0 / runs as f64;
        let figure = "the trace is the one that was recorded".to_owned();
        Some(Moved { cell, figure, was: [100.0; 5].into(), is, by: By::Share, runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(hashes: &[&str]) -> Digests {
        let mut all = Digests::new();
        (0..).zip(hashes).for_each(|(seed, hash)| add(&mut all, seed, hash));
        all
    }

    #[test]
    fn a_run_that_is_another_is_told_once_for_all_cells() {
        let (one, other) = (digests(&["0000000a0", "000000b0"]), digests(&["0000000c"]));
        let recorded = Runs::of("-r".to_owned(), [("a x 3".to_owned(), &one), ("b x 3".to_owned(), &other)]);
        let cells = |first, second| [("a x 3".to_owned(), first), ("b x 3".to_owned(), second)];
        assert_eq!(recorded.changed("-r", cells(&one, &other)), None);
        let changed = digests(&["0000000a", "000000b1"]);
        let told = |first, second| recorded.changed("-r", cells(first, second)).map(|moved| moved.to_string());
        let text = "a x 3: the trace is the one that was recorded in 50 % of 2 runs; it was 100 %";
        assert_eq!(told(&changed, &other).as_deref(), Some(text));
        let text = "a x 3 and 1 other cell: the trace is the one that was recorded in 33 % of 3 runs; it was 100 %";
        let third = digests(&["00000000"]);
        assert_eq!(told(&changed, &third).as_deref(), Some(text));
        assert_eq!(recorded.changed("--rate 5", cells(&changed, &other)), None);
        // Fewer seeds, other seeds, and a cell that was not recorded.
        let fewer = digests(&["0000000a"]);
        assert_eq!(recorded.changed("-r", [("a x 3".to_owned(), &fewer)]), None);
        assert_eq!(recorded.changed("-r", [("c x 3".to_owned(), &changed)]), None);
    }

    #[test]
    fn what_was_written_is_read_again() {
        let mut many = Digests::new();
        (0..9).for_each(|seed| add(&mut many, seed, &format!("{seed:032x}")));
        assert_eq!(many.len(), 4);
        let runs =
            Runs::of("--rate 200".to_owned(), [("canary: it dies: soon a 3".to_owned(), &digests(&["00ab12cd"]))]);
        assert_eq!(Runs::read(&runs.to_text()), Ok(runs.clone()));
        let more = Runs::of("--rate 200".to_owned(), []).with_others_of(runs.clone(), |cell| cell.ends_with('3'));
        assert_eq!(more, runs);
        assert!(!Runs::committed().expect("they are digests").cells.is_empty());
        // Later seeds alone are not written: they would be read as the first ones.
        let later = Digests::from([(2, 7), (3, 8)]);
        assert!(Runs::of("--rate 200".to_owned(), [("a x 3".to_owned(), &later)]).cells.is_empty());
        assert!(Runs::read("").is_err() && Runs::read("options \nno cell").is_err());
    }
}
