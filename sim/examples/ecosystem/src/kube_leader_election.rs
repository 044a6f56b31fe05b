//! kube-leader-election 0.44: `LeaseLock::try_acquire_or_renew` in a background task, as in its example `shared-lease`.

use crate::store;
use kube_4 as kube;
use kube_leader_election::{LeaseLock, LeaseLockParams, LeaseLockResult};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const TTL: Duration = Duration::from_secs(15);
const RENEW: Duration = Duration::from_secs(5);

#[tokio::main]
pub async fn main() {
    let is_leader = Arc::new(AtomicBool::new(false));
    tokio::spawn(elect(is_leader.clone()));
    let mut led = false;
    loop {
        let leads = is_leader.load(Ordering::Relaxed);
        if leads != led {
            println!("{}: leads{}", store::name(), if leads { "" } else { " no more" });
            led = leads;
        }
        if leads && let Err(why) = store::write(None).await {
            println!("{}: {why}", store::name());
        }
        tokio::time::sleep(store::WORK).await;
    }
}

async fn elect(is_leader: Arc<AtomicBool>) {
    let config = kube::Config::new(store::variable("KUBERNETES_URL").parse().expect("a URL"));
    let client = kube::Client::try_from(config).expect("a client");
    let params = LeaseLockParams { holder_id: store::name(), lease_name: "leader".into(), lease_ttl: TTL };
    let leadership = LeaseLock::new(client, "default", params);
    loop {
        match leadership.try_acquire_or_renew().await {
            Ok(lease) => is_leader.store(matches!(lease, LeaseLockResult::Acquired(_)), Ordering::Relaxed),
            Err(why) => println!("{}: {why}", store::name()),
        }
        tokio::time::sleep(RENEW).await;
    }
}
