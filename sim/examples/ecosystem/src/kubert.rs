//! kubert 0.25: `LeaseManager::spawn` keeps a lease claimed; the claim says until when it is current. The lease has to
//! exist before.

use crate::store;
use k8s_0_25::api::coordination::v1::Lease;
use kube_1 as kube;
use kubert::lease::{ClaimParams, LeaseManager};

#[tokio::main]
pub async fn main() {
    let config = kube::Config::new(store::variable("KUBERNETES_URL").parse().expect("a URL"));
    let api: kube::Api<Lease> = kube::Api::namespaced(kube::Client::try_from(config).expect("a client"), "default");
    let mut lease = Lease::default();
    lease.metadata.name = Some("leader".to_owned());
    lease.spec = Some(Default::default());
    // Somebody else may have made it.
    let _ = api.create(&Default::default(), &lease).await;
    let manager = LeaseManager::init(api, "leader").await.expect("the lease exists");
    let (claims, mut task) = manager.spawn(store::name(), ClaimParams::default()).await.expect("Kubernetes answers");
    let mut led = false;
    loop {
        let leads = claims.borrow().is_current_for(&store::name());
        if leads != led {
            println!("{}: leads{}", store::name(), if leads { "" } else { " no more" });
            led = leads;
        }
        if leads && let Err(why) = store::write(None).await {
            println!("{}: {why}", store::name());
        }
        tokio::select! {
            ended = &mut task => return println!("{}: the manager has ended: {ended:?}", store::name()),
            () = tokio::time::sleep(store::WORK) => {}
        }
    }
}
