//! Protection against former leaders: the fenced store, a resource that refuses their writes, and the fencing device,
//! which cuts their power.

pub mod ablated;
pub mod checks;
pub mod ledger;
pub mod plans;
pub mod power;
pub mod rows;
pub mod store;
