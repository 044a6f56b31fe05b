//! Plans in a database, and a batch's changes to them; see [`protocols::fence::plans`].
//!
//! A batch that only records needs none of this: a resource's plans are read only when a request makes, enacts, deletes
//! or lists them.

use super::wire::Request;
use protocols::{fence::plans::Plan, types::Resource};
use std::collections::BTreeSet;

/// The most plans a resource may have. A leader that never cleans up is refused before its plans fill the disk.
pub const PLANS_MAX: usize = 10_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredPlan {
    /// Its number, from 1.
    pub number: u64,
    /// Its place in the order of creation.
    pub place: u64,
    /// The maker's node.
    pub node: String,
    pub generation: u32,
    /// The maker's token; 0 if its protocol has none.
    pub token: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredPlans {
    /// The existing plans, by place.
    pub made: Vec<StoredPlan>,
    /// The number of the plan last enacted, whether or not it still exists.
    pub live: Option<u64>,
}

impl StoredPlans {
    /// The changes in `now`. Plans are equal if their numbers and makers are; new plans get places after all others.
    pub(super) fn changed<'n>(&self, now: &[Plan], live: Option<u64>, name: impl Fn(&Plan) -> &'n str) -> Changed {
        let same = |stored: &StoredPlan, plan: &Plan| {
            let maker = (stored.node.as_str(), stored.generation, stored.token);
            stored.number == plan.number && maker == (name(plan), plan.maker.generation, plan.maker.token)
        };
        // Both are in order of creation, and a plan made again moves to the end.
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

/// A batch's changes. Deletions come first: a plan that was made again is in both lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changed {
    /// The numbers of the deleted plans.
    pub gone: Vec<u64>,
    /// The new plans.
    pub made: Vec<StoredPlan>,
    /// The live plan, if it changed.
    pub live: Option<u64>,
}

/// Whether a batch concerns the plans of `resource`.
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
        // A clean-up, and a new plan.
        let expected = Changed { gone: vec![5], made: vec![stored(4, 8, 7)], live: Some(8) };
        assert_eq!(changed(&[plan(6, 7), plan(7, 7), plan(8, 7)], Some(8)), expected);
        // The next leader makes plan 6 again: the old one is deleted, and the new one comes last.
        let expected = Changed { gone: vec![6], made: vec![stored(4, 6, 8)], live: None };
        assert_eq!(changed(&[plan(5, 7), plan(7, 7), plan(6, 8)], Some(6)), expected);
        // The last plan, made again, stays last.
        let expected = Changed { gone: vec![7], made: vec![stored(4, 7, 8)], live: None };
        assert_eq!(changed(&[plan(5, 7), plan(6, 7), plan(7, 8)], Some(6)), expected);
        assert_eq!(changed(&[], Some(6)), Changed { gone: vec![5, 6, 7], made: vec![], live: None });
    }
}
