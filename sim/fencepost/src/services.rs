//! What a service finds in the world.

use protocols::{
    fence::checks::Fencing,
    service::{self, consul, kubernetes, postgres, redis, zookeeper},
};

/// A coordination service, served over its own wire protocol.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    pub(crate) service: &'static service::Service,
    pub(crate) members: Option<u16>,
}

impl Service {
    const fn of(service: &'static service::Service) -> Service {
        Service { service, members: None }
    }

    /// With so many members, named `etcd-1`, `etcd-2` and so on.
    pub const fn members(self, members: u16) -> Service {
        Service { members: Some(members), ..self }
    }
}

/// etcd at `etcd:2379`.
#[cfg(feature = "etcd")]
pub const fn etcd() -> Service {
    Service::of(&service::etcd::SERVICE)
}

/// Redis at `redis:6379`.
pub const fn redis() -> Service {
    Service::of(&redis::SERVICE)
}

/// PostgreSQL at `postgres:5432`.
pub const fn postgres() -> Service {
    Service::of(&postgres::SESSIONS)
}

/// ZooKeeper at `zookeeper:2181`.
pub const fn zookeeper() -> Service {
    Service::of(&zookeeper::SERVICE)
}

/// Consul at `consul:8500`.
pub const fn consul() -> Service {
    Service::of(&consul::SERVICE)
}

/// Kubernetes' API at `http://apiserver:6443`.
pub const fn kubernetes() -> Service {
    Service::of(&kubernetes::SERVICE)
}

/// The resource that the leader protects: a sequence at `http://store/sequence`, or a [`Database`].
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) fencing: Fencing,
    pub(crate) database: Option<Database>,
}

/// A store that refuses a token lower than one that it has accepted. Every write needs a `Fencing-Token`.
pub const fn store() -> Store {
    Store { fencing: Fencing::On, database: None }
}

impl Store {
    /// A store that accepts any write. A service without tokens needs it, and says when it leads:
    /// [`World::leads_when`](crate::World::leads_when).
    pub fn unfenced(self) -> Store {
        Store { fencing: Fencing::Off, ..self }
    }
}

/// A PostgreSQL database at `store:5432`, for any user and any database name, without a password and without TLS. Each row
/// of one table that a process commits, new or changed, is an effect of that process.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) table: String,
    pub(crate) token: Option<String>,
    pub(crate) schema: String,
}

/// A database whose table `table` is what the leader protects.
pub fn database(table: &str) -> Database {
    Database { table: table.to_owned(), token: None, schema: String::new() }
}

impl Database {
    /// The column with the fencing token under which a row was written. Tokens must never fall; the database itself does not
    /// compare them, the service's statements must. Without such a column, a service says when it leads:
    /// [`World::leads_when`](crate::World::leads_when).
    pub fn token(self, column: &str) -> Database {
        Database { token: Some(column.to_owned()), ..self }
    }

    /// Statements that are carried out before the service starts, such as its migrations.
    pub fn schema(self, statements: &str) -> Database {
        Database { schema: statements.to_owned(), ..self }
    }
}

impl From<Database> for Store {
    fn from(database: Database) -> Store {
        let fencing = if database.token.is_some() { Fencing::On } else { Fencing::Off };
        Store { fencing, database: Some(database) }
    }
}
