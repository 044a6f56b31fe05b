//! What keeps the past from taking effect: the fenced store, a resource that refuses it, and the fencing device, which cuts
//! its power.

pub mod charge_check;
pub mod checks;
pub mod ledger;
pub mod plans;
pub mod power;
pub mod rows;
pub mod store;
