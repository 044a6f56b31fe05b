//! etcd's election service, as etcd-client 0.21.1 calls it: "only one can be the leader at a time" (`rpc/election.rs`). Its
//! example `election` keeps no lease alive. A candidate that waits for longer than its lease lasts has no key any more, and
//! is told that it leads as soon as those before it are gone: so all of them are, at once.

use crate::{
    suite::quiet,
    world::{on_etcd, tell},
};
use etcd_client::Client;
use fencepost_libc::main_of;

/// As in the example, without `proclaim`.
#[tokio::main]
async fn campaigns() {
    let mut client = Client::connect([ecosystem::store::variable("ETCD_URL")], None).await.expect("a client");
    let lease = client.lease_grant(10, None).await.expect("a lease").id();
    let elected = client.campaign("leader", ecosystem::store::name(), lease).await.expect("an answer");
    println!("{}: leads with token {}", ecosystem::store::name(), elected.leader().expect("a key").rev());
    let alive = client.lease_time_to_live(lease, None).await.expect("an answer").ttl();
    println!("{}: has a lease of {alive} s", ecosystem::store::name());
}

#[test]
fn all_candidates_whose_leases_have_ended_are_elected_at_once() {
    let told = tell(&on_etcd(main_of(campaigns)).named("campaigns"), &quiet(&on_etcd(main_of(campaigns))));
    let elected = told.said("leads with token");
    let [(first, _), (second, _), (third, _)] = elected[..] else { panic!("{}", told.log()) };
    assert!(second - first > 9.0 && third - second < 0.1, "{}", told.log());
    assert_eq!(told.said("has a lease of -1 s").len(), 2, "{}", told.log());
}
