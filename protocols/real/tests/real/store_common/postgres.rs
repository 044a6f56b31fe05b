//! The tests' own PostgreSQL, in a temporary folder on a free port.

use protocols_real::store::postgres::PostgresSettings;
use servers::{Access, Folder, Postgres};
use std::sync::atomic::{AtomicU64, Ordering};

/// A running server and its data folder.
pub struct Server {
    postgres: Postgres,
    _folder: Folder,
}

/// Starts a server that trusts everybody and supports TLS; prints a note and returns `None` where PostgreSQL is neither
/// installed nor required.
pub fn start() -> Option<Server> {
    let folder = Folder::new();
    let (certificate, key) = (super::testdata("cert.pem"), super::testdata("key.pem"));
    let access = Access::Trust { certificate: &certificate, key: &key };
    let postgres = servers::postgres(&folder, "the store on PostgreSQL", access)?;
    Some(Server { postgres, _folder: folder })
}

impl Server {
    /// A fresh database.
    pub async fn database(&self) -> PostgresSettings {
        PostgresSettings::new(&self.url(&self.database_name().await), None, None).unwrap()
    }

    pub async fn database_name(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("store{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("create database {name}")).await;
        name
    }

    pub fn url(&self, database: &str) -> String {
        self.postgres.database(database)
    }

    /// The first column of every row.
    pub async fn sql(&self, database: &str, text: &str) -> Vec<String> {
        let (client, connection) = tokio_postgres::connect(&self.url(database), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let rows = client.simple_query(text).await.unwrap();
        let cell = |message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
            _ => None,
        };
        rows.into_iter().filter_map(cell).collect()
    }
}
