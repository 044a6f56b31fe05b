//! The client of a service, as a value.

use crate::site::Site;
use protocols::elector::{ServiceInput, ServiceOutput};
use std::{future::Future, pin::Pin, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// Passes a client's answers to its elector.
pub type Deliver = Arc<dyn Fn(ServiceInput) + Send + Sync>;
/// A running client: carries out its elector's requests until the channel closes.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

pub struct Client<E> {
    pub service: &'static str,
    /// Runs the client for one elector.
    pub run: fn(E, Site, UnboundedReceiver<ServiceOutput>, Deliver) -> Running,
}

// `derive` would demand the same of `E`, although no `E` is stored.
impl<E> Copy for Client<E> {}

impl<E> Clone for Client<E> {
    fn clone(&self) -> Self {
        *self
    }
}
