//! Runs the same work for many seeds on several threads.

use crate::{error::Failed, interrupt, pool};
use std::ops::Range;

/// The results of `work` in the order of the seeds, on `jobs` threads. `done` is called after each seed.
///
/// # Errors
/// The failure of the smallest seed whose work failed, or an interruption before all seeds were done.
pub fn each<T: Send>(
    seeds: Range<u64>,
    jobs: usize,
    work: impl Fn(u64) -> Result<T, Failed> + Sync,
    done: impl Fn() + Sync,
) -> Result<Vec<T>, Failed> {
    let results = so_far(seeds, jobs, work, done)?;
    if interrupt::asked() { Err(Failed::Unfinished) } else { Ok(results) }
}

/// As [`each`], but an interruption ends it with the results of the first seeds, as many as were done by then.
///
/// # Errors
/// The failure of the smallest seed whose work failed before any interruption.
pub fn so_far<T: Send>(
    seeds: Range<u64>,
    jobs: usize,
    work: impl Fn(u64) -> Result<T, Failed> + Sync,
    done: impl Fn() + Sync,
) -> Result<Vec<T>, Failed> {
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
    match interrupt::asked() {
        // A run that was abandoned failed for no other reason.
        true => Ok(results.into_iter().map_while(Result::ok).collect()),
        false => results.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::each;
    use crate::error::Failed;

    #[test]
    fn results_come_in_the_order_of_the_seeds() {
        let tenfold = each(3..40, 4, |seed| Ok(seed * 10), || {}).unwrap();
        assert_eq!(tenfold, (3..40).map(|seed| seed * 10).collect::<Vec<_>>());
        let failed = each(0..9, 1, |seed| if seed == 4 { Err(Failed::from("four")) } else { Ok(seed) }, || {});
        assert_eq!(failed, Err(Failed::from("four")));
    }
}
