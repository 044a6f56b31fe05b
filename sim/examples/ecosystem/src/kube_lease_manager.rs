//! kube-lease-manager 0.13: a channel says whether this process holds the lease, with the crate's own timings.

use crate::store;
use kube_5 as kube;
use kube_lease_manager::LeaseManagerBuilder;

#[tokio::main]
pub async fn main() {
    let config = kube::Config::new(store::variable("KUBERNETES_URL").parse().expect("a URL"));
    let client = kube::Client::try_from(config).expect("a client");
    let builder = LeaseManagerBuilder::new(client, "leader").with_identity(store::name());
    let manager = builder.build().await.expect("Kubernetes answers");
    let (mut channel, _task) = manager.watch().await;
    loop {
        if channel.changed().await.is_err() {
            return println!("{}: the manager has ended", store::name());
        }
        if !*channel.borrow_and_update() {
            println!("{}: leads no more", store::name());
            continue;
        }
        println!("{}: leads", store::name());
        while *channel.borrow() {
            if let Err(why) = store::write(None).await {
                println!("{}: {why}", store::name());
            }
            tokio::time::sleep(store::WORK).await;
        }
    }
}
