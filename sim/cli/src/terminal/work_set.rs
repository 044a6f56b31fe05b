//! Options of the leader's work. Their names are a contract.

use super::{headings::WORK, parse};
use clap::Args as ClapArgs;
use protocols::{fence::charge_check::ChargeCheck, work::work_set::Asked};

/// The work-set of the works `compaction` and `pending-jobs`, and the check before other works have an external effect.
#[derive(ClapArgs, Clone, Debug)]
pub struct WorkSetOptions {
    /// Number of items in the leader's work-set, for the works compaction (1600 segments by default) and pending-jobs
    /// (100000 batches)
    #[arg(long, value_parser = parse::whole, value_name = "N", allow_hyphen_values = true, help_heading = WORK)]
    pub work_items: Option<u64>,
    /// Time per item of the work-set; by default 320ms per segment, 100ms per batch, 50ms per invoice and 100ms per
    /// queue message
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub work_item_time: Option<u64>,
    /// Number of items after which the leader records its progress; by default 1 segment or 10 batches, 0 for never:
    /// then a new leader starts over
    #[arg(long, value_parser = parse::whole, value_name = "N", allow_hyphen_values = true, help_heading = WORK)]
    pub checkpoint_every: Option<u64>,
    /// How long a new leader loads its work-set before it continues; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub load_time: Option<u64>,
    /// The check before an invoice is charged or a message delivered: none, row (its row has no token as high), sealed,
    /// id (of the invoice) or sealed-id; by default as --fencing determines
    #[arg(long, value_parser = parse::charge_check, value_name = "CHECK", help_heading = WORK)]
    pub charge_check: Option<ChargeCheck>,
}

impl WorkSetOptions {
    /// The given options.
    pub fn asked(&self) -> Asked {
        let WorkSetOptions { work_items, work_item_time, checkpoint_every, load_time, .. } = *self;
        Asked { items: work_items, item_ms: work_item_time, checkpoint_every, load_ms: load_time }
    }
}
