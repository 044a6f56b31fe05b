//! How servers are called: their arguments.

use std::{fs, io, net::SocketAddr, path::Path};

fn strings<const N: usize>(arguments: [&str; N]) -> Vec<String> {
    arguments.map(str::to_owned).into()
}

/// A `redis-server` that keeps its data below `data`. Every write is on disk before it is acknowledged.
pub fn redis(address: SocketAddr, data: &Path) -> Vec<String> {
    let mut arguments = strings(["--port", &address.port().to_string()]);
    arguments.extend(redis_apart_from_its_port(data));
    arguments
}

/// The same for clients that have certificates: its own, its key, and the authority's in these files.
pub fn redis_with_tls(address: SocketAddr, data: &Path, [cert, key, authority]: [&str; 3]) -> Vec<String> {
    let mut arguments =
        strings(["--port", "0", "--tls-port", &address.port().to_string(), "--tls-auth-clients", "yes"]);
    arguments.extend(strings(["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", authority]));
    arguments.extend(redis_apart_from_its_port(data));
    arguments
}

fn redis_apart_from_its_port(data: &Path) -> Vec<String> {
    let data = data.display().to_string();
    let mut arguments = strings(["--bind", "127.0.0.1", "--dir", &data, "--daemonize", "no"]);
    arguments.extend(strings(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]));
    arguments
}

/// An `etcd` of one member that keeps its data below `data`. Peers would reach it at `peer`.
pub fn etcd(address: SocketAddr, peer: SocketAddr, data: &Path) -> Vec<String> {
    etcd_at(&format!("http://{address}"), peer, data)
}

/// The same for clients that have certificates: its own, its key, and the authority's in these files.
pub fn etcd_with_tls(
    address: SocketAddr,
    peer: SocketAddr,
    data: &Path,
    [cert, key, authority]: [&str; 3],
) -> Vec<String> {
    let mut arguments = etcd_at(&format!("https://{address}"), peer, data);
    arguments.extend(strings(["--cert-file", cert, "--key-file", key]));
    arguments.extend(strings(["--client-cert-auth", "--trusted-ca-file", authority]));
    arguments
}

fn etcd_at(client: &str, peer: SocketAddr, data: &Path) -> Vec<String> {
    let (data, peer) = (data.display().to_string(), format!("http://{peer}"));
    let mut arguments = strings(["--name", "fencepost", "--data-dir", &data]);
    arguments.extend(strings(["--listen-client-urls", client, "--advertise-client-urls", client]));
    arguments.extend(strings(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]));
    arguments.extend(strings(["--initial-cluster", &format!("fencepost={peer}")]));
    arguments
}

/// What `java` is called with to be a ZooKeeper of one member, from the library in `jar`, that keeps its settings and its
/// data below `data`. Every write is on disk before it is acknowledged, which is its default.
///
/// # Errors
/// The settings cannot be written.
pub fn zookeeper(address: SocketAddr, data: &Path, jar: &Path) -> io::Result<Vec<String>> {
    let settings = data.join("zoo.cfg");
    let (ip, port) = (address.ip(), address.port());
    // Without the last two it would listen for administrators on a port of its own, and take 60 clients of one address.
    let text = format!(
        "tickTime=2000\ndataDir={}\nclientPortAddress={ip}\nclientPort={port}\nadmin.enableServer=false\nmaxClientCnxns=0\n",
        data.display()
    );
    fs::write(&settings, text)?;
    let (jar, settings) = (jar.display().to_string(), settings.display().to_string());
    Ok(strings(["-Xmx256m", "-cp", &jar, "org.apache.zookeeper.server.ZooKeeperServerMain", &settings]))
}

/// A `consul` of one server that is its own agent and keeps its data below `data`. Its own traffic goes through `others`. It
/// elects itself within a second or two, and says nothing of where machines are, which would take indexes.
pub fn consul(address: SocketAddr, others: [SocketAddr; 2], data: &Path) -> Vec<String> {
    let [gossip, server] = others.map(|address| address.port().to_string());
    let mut arguments = strings(["agent", "-server", "-bootstrap", "-node", "consul", "-log-level", "err"]);
    arguments.extend(strings(["-bind", "127.0.0.1", "-client", "127.0.0.1", "-data-dir", &data.display().to_string()]));
    arguments.extend(strings(["-http-port", &address.port().to_string(), "-serf-lan-port", &gossip]));
    arguments.extend(strings(["-server-port", &server, "-serf-wan-port", "-1", "-dns-port", "-1"]));
    for line in ["disable_update_check = true", "disable_coordinates = true", "performance { raft_multiplier = 1 }"] {
        arguments.extend(strings(["-hcl", line]));
    }
    arguments
}

/// A `postgres` on the data that `initdb` has made. It listens on loopback only, and on no socket.
pub fn postgres(address: SocketAddr, data: &Path) -> Vec<String> {
    let (data, port) = (data.display().to_string(), address.port().to_string());
    strings(["-D", &data, "-p", &port, "-h", "127.0.0.1", "-k", ""])
}
