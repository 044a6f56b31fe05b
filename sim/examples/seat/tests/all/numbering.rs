//! A service that draws numbers from the store of real mode, which is a process of the world, too.

use fencepost::{Own, World, etcd, scenarios, served_by};
use fencepost_seat::{Etcd, Seat, fence::store::Store};
use own_node::store;
use std::{env, future::pending, time::Duration};
use tokio::time::sleep;

const ACCEPTED: &str = "accepted resource=\"sequence\" node=\"{node}\" token={token} seq={seq}";

#[tokio::main]
async fn draws() -> Result<(), seat::Error> {
    let name = env::var("HOSTNAME")?;
    let seat = Seat::new(Etcd::connect(["http://etcd:2379"])?, "numbers").ttl(Duration::from_secs(3)).member(&name)?;
    let store = Store::connect_insecure("store:7000")?.within(Duration::from_secs(3));
    seat.serve_until(pending(), async |lead| {
        println!("{name}: leads with token {}", lead.token());
        let _told = seat::Tells(&name);
        let mut numbers = store.numbers(lead, "sequence").await?;
        for request in 1.. {
            numbers.next(&format!("{name}-{}:{request}", lead.token())).await?;
            sleep(Duration::from_millis(250)).await;
        }
        Ok::<_, seat::Error>(())
    })
    .await;
    Err("the work did not stop".into())
}

fn drawing(store: Own) -> World {
    crate::swept(World::new().store(store.accepts_when(ACCEPTED)))
        .service(etcd())
        .fleet(3, draws)
        .leads_when("leads with token {token}")
        .stops_when("leads no more")
        .belief_overlap(Duration::ZERO)
}

#[test]
fn swept_on_a_store_of_our_own() {
    println!("{:?}", drawing(served_by(store::main)).every_scenario().check());
}

/// So the sweep could fail.
#[test]
fn a_store_that_compares_no_tokens_lets_a_former_leader_draw() {
    let survey = drawing(served_by(store::unfenced)).scenarios([scenarios::gc_pause()]).survey().unwrap();
    println!("{survey}");
    assert!(survey.scenarios.iter().any(|row| row.two_led > 0));
}
