//! Services that ask who one is.

use fencepost_seat::{Backend, Etcd, Fenced, Seat, Status, Term, Zookeeper};
use servers::{Folder, Process, SOON, find, free_address};
use std::{net::SocketAddr, process::Command, time::Duration};
use tokio::time::timeout;

fn seat<B: Backend<Fencing = Fenced>>(backend: B, member: &str) -> Seat<B> {
    Seat::new(backend, "invoices").ttl(Duration::from_secs(4)).member(member).expect("settings")
}

async fn leads<B: Backend<Fencing = Fenced>>(seat: &Seat<B>) -> Term<Fenced> {
    let failing = || panic!("{:?}", seat.status());
    timeout(SOON, seat.campaign()).await.unwrap_or_else(|_| failing())
}

/// Why the service fails a seat that campaigns.
async fn fails<B: Backend<Fencing = Fenced>>(seat: &Seat<B>) -> String {
    let mut watch = seat.watch();
    let why = async {
        loop {
            if let Status { failing: Some(why), .. } = watch.changed().await {
                return why;
            }
        }
    };
    tokio::select! {
        _ = seat.campaign() => panic!("it leads without a login"),
        why = timeout(SOON, why) => why.expect("it is refused"),
    }
}

/// An etcd that knows root and the seat's user, and forgets who has logged in after a second without a request.
fn etcd_with_users(folder: &Folder) -> Option<(Process, SocketAddr)> {
    let program = find("etcd", "etcd-server", "seats that log in")?;
    let client = find("etcdctl", "etcd-client", "seats that log in")?;
    let address = free_address();
    let mut command = Command::new(program);
    command
        .args(servers::call::etcd(address, free_address(), &folder.path().join("etcd")))
        .env("ETCD_AUTH_TOKEN_TTL", "1");
    let mut process = Process::start(command, &folder.path().join("etcd.log"));
    assert!(process.listens(address));
    for said in [
        "user add root:root",
        "user grant-role root root",
        "user add billing:secret",
        "role add leaders",
        "role grant-permission leaders readwrite --prefix=true fencepost/invoices/",
        "user grant-role billing leaders",
        "auth enable",
    ] {
        let mut etcdctl = Command::new(&client);
        etcdctl.env("ETCDCTL_API", "3").arg(format!("--endpoints=http://{address}")).args(said.split(' '));
        servers::run(etcdctl);
    }
    Some((process, address))
}

#[tokio::test]
async fn to_etcd() {
    let folder = Folder::new();
    let Some((_etcd, address)) = etcd_with_users(&folder) else { return };
    let etcd = || Etcd::connect([format!("http://{address}")]).expect("an address");
    let billing = etcd().login("billing", "secret");
    let (first, second) = (seat(billing.clone(), "a"), seat(billing, "b"));
    let term = leads(&first).await;
    // Long enough for the login to be forgotten, and for the lease to end if it is not renewed.
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(term.lead().check(), Ok(()));
    // The other stands by the same client, which has to log in again.
    let (next, _) = tokio::join!(leads(&second), async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        term.finish().await
    });
    next.finish().await;
    for (stranger, why) in [
        (etcd(), "user name is empty"),
        (etcd().login("billing", "wrong"), "authentication failed"),
        (etcd().login("nobody", "secret"), "authentication failed"),
    ] {
        let said = fails(&seat(stranger, "b")).await;
        assert!(said.contains(why), "{said}");
    }
}

#[tokio::test]
async fn to_zookeeper() {
    let folder = Folder::new();
    let Some(server) = servers::zookeeper(&folder, "seats that log in") else { return };
    let zookeeper = || Zookeeper::connect(&format!("{}/services", server.address)).expect("an address");
    let (first, second) =
        (seat(zookeeper().login("billing", "secret"), "a"), seat(zookeeper().login("billing", "secret"), "b"));
    let term = leads(&first).await;
    assert!(timeout(Duration::from_secs(1), second.campaign()).await.is_err(), "two lead");
    term.finish().await;
    leads(&second).await.finish().await;
    for stranger in [zookeeper(), zookeeper().login("billing", "wrong")] {
        let said = fails(&seat(stranger, "c")).await;
        assert!(said.contains("NoAuth"), "{said}");
    }
}
