//! A random stream that is part of a core's state: two streams are equal if they will produce the same numbers.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::hash::{Hash, Hasher};

/// A ChaCha stream with eight rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

impl Hash for Random {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.get_seed(), self.0.get_stream(), self.0.get_word_pos()).hash(state);
    }
}
