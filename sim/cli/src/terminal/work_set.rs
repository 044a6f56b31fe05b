//! Options of what the leader does. Their names are a contract.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

use super::{headings::WORK, parse};
use clap::Args as ClapArgs;
use protocols::{fence::charge_check::ChargeCheck, work::work_set::Asked};

/// The work-set of the works `compaction` and `pending-jobs`, and what is checked before others have an effect outside.
#[derive(ClapArgs, Clone, Debug)]
pub struct WorkSetOptions {
    /// How many items the leader's work-set has, for the works compaction (1600 segments by default) and pending-jobs (100000
    /// batches)
    #[arg(long, value_parser = parse::whole, value_name = "N", allow_hyphen_values = true, help_heading = WORK)]
    pub work_items: Option<u64>,
    /// How long an item of the work-set takes; 320ms a segment and 100ms a batch by default, 50ms an invoice and 100ms a message
    /// of a queue
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub work_item_time: Option<u64>,
    /// After how many items the leader records how far it has come; 1 segment or 10 batches by default, 0 for never: then a
    /// new leader starts over
    #[arg(long, value_parser = parse::whole, value_name = "N", allow_hyphen_values = true, help_heading = WORK)]
    pub checkpoint_every: Option<u64>,
    /// How long a new leader loads its work-set before it goes on; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub load_time: Option<u64>,
    /// What is checked before an invoice is charged, or a message delivered: none, row (its row has no token as high), sealed,
    /// id (that of the invoice) or sealed-id; by default what --fencing says
    #[arg(long, value_parser = parse::charge_check, value_name = "CHECK", help_heading = WORK)]
    pub charge_check: Option<ChargeCheck>,
}

impl WorkSetOptions {
    /// What was given.
    pub fn asked(&self) -> Asked {
        let WorkSetOptions { work_items, work_item_time, checkpoint_every, load_time, .. } = *self;
        Asked { items: work_items, item_ms: work_item_time, checkpoint_every, load_ms: load_time }
    }
}
