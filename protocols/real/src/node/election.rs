//! How a node is elected: by the seat, or, by protocols that no seat offers, by the protocol's core in the node itself.

use super::seated::{self, Candidate, Seated};
use fencepost_seat::inside;
use protocols::{
    core::Input,
    election::Setup,
    elector::{AnyElector, ServiceOutput, boxed},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    registry::Clients,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// What the node's core steps.
pub fn elector(candidate: &Candidate) -> Box<AnyElector> {
    if inside::offers(candidate.protocol) {
        return boxed(Seated::new(candidate));
    }
    let Candidate { protocol, node, names, service, timings, env, .. } = candidate;
    let setup = Setup {
        group: 0,
        seat: None,
        node: *node,
        names: names.clone(),
        timings: *timings,
        nonce: env.random(),
        stored: None,
        service: service.clone(),
        bugs: Default::default(),
    };
    (protocol.elector)(setup)
}

/// An election that a node takes part in.
pub struct Election {
    /// Takes the requests of the node's core.
    pub requests: mpsc::UnboundedSender<ServiceOutput>,
    task: JoinHandle<()>,
    /// Tells the seat; `None` without one.
    leaves: Option<watch::Sender<bool>>,
}

impl Election {
    /// Takes part, and tells the node's core.
    pub fn start(candidate: Candidate, core: mpsc::UnboundedSender<Input>) -> Self {
        if inside::offers(candidate.protocol) {
            let (leaves, to_leave) = watch::channel(false);
            let (requests, task) = seated::stand(candidate, core, to_leave);
            return Election { requests, task, leaves: Some(leaves) };
        }
        let (requests, to_service) = mpsc::unbounded_channel();
        let deliver = move |input| drop(core.send(Input::Service(Box::new(input))));
        let Candidate { protocol, site, client_env, .. } = candidate;
        let client = async move { Clients::ours().run(client_env, protocol.service, site, to_service, deliver).await };
        Election { requests, task: tokio::spawn(client), leaves: None }
    }

    /// Has the seat campaign no more.
    pub fn leave(&self) {
        if let Some(leaves) = &self.leaves {
            leaves.send_replace(true);
        }
    }

    /// Ends it, once the seat has let go, or after so many nanoseconds. A seat that has not by then leads beside work that has
    /// not stopped: it is left alone, since its end would release the lease.
    pub async fn end(mut self, env: &TokioEnv, within: u64) {
        if self.leaves.is_none() {
            self.task.abort();
        } else if env.timeout(within, &mut self.task).await.is_none() {
            tracing::warn!("the seat has not let go; its lease will run out");
        }
    }
}
