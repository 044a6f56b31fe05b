//! Options of what leads and is led: the address by which clients find the leader, leaders' tenure, and their work. Their
//! names are a contract.

use super::{WORK, parse};
use clap::Args as ClapArgs;
use protocols::{address::Kind, fence::checks::ChargeCheck, work::work_set::Asked};
use scenarios::{Params, plan::Tenure};

/// How clients find the leader.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub struct AddressOptions {
    /// How clients find the leader. vip: a virtual IP that it announces to them. dns: a record that it overwrites.
    /// label: a label that each node sets and removes for itself; clients go to all nodes that have it. By default they
    /// ask every candidate, except in `stale-address`
    #[arg(long, value_parser = parse::address, value_name = "vip|dns|label", help_heading = WORK)]
    address: Option<Kind>,
    /// How long clients cache the address; 1 s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    address_ttl: Option<u64>,
}

impl AddressOptions {
    pub fn add_to(&self, params: Params) -> Params {
        Params { address: self.address, address_ttl_ms: self.address_ttl, ..params }
    }

    /// The options, and whether each was given.
    pub const fn given(&self) -> [(&'static str, bool); 2] {
        [("--address", self.address.is_some()), ("--address-ttl", self.address_ttl.is_some())]
    }
}

/// Warm-up of new leaders, and resignations by mistake.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub struct TenureOptions {
    /// How long a new leader cannot serve yet, for example while its caches fill; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub warm_up: Option<u64>,
    /// How long a new leader ignores failed health checks, which otherwise make it resign; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub hold_down: Option<u64>,
    /// Share of health checks that report a healthy leader as failed, such as 1%. There is one check per second, and
    /// such a leader resigns
    #[arg(long, value_parser = parse::percent_ppm, value_name = "PCT", allow_hyphen_values = true, help_heading = WORK)]
    pub health_check_errors: Option<u32>,
    /// Leaders resign once the store has owed them an answer for this long, and stand aside for ten times as long;
    /// never by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub step_down_after: Option<u64>,
}

impl TenureOptions {
    /// The given options.
    pub fn asked(&self) -> Tenure {
        Tenure {
            warm_up_ms: self.warm_up.unwrap_or(0),
            hold_down_ms: self.hold_down.unwrap_or(0),
            check_errors_ppm: self.health_check_errors.unwrap_or(0),
            step_down_after_ms: self.step_down_after.unwrap_or(0),
        }
    }
}

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
