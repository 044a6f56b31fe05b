//! The command-line arguments of servers.

use crate::members::sockets::Place;
use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

fn strings<const N: usize>(arguments: [&str; N]) -> Vec<String> {
    arguments.map(str::to_owned).into()
}

/// A `redis-server` with its data below `data`, which syncs every write before it acknowledges it.
pub fn redis(address: SocketAddr, data: &Path) -> Vec<String> {
    let mut arguments = strings(["--port", &address.port().to_string()]);
    arguments.extend(redis_apart_from_its_port(data));
    arguments
}

/// The same as a replica of `primary`, if given.
pub fn redis_replica(address: SocketAddr, data: &Path, primary: Option<SocketAddr>) -> Vec<String> {
    let mut arguments = redis(address, data);
    if let Some(primary) = primary {
        arguments.extend(strings(["--replicaof", &primary.ip().to_string(), &primary.port().to_string()]));
    }
    arguments
}

/// A sentinel's timeouts, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watching {
    /// `down-after-milliseconds`.
    pub down_after_ms: u64,
    /// `failover-timeout`.
    pub failover_timeout_ms: u64,
}

impl Watching {
    /// The timeouts for this lease, in proportion to the defaults of 30 s and 3 minutes for a lease of 15 s.
    pub fn of_lease(ttl_ms: u64) -> Watching {
        Watching { down_after_ms: 2 * ttl_ms, failover_timeout_ms: 12 * ttl_ms }
    }
}

/// Writes the configuration of a sentinel that watches the primary `mymaster` along with two others. The sentinel saves
/// its findings in it.
///
/// # Errors
/// The file cannot be written.
pub fn sentinel_file(
    address: SocketAddr,
    data: &Path,
    primary: SocketAddr,
    Watching { down_after_ms, failover_timeout_ms }: Watching,
) -> std::io::Result<PathBuf> {
    let file = data.join("sentinel.conf");
    let (dir, port, ip, watched) = (data.display(), address.port(), primary.ip(), primary.port());
    let text = format!(
        "bind 127.0.0.1\nport {port}\ndir {dir}\nsentinel monitor mymaster {ip} {watched} 2\n\
         sentinel down-after-milliseconds mymaster {down_after_ms}\n\
         sentinel failover-timeout mymaster {failover_timeout_ms}\n"
    );
    std::fs::write(&file, text)?;
    Ok(file)
}

/// A `redis-server` as a sentinel with this configuration file.
pub fn sentinel(file: &Path) -> Vec<String> {
    strings([&file.display().to_string(), "--sentinel"])
}

/// The same with mutual TLS: the server's certificate, its key, and the authority's certificate.
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

/// A single-member `etcd` with its data below `data`, and `peer` as its peer address.
pub fn etcd(address: SocketAddr, peer: SocketAddr, data: &Path) -> Vec<String> {
    etcd_at(&format!("http://{address}"), peer, data)
}

/// The same with mutual TLS: the server's certificate, its key, and the authority's certificate.
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

/// An API server for Leases, which starts `program`, an etcd with these addresses for its client and its peers, and its
/// data below `data`.
pub fn kubernetes(address: SocketAddr, etcd: [SocketAddr; 2], program: &Path, data: &Path) -> Vec<String> {
    let ([client, peer], program, data) = (etcd, program.display().to_string(), data.display().to_string());
    let mut arguments = strings(["-address", &address.to_string(), "-etcd", &program, "-data", &data]);
    arguments.extend(strings(["-etcd-client", &client.to_string(), "-etcd-peer", &peer.to_string()]));
    arguments
}

/// An `etcd` member at these addresses, with its data below `data`. It uses pre-vote, the default since 3.5, as the
/// model does.
pub(crate) fn etcd_member(member: usize, places: &[Place], data: &Path) -> Vec<String> {
    let place = &places[member];
    let (client, peer) = (format!("http://{}", place.client), format!("http://{}", place.peer_of(member)));
    let own = format!("http://{}", place.own_peer());
    let named = |(member, place): (usize, &Place)| format!("m{member}=http://{}", place.peer_of(member));
    let cluster = places.iter().enumerate().map(named).collect::<Vec<_>>().join(",");
    let mut arguments = strings(["--name", &format!("m{member}"), "--data-dir", &data.display().to_string()]);
    arguments.extend(strings(["--listen-client-urls", &client, "--advertise-client-urls", &client]));
    arguments.extend(strings(["--listen-peer-urls", &own, "--initial-advertise-peer-urls", &peer]));
    arguments.extend(strings(["--initial-cluster", &cluster, "--pre-vote=true"]));
    arguments.extend(strings(["--logger", "zap", "--log-level", "info"]));
    arguments
}

/// Writes the settings of a ZooKeeper member at these addresses below `data`; otherwise its defaults.
///
/// # Errors
/// They cannot be written.
pub(crate) fn zookeeper_member(member: usize, places: &[Place], data: &Path) -> io::Result<()> {
    let client = places[member].client;
    let mut text = format!(
        "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir={}\nclientPortAddress={}\nclientPort={}\n\
         admin.enableServer=false\nmaxClientCnxns=0\n",
        data.display(),
        client.ip(),
        client.port()
    );
    for (place, Place { peer, second, .. }) in places.iter().enumerate() {
        // Its own line has its listening address, the others' lines their relays' addresses.
        let ip = if place == member { client.ip() } else { places[place].peer_of(place).ip() };
        text += &format!("server.{}={ip}:{peer}:{second}\n", place + 1);
    }
    fs::write(data.join("myid"), (member + 1).to_string())?;
    fs::write(data.join("zoo.cfg"), text)
}

