//! Redis servers that know nothing of each other, such as Redlock asks: a client of [`super::redis`] for each. Every server
//! has a queue of its own, so that one that is silent keeps nobody waiting for the others.

use super::{Endpoint, redis};
use crate::{
    elector::{ServiceInput, ServiceOutput},
    env::Env,
    error::Failure,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A request to one of the servers. Answered by [`redis::Reply`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Which server, from 0.
    pub member: usize,
    /// What to ask it.
    pub request: redis::Request,
}

/// Carries out the requests that come from `outputs`, each at its own server, and hands every answer to `deliver`, until
/// `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    endpoints: Vec<Endpoint>,
    mut outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    let member = |endpoint: Endpoint| {
        let (sender, receiver) = unbounded_channel();
        (sender, env.spawn(redis::run(env.clone(), endpoint, receiver, deliver.clone())))
    };
    // Dropping a task stops it.
    let members: Vec<(UnboundedSender<ServiceOutput>, E::Task)> = endpoints.into_iter().map(member).collect();
    while let Some(output) = outputs.recv().await {
        match output {
            ServiceOutput::Request {
                number,
                request: super::Request::RedisServers(Request { member, request }),
                timeout,
                concurrent,
            } => {
                let request = super::Request::Redis(request);
                let output = ServiceOutput::Request { number, request, timeout, concurrent };
                if members.get(member).is_none_or(|(sender, _)| sender.send(output).is_err()) {
                    let reply = Err(Failure::Rejected(format!("there is no server {member}; the first is 0")));
                    deliver(ServiceInput::Reply { number, reply });
                }
            }
            // Every other request, and every stream, is one server's to refuse.
            output @ (ServiceOutput::Request { .. } | ServiceOutput::Open { .. }) => {
                if let Some((sender, _)) = members.first() {
                    let _ = sender.send(output);
                }
            }
            // Whoever has it drops it.
            output => members.iter().for_each(|(sender, _)| drop(sender.send(output.clone()))),
        }
    }
}
