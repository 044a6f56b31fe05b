//! The coordination services: what each is, what cores may ask of it and what comes back. Data only; the clients that carry
//! it out stand elsewhere.
//!
//! One file a service; its types are shared by the service's protocols.

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

/// The types of what is said to a service's client and by it.
pub trait Api: Copy + Eq + Hash + Debug + Send + Sync + 'static {
    /// What can be asked.
    type Request: Payload;
    /// What is answered.
    type Reply: Payload;
    /// What streams can be opened.
    type StreamRequest: Payload;
    /// What streams bring.
    type Item: Payload;
}

/// Any service's, without their types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Erased {}

impl Api for Erased {
    type Request = Opaque;
    type Reply = Opaque;
    type StreamRequest = Opaque;
    type Item = Opaque;
}

/// No service: nothing is asked and nothing is answered.
impl Api for Nothing {
    type Request = Nothing;
    type Reply = Nothing;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// A coordination service, as far as plans and drivers need to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    /// Its name, by which its client and its model are found.
    pub name: &'static str,
    /// The name of its process, where it is one of its own: its node's in a simulated topology, or what those of its members
    /// begin with.
    pub process: Option<&'static str>,
    /// How many members it can have, and what they are to each other.
    pub members: Members,
    /// How many it has unless somebody asks for another number.
    pub usual_members: u16,
    /// How long it takes at most until another of its members leads when the one that does dies or stops, nanoseconds; 0 where
    /// none leads.
    pub failover_max: u64,
    /// How often its client looks which renewals are due, nanoseconds; 0 when it has a timer for each.
    pub renewal_tick: u64,
    /// When its client gives a silent connection up, on which the lease hangs; `None` when the lease hangs on none.
    pub gives_up: Option<GivesUp>,
    /// Another service whose members it has beside its own; candidates are told of its own alone.
    pub beside: Option<&'static Service>,
    /// Is it part of the fenced store's process, and reached there?
    pub in_store: bool,
    /// Is it part of each candidate's process, and talks to its peers by itself?
    pub is_embedded: bool,
    /// The port that it, or each candidate's part of it, listens on by convention; 0 when it does not.
    pub port: u16,
    /// Does it say who leads? Otherwise the candidates elect among themselves, with its help or without.
    pub elects: bool,
    /// Does it cut the power of machines, and do candidates say so by messages as they talk to each other?
    pub cuts_power: bool,
    /// Does it keep leases that can be lost apart from their keys?
    pub has_leases: bool,
    /// Does it keep leadership as a key that can be lost?
    pub has_keys: bool,
    /// Do its tokens, as far as its protocols have any, come from a counter that can be lost?
    pub counts_tokens: bool,
    /// Does it number the places in a queue by what the queue's own key remembers, which can be lost when nobody stands in it?
    pub counts_places: bool,
    /// Do its tokens begin again when the key is lost that says who leads? Then they are given twice.
    pub tokens_end_with_key: bool,
    /// Does it keep on disk what its protocols go by, so that it can lose that, or be set back to a copy of it?
    pub keeps_data: bool,
    /// Does a time to live end by the wall clock of its machine?
    pub expires_by_wall_clock: bool,
    /// Is it asked and does it answer over a connection, with the points in between passed by its clients?
    pub is_asked: bool,
    /// Do candidates wait for what it tells them unasked?
    pub is_watched: bool,
    /// Does a holder keep what it holds for as long as its machine answers, however long its process is stopped? Then only
    /// somebody who ends its session takes it away.
    pub outlasts_pauses: bool,
    /// Can several groups share it, as its protocols keep what is a group's under the group's name?
    pub has_groups: bool,
}

/// How many members a service can have, and what they are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Members {
    /// The most that it can have.
    pub most: u16,
    /// Does one of them lead the others?
    pub led: bool,
    /// Does it take a majority of them? Otherwise one is enough.
    pub majority: bool,
}

/// How a client does without a connection on which it hears nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivesUp {
    /// It gives it up after so many parts of the lease,
    pub parts: u64,
    /// of so many.
    pub of: u64,
    /// So long it is away at most before it is connected again, nanoseconds.
    pub away: u64,
}

impl GivesUp {
    /// How long a client may hear nothing without any danger for a lease of that length, nanoseconds: it gives nothing up, and
    /// if it did, it would be back in time.
    pub fn safe(&self, lease: u64) -> u64 {
        (lease / self.of * self.parts).min(lease.saturating_sub(self.away))
    }
}

impl Members {
    /// Can there be several, of which a majority makes one their leader?
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

    /// It, and what it has beside it.
    pub fn all(&'static self) -> impl Iterator<Item = &'static Service> {
        std::iter::successors(Some(self), |service| service.beside)
    }

    /// Is there none?
    pub fn is_none(&self) -> bool {
        *self == Service::NONE
    }
}
