//! Plans as a database holds them, and what a batch has changed about them; see [`protocols::fence::plans`].
//!
//! A batch that only records needs none of this, so that the plans of a resource are read when somebody makes, enacts or
//! deletes one, or asks which there are.

use super::wire::Request;
use protocols::{fence::plans::Plan, types::Resource};
use std::collections::BTreeSet;

/// Most plans that a resource may have. A leader that never cleans up is told so, before its plans fill the disk.
pub const PLANS_MAX: usize = 10_000;

/// A plan that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredPlan {
    /// Its number, from 1.
    pub number: u64,
    /// Its place among those that were made, in their order.
    pub place: u64,
    /// Who made it: the node, its leadership count, its token.
    pub node: String,
    /// The maker's leadership count.
    pub generation: u32,
    /// The maker's token; 0 when its protocol has none.
    pub token: u64,
}

/// The plans of one resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredPlans {
    /// Those that exist, by place.
    pub made: Vec<StoredPlan>,
    /// The number of the one that was made live last, whether it still exists or not.
    pub live: Option<u64>,
}

impl StoredPlans {
    /// What is different in `now`: plans are the same when their numbers and makers are. What is new gets a place after all
    /// others.
    pub(super) fn changed<'n>(&self, now: &[Plan], live: Option<u64>, name: impl Fn(&Plan) -> &'n str) -> Changed {
        let same = |stored: &StoredPlan, plan: &Plan| {
            let maker = (stored.node.as_str(), stored.generation, stored.token);
            stored.number == plan.number && maker == (name(plan), plan.maker.generation, plan.maker.token)
        };
        // Both are in the order in which they were made, and a plan that is made again moves to the end.
        let mut left = self.made.iter().peekable();
        let (mut gone, mut fresh) = (BTreeSet::new(), Vec::new());
        let mut place = self.made.last().map_or(0, |last| last.place);
        for plan in now {
            while let Some(stored) = left.next_if(|stored| !same(stored, plan) && fresh.is_empty()) {
                gone.insert(stored.number);
            }
            if fresh.is_empty() && left.next_if(|stored| same(stored, plan)).is_some() {
                continue;
            }
            place += 1;
            let (generation, token) = (plan.maker.generation, plan.maker.token);
            fresh.push(StoredPlan { number: plan.number, place, node: name(plan).to_owned(), generation, token });
        }
        gone.extend(left.map(|stored| stored.number));
        Changed { gone: gone.into_iter().collect(), made: fresh, live: live.filter(|_| live != self.live) }
    }
}

/// What a batch has changed. What is gone goes first: a plan that was made again is in both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changed {
    /// Numbers of plans that do not exist any more, as they were.
    pub gone: Vec<u64>,
    /// Plans that exist from now on.
    pub made: Vec<StoredPlan>,
    /// The plan that was made live, when it is another.
    pub live: Option<u64>,
}

/// Does a batch have anything to do with the plans of `resource`?
pub fn concerned(batch: &[Request], resource: Resource) -> bool {
    batch.iter().filter(|request| request.resource() == resource).any(|request| match request {
        Request::Write(write) => !write.operation.only_records(),
        Request::State(_) => true,
        Request::Seal(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::types::{Incarnation, NodeId};

    fn plan(number: u64, token: u64) -> Plan {
        Plan { number, maker: Incarnation { token, node: NodeId(0), generation: 1 } }
    }

    fn stored(place: u64, number: u64, token: u64) -> StoredPlan {
        StoredPlan { number, place, node: "n1".to_owned(), generation: 1, token }
    }

    #[test]
    fn a_change_names_what_is_gone_and_what_is_new() {
        let before = StoredPlans { made: vec![stored(1, 5, 7), stored(2, 6, 7), stored(3, 7, 7)], live: Some(6) };
        let changed = |now: &[Plan], live| before.changed(now, live, |_| "n1");
        assert_eq!(changed(&[plan(5, 7), plan(6, 7), plan(7, 7)], Some(6)), Changed::default());
        // Cleaned up after, and one more.
        let expected = Changed { gone: vec![5], made: vec![stored(4, 8, 7)], live: Some(8) };
        assert_eq!(changed(&[plan(6, 7), plan(7, 7), plan(8, 7)], Some(8)), expected);
        // Made again by the next leader: it goes, and comes as the newest.
        let expected = Changed { gone: vec![6], made: vec![stored(4, 6, 8)], live: None };
        assert_eq!(changed(&[plan(5, 7), plan(7, 7), plan(6, 8)], Some(6)), expected);
        // The last one made again stays the last.
        let expected = Changed { gone: vec![7], made: vec![stored(4, 7, 8)], live: None };
        assert_eq!(changed(&[plan(5, 7), plan(6, 7), plan(7, 8)], Some(6)), expected);
        assert_eq!(changed(&[], Some(6)), Changed { gone: vec![5, 6, 7], made: vec![], live: None });
    }
}
