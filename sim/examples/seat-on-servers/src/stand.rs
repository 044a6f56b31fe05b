//! The servers: the service that seats stand on, and the database that leaders write to.

use crate::{
    Error,
    ledger::{Row, Write},
    service::Service,
};
use fencepost_seat::fence::postgres::MIGRATION;
use servers::{Access, Folder, Postgres, Server, Tls};
use std::net::SocketAddr;

/// In the order in which they are dropped: the folders last.
pub struct Stand {
    pub served: Served,
    pub database: Postgres,
    _folders: [Folder; 2],
}

pub enum Served {
    Etcd(Server),
    Redis(Server),
    Postgres(Postgres),
}

impl Served {
    /// An empty service; `None`, with a message, if it is not installed and need not be.
    pub fn start(service: Service, folder: &Folder) -> Option<Served> {
        let what = format!("the seat on {}", service.name());
        Some(match service {
            Service::Etcd => Served::Etcd(servers::etcd(folder, &what, Tls::Off)?),
            Service::Redis => Served::Redis(servers::redis(folder, &what, Tls::Off)?),
            Service::Postgres => Served::Postgres(servers::postgres(folder, &what, Access::Anybody)?),
        })
    }

    pub fn at(&self) -> SocketAddr {
        match self {
            Served::Etcd(server) | Served::Redis(server) => server.address,
            Served::Postgres(postgres) => postgres.server.address,
        }
    }

    /// Kills it and starts it again at the same address, with its data.
    pub fn restart(&mut self) {
        match self {
            Served::Etcd(server) | Served::Redis(server) => server.restart(),
            Served::Postgres(postgres) => postgres.restart(),
        }
    }
}

impl Stand {
    /// `None`, with a message, if a server is not installed and need not be.
    pub fn start(service: Service) -> Option<Stand> {
        Stand::with_database(service, Folder::new())
    }

    /// The same with the database's data in this folder.
    pub fn with_database(service: Service, folder: Folder) -> Option<Stand> {
        let other = Folder::new();
        let served = Served::start(service, &other)?;
        let database = servers::postgres(&folder, "the seat's fence", Access::Anybody)?;
        Some(Stand { served, database, _folders: [other, folder] })
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
