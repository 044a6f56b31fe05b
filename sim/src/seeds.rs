//! Runs the same work for many seeds on several threads.

use crate::pool;
use std::ops::Range;

/// The results of `work` in the order of the seeds, on `jobs` threads. `done` is called after each seed.
///
/// # Errors
/// The failure of the smallest seed whose work failed.
pub fn each<T: Send, E: Send>(
    seeds: Range<u64>,
    jobs: usize,
    work: impl Fn(u64) -> Result<T, E> + Sync,
    done: impl Fn() + Sync,
) -> Result<Vec<T>, E> {
    let mut results = Vec::new();
    let one = |index: u64| {
        let result = work(seeds.start + index);
        done();
        result
    };
    pool::each(seeds.end.saturating_sub(seeds.start), jobs, one, |_, result| {
        let goes_on = result.is_ok();
        results.push(result);
        goes_on
    });
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_come_in_the_order_of_the_seeds() {
        let tenfold = each(3..40, 4, |seed| Ok::<_, String>(seed * 10), || {}).unwrap();
        assert_eq!(tenfold, (3..40).map(|seed| seed * 10).collect::<Vec<_>>());
        let failed = each(0..9, 1, |seed| if seed == 4 { Err("four".to_owned()) } else { Ok(seed) }, || {});
        assert_eq!(failed, Err("four".to_owned()));
    }
}
