//! Options of the address by which clients find the leader. Their names are a contract.

use super::{headings::WORK, parse};
use clap::Args as ClapArgs;
use protocols::address::Kind;
use scenarios::Params;

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
