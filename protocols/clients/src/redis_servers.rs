//! Independent Redis servers, as Redlock uses them: a client of [`super::redis`] for each. Every server has its own
//! queue, so a silent one does not delay the others.

use crate::{
    client,
    env::Env,
    redis::{self, Redis},
    site::Endpoint,
};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::redis_servers::{Request, SERVICE},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.service, outputs, move |input| deliver(input))),
    }
}

/// Carries out the requests that come from `outputs`, each on its server, and hands every answer to `deliver`, until
/// `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    endpoints: Vec<Endpoint>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    let member = |endpoint: Endpoint| {
        let (sender, receiver) = unbounded_channel();
        (sender, env.spawn(redis::run_by_steps(env.clone(), endpoint, receiver, deliver.clone())))
    };
    distribute::<E>(endpoints.into_iter().map(member).collect(), outputs, deliver).await;
}

/// The same on connections that several electors share.
pub async fn run_on<E: Env>(
    env: E,
    servers: Vec<Redis<E>>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    let member = |server: Redis<E>| {
        let (sender, receiver) = unbounded_channel();
        (sender, env.spawn(server.run(receiver, deliver.clone())))
    };
    distribute::<E>(servers.into_iter().map(member).collect(), outputs, deliver).await;
}

/// Passes each request on to its server's client. Dropping a task stops it.
async fn distribute<E: Env>(
    members: Vec<(UnboundedSender<ServiceOutput>, E::Task)>,
    mut outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput),
) {
    while let Some(output) = outputs.recv().await {
        match output {
            ServiceOutput::Request { number, request, timeout, concurrent } => {
                // A request of another service goes to the first server's client, which refuses it.
                let (member, request) = match Request::restore(request) {
                    Ok(Request { member, request }) => (member, request.erase()),
                    Err(other) => (0, other),
                };
                let output = ServiceOutput::Request { number, request, timeout, concurrent };
                if members.get(member).is_none_or(|(sender, _)| sender.send(output).is_err()) {
                    let reply = Err(Failure::Rejected(format!("there is no server {member}; the first is 0")));
                    deliver(ServiceInput::Reply { number, reply });
                }
            }
            // So does every stream.
            output @ ServiceOutput::Open { .. } => {
                if let Some((sender, _)) = members.first() {
                    let _ = sender.send(output);
                }
            }
            // Cancellations and the like go to all; the client concerned reacts.
            output => members.iter().for_each(|(sender, _)| drop(sender.send(output.clone()))),
        }
    }
}
