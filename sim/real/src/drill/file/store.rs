//! What the leader writes to, as the file says.

use super::{
    raw::{RawHttp, RawOwn, RawPostgres, RawRedis, Several},
    service::{Server, Wrong, address},
};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// A store that runs, and whose protocol the drill does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub address: SocketAddr,
    /// Bytes that a member sends there and that have this text are a write.
    pub write: String,
}

/// What the leader writes to, and how it is known what was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Store {
    /// A table, by a trigger.
    Postgres {
        /// Of a running server, which is never killed.
        address: Option<SocketAddr>,
        table: String,
        /// SQL that makes the table.
        schema: Option<PathBuf>,
    },
    /// Keys that begin with this, by `MONITOR`.
    Redis { address: Option<SocketAddr>, prefix: String },
    /// A store of the drill's own, by HTTP: `POST /resource?token=7`.
    Http { fence: bool },
    /// One that the drill does not know: each member's log says what it has accepted and refused.
    Own {
        accepted: Vec<String>,
        refused: Vec<String>,
        /// `None` if it is each member's own, say its database.
        link: Option<Link>,
    },
}

impl Store {
    /// The server that it is kept in; `None` for the drill's own.
    pub const fn server(&self) -> Option<Server> {
        match self {
            Store::Postgres { .. } => Some(Server::Postgres),
            Store::Redis { .. } => Some(Server::Redis),
            Store::Http { .. } | Store::Own { .. } => None,
        }
    }

    /// Its name in braces.
    pub const fn name(&self) -> &'static str {
        match self.server() {
            Some(server) => server.name(),
            None if matches!(self, Store::Own { .. }) => "log",
            None => "http",
        }
    }

    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Store::Postgres { address, .. } | Store::Redis { address, .. } => *address,
            Store::Own { link, .. } => link.as_ref().map(|link| link.address),
            Store::Http { .. } => None,
        }
    }

    /// Whether it is each member's own: then no link to it is the drill's.
    pub const fn is_a_member_s_own(&self) -> bool {
        matches!(self, Store::Own { link: None, .. })
    }

    /// What the leader's writes go to.
    pub fn resource(&self) -> &str {
        match self {
            Store::Postgres { table, .. } => table,
            Store::Redis { prefix, .. } => prefix,
            Store::Http { .. } | Store::Own { .. } => "store",
        }
    }
}

/// Reads it.
pub fn read(raw: BTreeMap<String, toml::Value>, folder: &Path) -> Result<Store, Wrong> {
    let mut all = raw.into_iter();
    let (Some((name, value)), None) = (all.next(), all.next()) else {
        return Err(Wrong("`[store]` has one of `postgres`, `redis`, `http` and `log`".to_owned()));
    };
    let wrong = |e: toml::de::Error| Wrong(format!("`[store] {name}`: {}", e.message()));
    Ok(match name.as_str() {
        "postgres" => {
            let RawPostgres { audit, schema, address: at } = value.try_into().map_err(wrong)?;
            let schema = schema.map(|file| folder.join(file));
            Store::Postgres { address: address(at)?, table: audit, schema }
        }
        "redis" => {
            let RawRedis { audit, address: at } = value.try_into().map_err(wrong)?;
            if audit.is_empty() {
                return Err(Wrong("`[store] redis`: `audit` is how the leader's keys begin".to_owned()));
            }
            Store::Redis { address: address(at)?, prefix: audit }
        }
        "http" => {
            let RawHttp { fence } = value.try_into().map_err(wrong)?;
            Store::Http { fence }
        }
        "log" => own(value.try_into().map_err(wrong)?).map_err(|why| Wrong(format!("`[store] log`: {why}")))?,
        other => {
            return Err(Wrong(format!("there is no store `{other}`; there are postgres, redis, http and log")));
        }
    })
}

fn own(raw: RawOwn) -> Result<Store, Wrong> {
    let wrong = |why: &str| Err(Wrong(why.to_owned()));
    let (accepted, refused) = (Several::all(Some(raw.accepted)), Several::all(raw.refused));
    if accepted.is_empty() {
        return wrong("`accepted` is what a member says once a write has taken effect");
    }
    let link = match (address(raw.address)?, raw.write) {
        (None, None) => None,
        (Some(_), Some(write)) if write.is_empty() => return wrong("`write` is empty"),
        (Some(address), Some(write)) => Some(Link { address, write }),
        (Some(_), None) => {
            return wrong("`address` needs `write`, text that is in each write that a member sends there");
        }
        (None, Some(_)) => return wrong("`write` needs `address`, where members send their writes"),
    };
    Ok(Store::Own { accepted, refused, link })
}
