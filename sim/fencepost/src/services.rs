//! What a service finds in the world.

use fencepost_libc::main_of;
use fencepost_process::Main;
use protocols::{
    fence::checks::Fencing,
    service::{self, consul, kubernetes, postgres, redis, redis_servers, zookeeper},
};
use std::process::Termination;

/// A coordination service, served over its own wire protocol.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    pub(crate) service: &'static service::Service,
    pub(crate) members: Option<u16>,
    pub(crate) leader_key: Option<&'static str>,
}

impl Service {
    const fn of(service: &'static service::Service) -> Service {
        Service { service, members: None, leader_key: None }
    }

    /// With so many members, named `etcd-1`, `etcd-2` and so on.
    pub const fn members(self, members: u16) -> Service {
        Service { members: Some(members), ..self }
    }

    /// Whoever holds this leads, as the service sees it: a key of Redis; a key of etcd, or the oldest key below it; a node of
    /// ZooKeeper, or its first sequential child; a key of Consul that a session has locked; `namespace/name` of a Lease in
    /// Kubernetes; the number of an advisory lock in PostgreSQL. Its owner is the process that put it there, whatever its value.
    pub const fn leader_key(self, key: &'static str) -> Service {
        Service { leader_key: Some(key), ..self }
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

/// Five independent Redis servers, `redis-1:6379` to `redis-5:6379`; another number by [`Service::members`].
pub const fn redlock() -> Service {
    Service::of(&redis_servers::SERVICE)
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

/// No service: the processes elect one of them by a majority of their own, as Raft does.
pub const fn quorum() -> Service {
    Service::of(&service::raft::SERVICE)
}

/// The resource that the leader protects: a sequence at `http://store/sequence`, or a [`Database`].
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) fencing: Fencing,
    pub(crate) database: Option<Database>,
    pub(crate) own: Option<Own>,
}

/// A store that refuses a token lower than one that it has accepted. Every write needs a `Fencing-Token`.
pub const fn store() -> Store {
    Store { fencing: Fencing::On, database: None, own: None }
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

    /// Statements that are carried out before the service starts, such as its migrations, after those of an earlier call.
    pub fn schema(mut self, statements: &str) -> Database {
        // On a line of its own: the statements before may end in a comment.
        if !self.schema.is_empty() {
            self.schema.push_str("\n;\n");
        }
        self.schema.push_str(statements);
        self
    }
}

impl From<Database> for Store {
    fn from(database: Database) -> Store {
        let fencing = if database.token.is_some() { Fencing::On } else { Fencing::Off };
        Store { fencing, database: Some(database), own: None }
    }
}

/// A resource that is a program of one's own: it runs at `store`, and says in its lines what it has accepted.
#[derive(Clone, Debug)]
pub struct Own {
    pub(crate) main: Main,
    pub(crate) accepts_when: Vec<String>,
}

/// The resource is this program, a process at `store`. It has the same environment as the others, and `STATE_DIRECTORY`: a
/// folder on its disk, which is there from the beginning. A closure may not capture anything.
pub fn served_by<F, T>(main: F) -> Own
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    Own { main: main_of(main), accepts_when: Vec::new() }
}

impl Own {
    /// It has accepted a write when it prints a line with this part, which has `{node}`, `{token}` and `{seq}` in it:
    /// `accepted {seq} of {node} under {token}`. Print it once for each write, when the write can no longer be undone. Tokens
    /// must never fall, and numbers must rise.
    pub fn accepts_when(mut self, line: &str) -> Own {
        self.accepts_when.push(line.to_owned());
        self
    }
}

impl From<Own> for Store {
    fn from(own: Own) -> Store {
        // It promises to compare tokens, and is judged by that.
        Store { fencing: Fencing::On, database: None, own: Some(own) }
    }
}
