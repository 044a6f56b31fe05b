//! etcd-client 0.21: `lock` with a lease that is kept alive. The revision at which the lock's key was made is a fencing token.

use crate::{
    etcd_election::{TTL_S, renew},
    store::{self, Failure},
};
use etcd_client::{Client, LockOptions};
use std::time::Duration;

const RENEW: Duration = Duration::from_secs(3);

#[tokio::main]
pub async fn main() {
    loop {
        if let Err(why) = lead().await {
            println!("{}: leads no more: {why}", store::name());
        }
        tokio::time::sleep(store::WORK).await;
    }
}

async fn lead() -> Result<(), Failure> {
    let mut client = Client::connect([store::variable("ETCD_URL")], None).await?;
    let lease = client.lease_grant(TTL_S, None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    let mut locking = client.clone();
    let lock = locking.lock("leader", Some(LockOptions::new().with_lease(lease)));
    tokio::pin!(lock);
    let locked = loop {
        tokio::select! {
            locked = &mut lock => break locked?,
            () = tokio::time::sleep(RENEW) => renew(&mut keeper, &mut answers).await?,
        }
    };
    let key = client.get(locked.key(), None).await?;
    let token = key.kvs().first().ok_or("the lock is gone")?.create_revision();
    println!("{}: leads with token {token}", store::name());
    loop {
        renew(&mut keeper, &mut answers).await?;
        store::write(Some(token.try_into()?)).await?;
        tokio::time::sleep(store::WORK).await;
    }
}
