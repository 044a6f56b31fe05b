//! A resource's plans: which exist, who made each, and which is live. A leader makes numbered plans, enacts one at a
//! time, and deletes those no longer in use.
//!
//! The resource carries out a leader's requests without further checks: not whether the enacted plan exists, nor
//! whether the deleted one is live. That is how DynamoDB's DNS worked, where the processes that applied a plan and
//! cleaned up old ones checked themselves, once and beforehand (AWS, "Summary of the Amazon DynamoDB Service Disruption
//! in the Northern Virginia (US-EAST-1) Region", October 2025). An old leader's request is recognisable by its token,
//! which the ledger checks before anything arrives here.

use crate::{
    message::Write,
    types::{Incarnation, NodeId, Operation},
};

/// How many plans before the live one a clean-up keeps, to go back to.
pub const KEPT: u64 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plan {
    /// Its number, from 1.
    pub number: u64,
    /// The leadership that made it.
    pub maker: Incarnation,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Plans {
    /// The existing plans, in order of creation.
    made: Vec<Plan>,
    /// The live plan's number.
    live: Option<u64>,
    /// The plans removed by the last deletion.
    deleted: Vec<Plan>,
}

impl Plans {
    /// Plans from storage, in order of creation, and the live plan's number.
    pub fn restore(made: Vec<Plan>, live: Option<u64>) -> Self {
        Plans { made, live, deleted: Vec::new() }
    }

    /// The existing plans, in order of creation.
    pub fn made(&self) -> &[Plan] {
        &self.made
    }

    /// The number of the plan last enacted, whether or not it still exists.
    pub fn live(&self) -> Option<u64> {
        self.live
    }

    /// The plans removed by the last deletion.
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
