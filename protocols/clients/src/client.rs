//! The client of a service, as a value.

use crate::site::Site;
use protocols::elector::{ServiceInput, ServiceOutput};
use std::{future::Future, pin::Pin, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// Takes what a client has for its elector.
pub type Deliver = Arc<dyn Fn(ServiceInput) + Send + Sync>;
/// A client at work: carries out what comes from its elector until that is gone.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The client of a service.
pub struct Client<E> {
    /// The service's name.
    pub service: &'static str,
    /// Runs it for one elector.
    pub run: fn(E, Site, UnboundedReceiver<ServiceOutput>, Deliver) -> Running,
}

// Derived, they would want the same of `E`, of which nothing is kept.
impl<E> Copy for Client<E> {}

impl<E> Clone for Client<E> {
    fn clone(&self) -> Self {
        *self
    }
}
