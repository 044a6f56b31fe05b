//! Named random streams.
//!
//! Every purpose (plan, network, workload, clocks …) draws from its own ChaCha8 stream, keyed by the seed and the
//! purpose's name. An additional draw from one stream never shifts another.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use xxhash_rust::xxh3::xxh3_128;

/// For a scenario's fault times and phases.
pub const PLAN: &str = "plan";
/// For the candidates' clocks.
pub const CLOCKS: &str = "clocks";
/// For whether a run's reads are answered from memory.
pub const READS: &str = "reads";
/// For the number of a service's members in generated plans.
pub const MEMBERS: &str = "members";
/// For the member that leads a service at the start.
pub const FOUNDER: &str = "founder";
/// For a pause's length, if the rest of the plan is another scenario's.
pub const PAUSE: &str = "pause";
/// For a plan's protocol in `sweep swarm`.
pub const SWARM: &str = "swarm";

/// The random stream called `name`. The same (seed, name) gives the same stream on every machine.
pub fn stream(seed: u64, name: &str) -> ChaCha8Rng {
    let mut key = *b"fencepost stream                ";
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..24].copy_from_slice(&xxh3_128(name.as_bytes()).to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// A whole number from `low` to `high`, both included, from exactly one draw; `low` if the range is empty.
pub fn between(random: &mut impl RngCore, low: u64, high: u64) -> u64 {
    let width = u128::from(high.saturating_sub(low)) + 1;
    let offset = (u128::from(random.next_u64()) * width) >> 64;
    low + offset as u64
}

/// A whole number from `-bound` to `bound`, both included, from exactly one draw. `bound` is at most `i64::MAX`.
pub fn within(random: &mut impl RngCore, bound: u64) -> i64 {
    let bound = bound.min(i64::MAX as u64);
    let offset = (u128::from(random.next_u64()) * (2 * u128::from(bound) + 1)) >> 64;
    (offset as i128 - i128::from(bound)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_seed_and_its_name() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(42, "plan"), first(42, "plan"));
        assert_ne!(first(42, "plan"), first(43, "plan"));
        assert_ne!(first(42, "plan"), first(42, "clocks"));
        assert_ne!(first(42, "a"), first(42, ""));
    }

    #[test]
    fn the_streams_of_seed_42_never_change() {
        let mut plan = stream(42, "plan");
        let drawn = [plan.next_u64(), plan.next_u64()];
        assert_eq!(drawn, [17846011124493713410, 980911742679002682], "a new derivation changes what every seed means");
    }

    #[test]
    fn ranges_include_both_ends_and_nothing_else() {
        let mut random = stream(1, "test");
        let drawn: Vec<u64> = (0..1000).map(|_| between(&mut random, 5, 7)).collect();
        for value in 5..=7 {
            assert!(drawn.contains(&value), "{value} was never drawn");
        }
        assert!(drawn.iter().all(|value| (5..=7).contains(value)));
        assert_eq!(between(&mut random, 9, 3), 9);
        assert_eq!(between(&mut random, u64::MAX, u64::MAX), u64::MAX);
        let drawn: Vec<i64> = (0..1000).map(|_| within(&mut random, 1)).collect();
        for value in -1..=1 {
            assert!(drawn.contains(&value), "{value} was never drawn");
        }
        assert_eq!(within(&mut random, 0), 0);
        within(&mut random, u64::MAX);
    }
}
