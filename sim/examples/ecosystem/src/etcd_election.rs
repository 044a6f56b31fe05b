//! etcd-client 0.21: `campaign` with a lease that is kept alive. The leader's key has a revision, which is a fencing token.

use crate::store::{self, Failure};
use etcd_client::{Client, LeaseKeepAliveStream, LeaseKeeper};
use std::time::Duration;

pub const TTL_S: i64 = 10;
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
    let campaign = client.campaign("leader", store::name(), lease);
    tokio::pin!(campaign);
    let elected = loop {
        tokio::select! {
            elected = &mut campaign => break elected?,
            () = tokio::time::sleep(RENEW) => renew(&mut keeper, &mut answers).await?,
        }
    };
    let token = elected.leader().ok_or("a leader has a key")?.rev();
    println!("{}: leads with token {token}", store::name());
    loop {
        renew(&mut keeper, &mut answers).await?;
        store::write(Some(token.try_into()?)).await?;
        tokio::time::sleep(store::WORK).await;
    }
}

pub async fn renew(keeper: &mut LeaseKeeper, answers: &mut LeaseKeepAliveStream) -> Result<(), Failure> {
    keeper.keep_alive().await?;
    match answers.message().await? {
        Some(answer) if answer.ttl() > 0 => Ok(()),
        _ => Err("the lease has ended".into()),
    }
}
