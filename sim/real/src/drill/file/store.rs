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
    /// Each member's own, say its database: a line of its log says that a write has taken effect there.
    Own { accepted: Vec<String> },
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

    pub const fn address(&self) -> Option<SocketAddr> {
        match self {
            Store::Postgres { address, .. } | Store::Redis { address, .. } => *address,
            Store::Http { .. } | Store::Own { .. } => None,
        }
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
        "log" => {
            let RawOwn { accepted } = value.try_into().map_err(wrong)?;
            let accepted = Several::all(Some(accepted));
            if accepted.is_empty() {
                let why = "`[store] log`: `accepted` is what a member says once a write has taken effect";
                return Err(Wrong(why.to_owned()));
            }
            Store::Own { accepted }
        }
        other => {
            return Err(Wrong(format!("there is no store `{other}`; there are postgres, redis, http and log")));
        }
    })
}
