//! kube-coordinate 2.0.0-rc.0: a channel has the state of a `LeaderElector`, with the crate's own timings.

use crate::store;
use kube_2 as kube;
use kube_coordinate::{Config, LeaderElector};

#[tokio::main]
pub async fn main() {
    let address = kube::Config::new(store::variable("KUBERNETES_URL").parse().expect("a URL"));
    let client = kube::Client::try_from(address).expect("a client");
    let config = Config::default().name("leader").namespace("default").identity(&store::name()).manager("ecosystem");
    let handle = LeaderElector::spawn(config, client).expect("the configuration is valid");
    let state = handle.state();
    let mut led = false;
    loop {
        // Before taking action as a leader, just check the channel.
        let leads = state.borrow().is_leader();
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
