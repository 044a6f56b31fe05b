//! How many requests a service has had, by its own statistics.

use crate::{Error, forget::http, service::Service, stand::Served};
use servers::{Postgres, Server};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

impl Served {
    /// All requests until now; this question itself counts for one or two. `None`: nobody is asked.
    pub fn requests(&self) -> Result<Option<u64>, Error> {
        match self {
            Served::Server(Service::Consul, server) => consul(server),
            Served::Server(Service::Kubernetes, server) => kubernetes(server),
            Served::Server(Service::Zookeeper, server) => zookeeper(server),
            Served::Server(Service::Redis, server) => redis(server),
            Served::Server(_, server) => etcd(server),
            Served::Several(servers) => servers.iter().map(|(server, _)| redis(server)).sum(),
            Served::Postgres(postgres) => transactions(postgres),
            Served::None => return Ok(None),
        }
        .map(Some)
    }
}

/// Messages of all gRPC methods: a lease is kept alive by messages on one stream.
fn etcd(server: &Server) -> Result<u64, Error> {
    sum(&http(server.address, "GET", "/metrics", "")?, |name| name.starts_with("grpc_server_msg_received_total{"))
}

/// HTTP requests that were answered; a watch is one each time it has waited long enough, or seen a change.
fn consul(server: &Server) -> Result<u64, Error> {
    let metrics = http(server.address, "GET", "/v1/agent/metrics?format=prometheus", "")?;
    sum(&metrics, |name| name.starts_with("consul_http_") && name.contains("_count"))
}

/// Requests for Leases.
fn kubernetes(server: &Server) -> Result<u64, Error> {
    let metrics = http(server.address, "GET", "/metrics", "")?;
    sum(&metrics, |name| name.starts_with("apiserver_request_total{") && name.contains("resource=\"leases\""))
}

/// Packets, pings included.
fn zookeeper(server: &Server) -> Result<u64, Error> {
    let mut stream = TcpStream::connect(server.address)?;
    stream.write_all(b"srvr")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let received = text.lines().find_map(|line| line.strip_prefix("Received: "));
    Ok(received.ok_or("ZooKeeper does not say how much it received")?.trim().parse()?)
}

/// The sum of the metrics with such names.
fn sum(text: &str, named: impl Fn(&str) -> bool) -> Result<u64, Error> {
    let values = text.lines().filter(|line| named(line)).filter_map(|line| line.rsplit_once(' '));
    values.map(|(_, value)| Ok(value.parse::<f64>()? as u64)).sum()
}

/// Commands from clients, and those within scripts.
fn redis(server: &Server) -> Result<u64, Error> {
    let text = info(server, "commandstats")?;
    let calls = text.lines().filter_map(|line| line.split_once("calls=")?.1.split(',').next());
    calls.map(|calls| Ok(calls.parse::<u64>()?)).sum()
}

fn info(server: &Server, section: &str) -> Result<String, Error> {
    let mut stream = BufReader::new(TcpStream::connect(server.address)?);
    stream.get_mut().write_all(format!("INFO {section}\r\n").as_bytes())?;
    let mut length = String::new();
    stream.read_line(&mut length)?;
    let mut bytes = vec![0; length.trim().trim_start_matches('$').parse()?];
    stream.read_exact(&mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}

fn transactions(postgres: &Postgres) -> Result<u64, Error> {
    let asked = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'";
    Ok(postgres.psql(asked)?.trim().parse()?)
}
