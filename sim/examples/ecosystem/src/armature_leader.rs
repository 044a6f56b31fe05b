//! armature-distributed 0.4: `LeaderElection`, whose fence says whether this process leads.

use crate::store;
use armature_distributed::LeaderElection;
use std::{sync::Arc, time::Duration};

const TTL: Duration = Duration::from_secs(3);

#[tokio::main]
pub async fn main() {
    let client = redis::Client::open(store::variable("REDIS_URL")).expect("the URL is one of Redis's");
    let connection = client.get_connection_manager().await.expect("Redis answers");
    let election = LeaderElection::new("leader", TTL, connection);
    let fence = election.fence();
    let elected = move || {
        let fence = fence.clone();
        async move {
            println!("{}: leads", store::name());
            while fence.is_held() {
                if let Err(why) = store::write(None).await {
                    println!("{}: {why}", store::name());
                }
                tokio::select! {
                    () = fence.lost() => {}
                    () = tokio::time::sleep(store::WORK) => {}
                }
            }
        }
    };
    let revoked = || async { println!("{}: leads no more", store::name()) };
    let election = Arc::new(election.on_elected(elected).on_revoked(revoked));
    let ended = election.start().await;
    println!("{}: the election ended: {ended:?}", store::name());
}
