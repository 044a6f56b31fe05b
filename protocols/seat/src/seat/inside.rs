//! For Fencepost's own node, which shows in its history, metrics and spans what its seat does. No part of this crate's
//! interface: it may change in any release.

use super::Seat;
use crate::{
    backend::{Backend, Counted, Service, Session, lease},
    deference::Deference,
    lead::Fenced,
    seat::Parts,
    state::Successor,
    term::{Own, Term},
};
pub use crate::{
    backend::{Deliver, Running},
    observer::{News, Observer},
};
use protocols::{
    election::{Protocol, Timings, consul, db_row, etcd, k8s, raft, redis_fenced, zk_election},
    elector::ServiceOutput,
    payload::Payload,
    types::NodeId,
};
use protocols_clients::env::tokio::TokioEnv;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::sync::{mpsc::UnboundedReceiver, watch};

/// What the work wants of the seat.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The work of the leadership with this token is done: release the lease, if possible to the named member.
    LetGo { token: u64, to: Option<NodeId> },
    /// The resource has refused this token.
    Refused { token: u64 },
}

impl Payload for Order {}

/// Carries out an elector's requests until the channel closes.
pub type Run = dyn Fn(UnboundedReceiver<ServiceOutput>, Deliver) -> Running + Send + Sync;

/// The protocols of those seats that have tokens.
const OFFERED: [&Protocol; 7] = [
    &consul::from_sending::PROTOCOL,
    &db_row::PROTOCOL,
    &etcd::from_sending::PROTOCOL,
    &k8s::PROTOCOL,
    &raft::PROTOCOL,
    &redis_fenced::PROTOCOL,
    &zk_election::from_sending::PROTOCOL,
];

/// Whether a seat with tokens stands on this protocol.
pub fn offers(protocol: &Protocol) -> bool {
    OFFERED.iter().any(|offered| offered.name == protocol.name)
}

/// A service by its protocol and its client. Its keys are those of a fleet with one election.
#[derive(Clone)]
pub struct Placed {
    pub protocol: &'static Protocol,
    pub env: TokioEnv,
    pub run: Arc<Run>,
    pub observer: Arc<dyn Observer>,
}

impl Backend for Placed {
    type Fencing = Fenced;
}

impl Service for Placed {
    fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn counted(&self) -> Option<Counted> {
        (self.protocol.name == k8s::PROTOCOL.name).then_some(lease::KUBERNETES)
    }

    fn session(&self) -> Option<Session> {
        (self.protocol.name == zk_election::from_sending::PROTOCOL.name).then_some(lease::ZOOKEEPER)
    }

    fn place(&self, _: &str) -> Option<String> {
        None
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(self.observer.clone())
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        (self.run)(outputs, deliver)
    }
}

/// A seat whose work runs elsewhere.
pub struct Inside {
    seat: Seat<Placed>,
}

impl Inside {
    /// The seat of the first of the members.
    pub fn new(placed: Placed, members: Vec<String>, timings: Timings) -> Self {
        let lease_ttl = (placed.protocol.granted_ttl)(timings.lease_ttl);
        let seat = Seat::made(Parts {
            backend: placed,
            seat: "leader".to_owned(),
            member: members.first().cloned().unwrap_or_default(),
            members,
            timings: Timings { lease_ttl, ..timings },
            margin: Duration::from_nanos(lease_ttl / 10),
            drain: Duration::ZERO,
            stop_within: Duration::ZERO,
            hold_down: Duration::ZERO,
            deference: Deference::default(),
        });
        Inside { seat }
    }

    /// Campaigns and leads, again and again, until `leaves` says so and the work has let go. `orders` has an
    /// [`Order`] in each request for a stream. If it closes, the work is gone, and nobody knows whether it has stopped: the
    /// lease is left to run out.
    pub async fn stand(&self, mut orders: UnboundedReceiver<ServiceOutput>, mut leaves: watch::Receiver<bool>) {
        let (seat, own) = (&self.seat, Own::default());
        while !*leaves.borrow() {
            let Some(term) = self.win(&own, &mut orders, &mut leaves).await else { break };
            let lead = term.lead().clone();
            tokio::select! {
                biased;
                _ = lead.ended() => {}
                order = about(lead.token(), &mut orders) => match order {
                    Some(Order::Refused { .. }) => lead.refused(),
                    Some(Order::LetGo { to: Some(to), .. }) => {
                        seat.resigning.send_replace(Some(Successor::Named(to)));
                    }
                    Some(Order::LetGo { to: None, .. }) => {}
                    None => {
                        term.abandon().await;
                        return;
                    }
                },
            }
            let why = term.finish().await;
            // It has been told, unless the campaign's driver has failed.
            seat.backend.observer.told(News::Over(why));
            seat.keep_away_after(why, false);
        }
        if let Some(state) = own.state() {
            state.until_done().await;
        }
    }

    /// Campaigns; `None` if it is to leave.
    async fn win(
        &self,
        own: &Own,
        orders: &mut UnboundedReceiver<ServiceOutput>,
        leaves: &mut watch::Receiver<bool>,
    ) -> Option<Term<Fenced>> {
        let (mut campaign, mut left) = (pin!(self.seat.campaign_as(own)), pin!(leaves.wait_for(|leaves| *leaves)));
        loop {
            tokio::select! {
                biased;
                term = &mut campaign => return Some(term),
                _ = &mut left => return None,
                // Of a leadership that is over.
                order = orders.recv() => drop(order?),
            }
        }
    }
}

/// The next order about the leadership with this token; `None` if the work is gone.
async fn about(token: u64, orders: &mut UnboundedReceiver<ServiceOutput>) -> Option<Order> {
    loop {
        let ServiceOutput::Open { request, .. } = orders.recv().await? else { continue };
        match request.downcast() {
            Ok(order @ (Order::LetGo { token: of, .. } | Order::Refused { token: of })) if of == token => {
                return Some(order);
            }
            _ => {}
        }
    }
}
