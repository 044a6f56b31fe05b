//! The state that survives a restart.

/// ZooKeeper's files `acceptedEpoch` and `currentEpoch`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Epochs {
    /// The newest epoch that was promised to a leader. Neither it nor an older one is promised to any other.
    pub accepted: u32,
    /// The newest epoch whose leader was followed; part of this node's votes.
    pub current: u32,
}

impl Epochs {
    /// The last transaction: the epoch in the upper half, a counter in the lower one. Without data, the counter keeps
    /// its initial value.
    pub fn zxid(self) -> u64 {
        u64::from(self.current) << 32
    }

    /// The stored form: decimal text, like ZooKeeper's.
    pub fn encode(self) -> Vec<u8> {
        format!("acceptedEpoch {}\ncurrentEpoch {}\n", self.accepted, self.current).into_bytes()
    }

    /// Decodes the stored form; `None` stands for a node that has never run. Returns `None` if [`Epochs::encode`] did
    /// not write it, or the current epoch was never accepted.
    pub fn decode(stored: Option<&[u8]>) -> Option<Self> {
        let Some(stored) = stored else { return Some(Epochs::default()) };
        let mut lines = std::str::from_utf8(stored).ok()?.lines();
        let accepted = lines.next()?.strip_prefix("acceptedEpoch ")?.parse().ok()?;
        let current = lines.next()?.strip_prefix("currentEpoch ")?.parse().ok()?;
        let epochs = Epochs { accepted, current };
        // Byte for byte, so that a torn number is not taken for a smaller one.
        (current <= accepted && epochs.encode() == stored).then_some(epochs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let epochs = Epochs { accepted: 12, current: 11 };
        let bytes = epochs.encode();
        assert_eq!(Epochs::decode(Some(&bytes)), Some(epochs));
        assert_eq!(Epochs::decode(None), Some(Epochs::default()));
        for length in 0..bytes.len() {
            assert_eq!(Epochs::decode(Some(&bytes[..length])), None, "torn after {length} bytes");
        }
        assert_eq!(Epochs::decode(Some(b"acceptedEpoch 3\ncurrentEpoch 4\n")), None);
        assert_eq!(Epochs::decode(Some(b"acceptedEpoch 4\ncurrentEpoch 3\n4\n")), None);
        assert_eq!(Epochs::decode(Some(&[0xff; 8])), None);
    }
}
