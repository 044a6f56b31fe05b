//! The servers: the service that seats stand on, and the database that leaders write to.

use crate::{
    Error,
    forget::http,
    ledger::{Row, Write},
    service::Service,
};
use fencepost_seat::fence::postgres::MIGRATION;
use servers::{Access, Folder, Postgres, Server, Tls};
use std::net::SocketAddr;

/// How many independent servers Redlock has.
const SERVERS: usize = 5;
/// A value that etcd takes, in characters of Base64, and how many of them fill its log.
const LARGE: usize = 1 << 20;
const CROWD: usize = 100;

/// In the order in which they are dropped: the folders last.
pub struct Stand {
    pub served: Served,
    pub database: Postgres,
    _folders: [Folder; 2],
}

pub enum Served {
    Server(Service, Server),
    /// Of Redis, with their folders.
    Several(Vec<(Server, Folder)>),
    Postgres(Postgres),
    /// The members need none.
    None,
}

impl Served {
    /// An empty service; `None`, with a message, if it is not installed and need not be.
    pub fn start(service: Service, folder: &Folder) -> Option<Served> {
        let what = format!("the seat on {}", service.name());
        let one = |server| Served::Server(service, server);
        Some(match service {
            Service::Consul => one(servers::consul(folder, &what)?),
            Service::Etcd => one(servers::etcd(folder, &what, Tls::Off)?),
            Service::Kubernetes => one(servers::kubernetes(folder, &what)?),
            Service::Redis => one(servers::redis(folder, &what, Tls::Off)?),
            Service::Zookeeper => one(servers::zookeeper(folder, &what)?),
            Service::Postgres | Service::PostgresLock => {
                Served::Postgres(servers::postgres(folder, &what, Access::Anybody)?)
            }
            Service::Redlock => {
                let start = |folder: Folder| Some((servers::redis(&folder, &what, Tls::Off)?, folder));
                Served::Several((0..SERVERS).map(|_| start(Folder::new())).collect::<Option<_>>()?)
            }
            Service::Raft => Served::None,
        })
    }

    pub fn at(&self) -> Vec<SocketAddr> {
        match self {
            Served::Server(_, server) => vec![server.address],
            Served::Several(servers) => servers.iter().map(|(server, _)| server.address).collect(),
            Served::Postgres(postgres) => vec![postgres.server.address],
            Served::None => Vec::new(),
        }
    }

    /// Kills it and starts it again at the same address, with its data.
    pub fn restart(&mut self) {
        match self {
            Served::Server(_, server) => server.restart(),
            Served::Several(servers) => {
                // All are gone at once.
                servers.iter_mut().for_each(|(server, _)| server.process.kill());
                servers.iter_mut().for_each(|(server, _)| server.restart());
            }
            Served::Postgres(postgres) => postgres.restart(),
            Served::None => {}
        }
    }

    /// Writes to it as others do, until it takes no more: what seats write may fit into what it has reserved.
    pub fn crowd(&self) {
        match self {
            // Its log goes on in a new segment.
            Served::Postgres(postgres) => drop(postgres.psql("SELECT pg_switch_wal()")),
            Served::Server(Service::Etcd, server) => {
                let body = format!(r#"{{"key": "b3RoZXJz", "value": "{}"}}"#, "A".repeat(LARGE));
                let put = || http(server.address, "POST", "/v3/kv/put", &body);
                // More than its log and its data have room for.
                for _ in 0..CROWD {
                    if !put().is_ok_and(|answer| answer.contains(" 200 ")) {
                        break;
                    }
                }
            }
            Served::Server(..) | Served::Several(_) | Served::None => {}
        }
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        match self {
            Served::Server(_, server) => server.process.has_ended(),
            Served::Several(servers) => servers.iter_mut().any(|(server, _)| server.process.has_ended()),
            Served::Postgres(postgres) => postgres.server.process.has_ended(),
            Served::None => false,
        }
    }
}

impl Stand {
    /// `None`, with a message, if a server is not installed and need not be.
    pub fn start(service: Service) -> Option<Stand> {
        Stand::within(service, [Folder::new(), Folder::new()])
    }

    /// The same with the service's data in the first of these folders, and the database's in the second.
    pub fn within(service: Service, folders: [Folder; 2]) -> Option<Stand> {
        let served = Served::start(service, &folders[0])?;
        let database = servers::postgres(&folders[1], "the seat's fence", Access::Anybody)?;
        Some(Stand { served, database, _folders: folders })
    }

    /// Creates the tables, with a row for each of these seats.
    pub fn prepare(&self, seats: &[String]) -> Result<(), Error> {
        let places: String = seats.iter().map(|seat| format!("INSERT INTO places VALUES ('{seat}', 0);")).collect();
        self.database.psql(&[MIGRATION, include_str!("../schema.sql"), &places].concat())?;
        Ok(())
    }

    /// Everything that has been written.
    pub fn rows(&self) -> Result<Vec<Row>, Error> {
        let text = self.database.psql("SELECT seat, place, request, token, member FROM written")?;
        text.lines().map(row).collect()
    }
}

fn row(line: &str) -> Result<Row, Error> {
    let [seat, place, request, token, member] = line.split('|').collect::<Vec<_>>()[..] else {
        return Err(format!("no row of the table: {line}").into());
    };
    let write = Write { request: request.parse()?, token: token.parse()?, member: member.to_owned() };
    Ok(Row { seat: seat.to_owned(), place: place.parse()?, write })
}