/// The arguments of `java` for such a member, with the library `jar`.
pub(crate) fn zookeeper_java(jar: &Path, data: &Path) -> Vec<String> {
    let (jar, settings) = (jar.display().to_string(), data.join("zoo.cfg").display().to_string());
    let mut arguments = strings(["-Xmx128m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true", "-cp", &jar]);
    arguments.extend(strings(["org.apache.zookeeper.server.quorum.QuorumPeerMain", &settings]));
    arguments
}

/// A `consul` server at these addresses, with its data below `data`, and production timings.
pub(crate) fn consul_member(member: usize, places: &[Place], data: &Path) -> Vec<String> {
    let Place { client, peer, second, .. } = places[member];
    let node = format!("consul-{member}");
    let mut arguments = strings(["agent", "-server", "-node", &node, "-log-level", "info"]);
    arguments.extend(strings(["-bootstrap-expect", &places.len().to_string(), "-retry-interval", "1s"]));
    arguments.extend(strings(["-bind", "127.0.0.1", "-client", "127.0.0.1", "-data-dir", &data.display().to_string()]));
    arguments.extend(strings(["-advertise", &places[member].peer_of(member).ip().to_string()]));
    arguments.extend(strings(["-http-port", &client.port().to_string(), "-serf-lan-port", &second.to_string()]));
    arguments.extend(strings(["-server-port", &peer.to_string(), "-serf-wan-port", "-1", "-dns-port", "-1"]));
    for (place, other) in places.iter().enumerate().filter(|(place, _)| *place != member) {
        arguments.extend(strings(["-retry-join", &other.second_of(place).to_string()]));
    }
    for line in ["disable_update_check = true", "disable_coordinates = true", "performance { raft_multiplier = 1 }"] {
        arguments.extend(strings(["-hcl", line]));
    }
    arguments
}

/// A `consul` agent on its clients' machine, not a server, which gossips at `gossip`.
pub(crate) fn consul_agent(address: SocketAddr, gossip: SocketAddr, places: &[Place], data: &Path) -> Vec<String> {
    let mut arguments = strings(["agent", "-node", "agent", "-log-level", "info", "-retry-interval", "1s"]);
    arguments.extend(strings(["-bind", "127.0.0.1", "-client", "127.0.0.1", "-data-dir", &data.display().to_string()]));
    arguments.extend(strings(["-http-port", &address.port().to_string(), "-dns-port", "-1"]));
    arguments.extend(strings(["-serf-lan-port", &gossip.port().to_string()]));
    for (place, other) in places.iter().enumerate() {
        arguments.extend(strings(["-retry-join", &other.second_of(place).to_string()]));
    }
    for line in ["disable_update_check = true", "disable_coordinates = true"] {
        arguments.extend(strings(["-hcl", line]));
    }
    arguments
}

/// The arguments of `java` for a single-member ZooKeeper from the library `jar`, with settings and data below `data`.
/// By default it syncs every write before it acknowledges it.
///
/// # Errors
/// The settings cannot be written.
pub fn zookeeper(address: SocketAddr, data: &Path, jar: &Path) -> io::Result<Vec<String>> {
    let settings = data.join("zoo.cfg");
    let (ip, port) = (address.ip(), address.port());
    // The last two disable the admin server, which has its own port, and the limit of 60 clients per address.
    let text = format!(
        "tickTime=2000\ndataDir={}\nclientPortAddress={ip}\nclientPort={port}\nadmin.enableServer=false\nmaxClientCnxns=0\n",
        data.display()
    );
    fs::write(&settings, text)?;
    let (jar, settings) = (jar.display().to_string(), settings.display().to_string());
    Ok(strings(["-Xmx256m", "-cp", &jar, "org.apache.zookeeper.server.ZooKeeperServerMain", &settings]))
}

/// A single `consul` server that is its own agent, with its data below `data`, and `others` for its internal traffic.
/// It elects itself within one or two seconds. Network coordinates are off, since their updates would take indexes.
pub fn consul(address: SocketAddr, others: [SocketAddr; 2], data: &Path) -> Vec<String> {
    let [gossip, server] = others.map(|address| address.port().to_string());
    let mut arguments = strings(["agent", "-server", "-bootstrap", "-node", "consul", "-log-level", "err"]);
    arguments.extend(strings(["-bind", "127.0.0.1", "-client", "127.0.0.1", "-data-dir", &data.display().to_string()]));
    arguments.extend(strings(["-http-port", &address.port().to_string(), "-serf-lan-port", &gossip]));
    arguments.extend(strings(["-server-port", &server, "-serf-wan-port", "-1", "-dns-port", "-1"]));
    for line in [
        "disable_update_check = true",
        "disable_coordinates = true",
        "performance { raft_multiplier = 1 }",
        // Requests are counted from the start, for whoever asks.
        r#"telemetry { prometheus_retention_time = "24h" }"#,
        // Clients that stand for machines of their own all come from this one; 200 by default.
        "limits { http_max_conns_per_client = 10000 }",
    ] {
        arguments.extend(strings(["-hcl", line]));
    }
    arguments
}

/// A `postgres` on the data folder made by `initdb`. It listens on loopback only, without a Unix socket, and keeps what its processes
/// share in that folder: files in `/dev/shm` outlive a server that is killed.
pub fn postgres(address: SocketAddr, data: &Path) -> Vec<String> {
    let (data, port) = (data.display().to_string(), address.port().to_string());
    strings(["-D", &data, "-p", &port, "-h", "127.0.0.1", "-k", "", "-c", "dynamic_shared_memory_type=mmap"])
}
