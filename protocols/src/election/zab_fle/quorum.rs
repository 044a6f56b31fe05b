//! Which sets of candidates are a quorum.

use crate::types::NodeId;

/// A majority of weights: ZooKeeper's `QuorumMaj` when all are equal, its `QuorumHierarchical` with a single group otherwise.
/// Who weighs nothing takes part and follows, but counts for nothing and is never elected.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Quorum {
    weights: Vec<u64>,
    total: u64,
}

impl Quorum {
    /// Every one of `count` candidates weighs the same.
    pub fn of_equals(count: usize) -> Self {
        Self::weighted(vec![1; count])
    }

    /// The weights by [`NodeId`].
    pub fn weighted(weights: Vec<u64>) -> Self {
        let total = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight));
        Quorum { weights, total }
    }

    /// Is it a candidate of this fleet?
    pub fn knows(&self, node: NodeId) -> bool {
        node.index() < self.weights.len()
    }

    /// What a candidate weighs; who is none weighs nothing.
    pub fn weight(&self, node: NodeId) -> u64 {
        self.weights.get(node.index()).copied().unwrap_or_default()
    }

    /// Do these candidates, none of them named twice, weigh more than half of all?
    pub fn contains(&self, nodes: impl IntoIterator<Item = NodeId>) -> bool {
        nodes.into_iter().fold(0, |sum: u64, node| sum.saturating_add(self.weight(node))) > self.total / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_the_weight_is_a_quorum() {
        let nodes = |ids: &[u16]| ids.iter().copied().map(NodeId).collect::<Vec<_>>();
        let four = Quorum::of_equals(4);
        assert!(!four.contains(nodes(&[0, 1])));
        assert!(four.contains(nodes(&[0, 1, 3])));
        // Three of five, but only one of three that count.
        let witnesses = Quorum::weighted(vec![1, 1, 1, 0, 0]);
        assert!(!witnesses.contains(nodes(&[2, 3, 4])));
        assert!(witnesses.contains(nodes(&[1, 2])));
        assert!(!Quorum::weighted(vec![0, 0]).contains(nodes(&[0, 1])));
    }
}
