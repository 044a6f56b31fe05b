//! Numbers drawn from a seed.

/// A stream of numbers (SplitMix64).
#[derive(Clone, Copy)]
pub struct Draws(u64);

impl Draws {
    /// The stream of this name: streams of one seed have nothing to do with each other.
    pub fn new(seed: u64, name: &str) -> Draws {
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut draws = Draws(seed);
        Draws(draws.next() ^ hash)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}
