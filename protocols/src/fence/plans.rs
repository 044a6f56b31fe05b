//! Plans at a resource: which there are, who made each, and which is live. A leader makes numbered plans, makes one of them
//! live at a time, and deletes what is not in use any more.
//!
//! The resource carries out what a leader asks for and asks nothing back: it does not look whether the plan that is made live
//! exists, nor whether the one that is deleted is live. So it was in the DNS of DynamoDB, where applying a plan and cleaning
//! up old ones checked themselves, once and beforehand (AWS, "Summary of the Amazon DynamoDB Service Disruption in the
//! Northern Virginia (US-EAST-1) Region", October 2025). What is wrong with an old leader's request is its token, and the
//! ledger looks at that before anything comes here.

use crate::{
    message::Write,
    types::{Incarnation, NodeId, Operation},
};

/// How many plans before the live one a clean-up leaves, to go back to.
pub const KEPT: u64 = 3;

/// A plan that exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plan {
    /// Its number, from 1.
    pub number: u64,
    /// Who made it.
    pub maker: Incarnation,
}

/// The plans of one resource.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Plans {
    /// Those that exist, in the order in which they were made.
    made: Vec<Plan>,
    /// The number of the live one.
    live: Option<u64>,
    /// What the last deletion has removed.
    deleted: Vec<Plan>,
}

impl Plans {
    /// Plans that were kept somewhere else, in the order in which they were made, and the number of the live one.
    pub fn restore(made: Vec<Plan>, live: Option<u64>) -> Self {
        Plans { made, live, deleted: Vec::new() }
    }

    /// Those that exist, in the order in which they were made.
    pub fn made(&self) -> &[Plan] {
        &self.made
    }

    /// The number of the plan that was made live last, whether it still exists or not.
    pub fn live(&self) -> Option<u64> {
        self.live
    }

    /// What the last deletion has removed.
    pub fn deleted(&self) -> &[Plan] {
        &self.deleted
    }

    /// Carries out an accepted write of `node`. A write without a payload names no plan, and does nothing.
    pub(super) fn carry_out(&mut self, node: NodeId, write: &Write) {
        let Some(number) = write.payload.map(|payload| payload.number.get()) else { return };
        match write.operation {
            Operation::Record | Operation::Perform | Operation::Effect | Operation::Complete | Operation::Refresh => {}
            Operation::Make => {
                self.made.retain(|plan| plan.number != number);
                self.made.push(Plan { number, maker: write.incarnation(node) });
            }
            Operation::Enact => self.live = Some(number),
            Operation::Delete => {
                let in_use = number.saturating_sub(KEPT)..=number;
                self.deleted.clear();
                self.deleted.extend(self.made.extract_if(.., |plan| !in_use.contains(&plan.number)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Payload, Resource};

    fn write(token: u64, operation: Operation, number: u64) -> Write {
        let payload = Payload { number: number.try_into().unwrap(), at_us: number };
        let (resource, client, payload) = (Resource(2), NodeId(0), Some(payload));
        Write { resource, operation, generation: 1, token, seq: 1, read_version: 0, client, number, payload }
    }

    fn made(plans: &Plans) -> Vec<u64> {
        plans.made().iter().map(|plan| plan.number).collect()
    }

    #[test]
    fn a_clean_up_leaves_the_live_plan_and_those_right_before_it() {
        let mut plans = Plans::default();
        for number in 1..=9 {
            plans.carry_out(NodeId(0), &write(5, Operation::Make, number));
        }
        plans.carry_out(NodeId(0), &write(5, Operation::Enact, 9));
        plans.carry_out(NodeId(0), &write(5, Operation::Delete, 9));
        assert_eq!((made(&plans), plans.live()), (vec![6, 7, 8, 9], Some(9)));
        assert_eq!(plans.deleted().iter().map(|plan| plan.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_clean_up_of_a_former_leader_deletes_what_its_successor_made() {
        let mut plans = Plans::default();
        for (token, number) in [(5, 1), (6, 2), (6, 9)] {
            plans.carry_out(NodeId(token as u16), &write(token, Operation::Make, number));
        }
        plans.carry_out(NodeId(6), &write(6, Operation::Enact, 9));
        plans.carry_out(NodeId(5), &write(5, Operation::Delete, 1));
        assert_eq!((made(&plans), plans.live()), (vec![1], Some(9)), "the live plan is gone");
        let makers: Vec<_> = plans.deleted().iter().map(|plan| (plan.number, plan.maker.token)).collect();
        assert_eq!(makers, [(2, 6), (9, 6)]);
    }
}
