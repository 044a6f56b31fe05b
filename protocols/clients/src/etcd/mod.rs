//! etcd over the genuine `etcd-client` crate.

mod calls;
pub mod channel;
mod session;

use crate::{env::Env, site::Endpoint};
use protocols::elector::{ServiceInput, ServiceOutput};
use tokio::sync::mpsc::UnboundedReceiver;

/// Runs the genuine client for one elector until `outputs` closes: carries out what comes from it and hands every answer
/// to `deliver`. Dials when there is something to send, and again when the connection broke.
pub async fn run<E: Env>(
    env: E,
    endpoint: Endpoint,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    // Without credentials this sends nothing, so it has no way to fail.
    if let Ok(client) = connect(env.clone(), endpoint).await {
        session::Session::new(env, client, deliver).run(outputs).await;
    }
}

/// The genuine client on a channel of the process's own; nothing is dialled yet.
///
/// # Errors
/// None while it has no credentials; the library's signature has one.
pub async fn connect<E: Env>(env: E, endpoint: Endpoint) -> Result<etcd_client::Client, etcd_client::Error> {
    let channel = tower::util::BoxCloneSyncService::new(channel::Channel::new(env, endpoint));
    etcd_client::Client::from_channel(etcd_client::Channel::Custom(channel), None).await
}
