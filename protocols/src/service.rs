//! The coordination services: the properties of each, the cores' requests and the answers. Data only; the clients that
//! carry out the requests are elsewhere.
//!
//! One file per service; its protocols share its types.

pub mod consul;
pub mod counter;
pub mod etcd;
pub mod kubernetes;
pub mod object_store;
pub mod postgres;
pub mod power;
pub mod raft;
pub mod redis;
pub mod redis_sentinel;
pub mod redis_servers;
pub mod zookeeper;

use crate::payload::{Nothing, Opaque, Payload};
use std::{fmt::Debug, hash::Hash};

/// The types of a service client's requests and answers.
pub trait Api: Copy + Eq + Hash + Debug + Send + Sync + 'static {
    type Request: Payload;
    type Reply: Payload;
    type StreamRequest: Payload;
    type Item: Payload;
}

/// Any service, with its types erased.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Erased {}

impl Api for Erased {
    type Request = Opaque;
    type Reply = Opaque;
    type StreamRequest = Opaque;
    type Item = Opaque;
}

/// No service: there are no requests and no answers.
impl Api for Nothing {
    type Request = Nothing;
    type Reply = Nothing;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// A coordination service's properties that plans and drivers need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    /// Its name, which identifies its client and its model.
    pub name: &'static str,
    /// Its process's name, if it has its own: the node's name in a simulated topology, or the prefix of its members'
    /// names.
    pub process: Option<&'static str>,
    /// How many members it can have, and their relations.
    pub members: Members,
    /// The default number of members.
    pub usual_members: u16,
    /// The longest time until another member leads after the leading one dies or stops, nanoseconds; 0 if none leads.
    pub failover_max: u64,
    /// The interval at which its client looks for due renewals, nanoseconds; 0 if it has a timer for each.
    pub renewal_tick: u64,
    /// When its client gives up a silent connection on which the lease depends; `None` if there is no such connection.
    pub gives_up: Option<GivesUp>,
    /// Another service whose members run beside its own; candidates know only its own.
    pub beside: Option<&'static Service>,
    /// Whether it is part of the fenced store's process, and reached there.
    pub in_store: bool,
    /// Whether it is part of each candidate's process, and talks to its peers itself.
    pub is_embedded: bool,
    /// The conventional port of the service, or of each candidate's part of it; 0 for none.
    pub port: u16,
    /// Whether it decides who leads. Otherwise the candidates elect among themselves, with or without its help.
    pub elects: bool,
    /// Whether it cuts the power of machines, requested by messages as between candidates.
    pub cuts_power: bool,
    /// Whether it keeps leases that can be lost separately from their keys.
    pub has_leases: bool,
    /// Whether it keeps leadership as a key that can be lost.
    pub has_keys: bool,
    /// Whether its tokens, if its protocols have any, come from a counter that can be lost.
    pub counts_tokens: bool,
    /// Whether it numbers the places in a queue by state in the queue's own key, which can be lost while the queue is
    /// empty.
    pub counts_places: bool,
    /// Whether its tokens restart when the leader's key is lost. They are then granted twice.
    pub tokens_end_with_key: bool,
    /// Whether its protocols depend on data that it keeps on disk, which it can lose, or reset to an old copy.
    pub keeps_data: bool,
    /// Whether a TTL ends by its machine's wall clock.
    pub expires_by_wall_clock: bool,
    /// Whether it is asked over a connection by clients that pass the points in between.
    pub is_asked: bool,
    /// Whether candidates wait for its notifications.
    pub is_watched: bool,
    /// Whether a holder keeps its lock as long as its machine answers, however long its process is paused. Only ending
    /// its session then takes the lock away.
    pub outlasts_pauses: bool,
    /// Whether several groups can share it, because its protocols keep a group's state under the group's name.
    pub has_groups: bool,
}

/// How many members a service can have, and their relations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Members {
    /// The maximum.
    pub most: u16,
    /// Whether one of them leads the others.
    pub led: bool,
    /// Whether it needs a majority of them. Otherwise one is enough.
    pub majority: bool,
}

/// How a client reacts to a silent connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivesUp {
    /// The client gives it up after `parts` / `of` of the lease.
    pub parts: u64,
    /// See `parts`.
    pub of: u64,
    /// The longest time until it has reconnected, nanoseconds.
    pub away: u64,
}

impl GivesUp {
    /// How long a silence cannot endanger a lease of that length, nanoseconds: either the client does not give up, or
    /// it is back in time.
    pub fn safe(&self, lease: u64) -> u64 {
        (lease / self.of * self.parts).min(lease.saturating_sub(self.away))
    }
}

impl Members {
    /// Whether there can be several members, of which a majority elects a leader.
    pub const fn agree(self) -> bool {
        self.most > 1 && self.led && self.majority
    }
}

impl Service {
    /// No service: the candidates elect among themselves, by messages. Also the base for `..Service::NONE`.
    pub const NONE: Service = Service {
        name: "none",
        process: None,
        members: Members { most: 1, led: false, majority: false },
        usual_members: 1,
        failover_max: 0,
        renewal_tick: 0,
        gives_up: None,
        beside: None,
        in_store: false,
        is_embedded: false,
        port: 0,
        elects: false,
        cuts_power: false,
        has_leases: false,
        has_keys: false,
        counts_tokens: false,
        counts_places: false,
        tokens_end_with_key: false,
        keeps_data: false,
        expires_by_wall_clock: false,
        is_asked: false,
        is_watched: false,
        outlasts_pauses: false,
        has_groups: false,
    };

    /// The service, and those beside it.
    pub fn all(&'static self) -> impl Iterator<Item = &'static Service> {
        std::iter::successors(Some(self), |service| service.beside)
    }

    pub fn is_none(&self) -> bool {
        *self == Service::NONE
    }
}
