//! Which sets of candidates are a quorum.

use crate::types::NodeId;

/// A majority of weights: ZooKeeper's `QuorumMaj` if all are equal, otherwise its `QuorumHierarchical` with a single
/// group. A candidate without weight takes part and follows, but does not count and is never elected.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Quorum {
    weights: Vec<u64>,
    total: u64,
}

impl Quorum {
    /// A quorum of `count` candidates with equal weights.
    pub fn of_equals(count: usize) -> Self {
        Self::weighted(vec![1; count])
    }

    /// The weights by [`NodeId`].
    pub fn weighted(weights: Vec<u64>) -> Self {
        let total = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight));
        Quorum { weights, total }
    }

    /// Whether the node is a candidate of this fleet.
    pub fn knows(&self, node: NodeId) -> bool {
        node.index() < self.weights.len()
    }

    /// A candidate's weight; 0 for other nodes.
    pub fn weight(&self, node: NodeId) -> u64 {
        self.weights.get(node.index()).copied().unwrap_or_default()
    }

    /// Whether these candidates, each named once, have more than half of the total weight.
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
        // Three of five, but only one of the three with weight.
        let witnesses = Quorum::weighted(vec![1, 1, 1, 0, 0]);
        assert!(!witnesses.contains(nodes(&[2, 3, 4])));
        assert!(witnesses.contains(nodes(&[1, 2])));
        assert!(!Quorum::weighted(vec![0, 0]).contains(nodes(&[0, 1])));
    }
}
