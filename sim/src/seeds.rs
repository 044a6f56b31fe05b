//! The same work for many seeds on several threads.

use crate::{interrupt, pool};
use std::ops::Range;

/// What `work` makes of each seed, in the seeds' order, on `jobs` threads. `done` is told of every seed.
///
/// # Errors
/// The work on some seed failed: the failure of the smallest of them. Or the program was asked to end before all had their turn.
pub fn each<T: Send>(
    seeds: Range<u64>,
    jobs: usize,
    work: impl Fn(u64) -> Result<T, String> + Sync,
    done: impl Fn() + Sync,
) -> Result<Vec<T>, String> {
    let mut results = Vec::new();
    let one = |index: u64| {
        let result = work(seeds.start + index);
        done();
        result
    };
    pool::each(seeds.end.saturating_sub(seeds.start), jobs, one, |_, result| {
        let goes_on = result.is_ok() && !interrupt::asked();
        results.push(result);
        goes_on
    });
    if interrupt::asked() {
        return Err(interrupt::UNFINISHED.to_owned());
    }
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_come_in_the_order_of_the_seeds() {
        let tenfold = each(3..40, 4, |seed| Ok(seed * 10), || {}).unwrap();
        assert_eq!(tenfold, (3..40).map(|seed| seed * 10).collect::<Vec<_>>());
        let failed = each(0..9, 1, |seed| if seed == 4 { Err("four".to_owned()) } else { Ok(seed) }, || {});
        assert_eq!(failed, Err("four".to_owned()));
    }
}
