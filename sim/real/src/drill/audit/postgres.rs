//! A table of a PostgreSQL database, by a trigger that runs when a transaction commits and holds a lock until it has
//! ended: its rows are in the order of the commits.

use super::{Row, Told, on_machine_clock, since_1970};
use crate::{drill::file::Store, error::Failed};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    sync::mpsc::UnboundedSender,
    time::{Instant, sleep},
};
use tokio_postgres::{Client, Config, NoTls};

/// The superuser of a database that a drill starts.
pub const USER: &str = "postgres";
/// How often the audit is read.
const EVERY: Duration = Duration::from_millis(10);
/// How long the server may take to let somebody in.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// Who writes is known by the connection, since the table need not say it.
const AUDIT: &str = "
CREATE SCHEMA IF NOT EXISTS fencepost_drill;
CREATE TABLE IF NOT EXISTS fencepost_drill.audit (n bigserial PRIMARY KEY, at timestamptz NOT NULL, port int);
TRUNCATE fencepost_drill.audit RESTART IDENTITY;
CREATE OR REPLACE FUNCTION fencepost_drill.audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('fencepost_drill.audit'));
  INSERT INTO fencepost_drill.audit (at, port) VALUES (clock_timestamp(), inet_client_port());
  RETURN NULL;
END $$;
";

/// The audit of a table.
pub struct Audit {
    client: Client,
}

impl Audit {
    /// Makes the table, if the file says how, and its trigger.
    ///
    /// # Errors
    /// The server lets nobody in, or refuses a statement.
    pub async fn start(address: SocketAddr, store: &Store) -> Result<Audit, Failed> {
        let Store::Postgres { table, schema, .. } = store else {
            return Err(Failed::Harness("the store is no PostgreSQL".to_owned()));
        };
        let client = let_in(address).await?;
        if let Some(file) = schema {
            let sql = std::fs::read_to_string(file);
            let sql = sql.map_err(|e| Failed::Unplayable(format!("cannot read {}: {e}", file.display())))?;
            let wrong = |e: tokio_postgres::Error| Failed::Unplayable(format!("{}: {}", file.display(), said(&e)));
            client.batch_execute(&sql).await.map_err(wrong)?;
        }
        let failed = |e: tokio_postgres::Error| Failed::Cannot { what: "make the audit".to_owned(), why: said(&e) };
        client.batch_execute(AUDIT).await.map_err(failed)?;
        let there = client.prepare(&format!("SELECT FROM {table}")).await;
        there.map_err(|e| {
            Failed::Unplayable(format!("the table `{table}`: {}; `schema` is a file of SQL that makes it", said(&e)))
        })?;
        // TRUNCATE has no constraint trigger; it locks everybody else out until its transaction has ended.
        let trigger = format!(
            "DROP TRIGGER IF EXISTS fencepost_drill ON {table};
             CREATE CONSTRAINT TRIGGER fencepost_drill AFTER INSERT OR UPDATE OR DELETE ON {table}
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fencepost_drill.audit();
             DROP TRIGGER IF EXISTS fencepost_drill_truncate ON {table};
             CREATE TRIGGER fencepost_drill_truncate AFTER TRUNCATE ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION fencepost_drill.audit()"
        );
        client.batch_execute(&trigger).await.map_err(failed)?;
        Ok(Audit { client })
    }

    /// Passes rows on, until nobody listens.
    ///
    /// # Errors
    /// The server is gone.
    pub async fn watch(self, rows: UnboundedSender<Told>) -> Result<(), Failed> {
        let (mut last, since_1970) = (0i64, since_1970());
        let query = "SELECT n, (extract(epoch FROM at) * 1000000)::bigint, port FROM fencepost_drill.audit WHERE n > $1 \
                     ORDER BY n";
        let lost = |e: tokio_postgres::Error| Failed::Cannot { what: "read the audit".to_owned(), why: said(&e) };
        let query = self.client.prepare(query).await.map_err(lost)?;
        loop {
            for row in self.client.query(&query, &[&last]).await.map_err(lost)? {
                last = row.get(0);
                let port: Option<i32> = row.get(2);
                let row = Row {
                    t_us: on_machine_clock(row.get(1), since_1970),
                    port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0),
                    accepted: true,
                };
                if rows.send(Told::Row(row)).is_err() {
                    return Ok(());
                }
            }
            sleep(EVERY).await;
        }
    }
}

/// Waits until the server has recovered, and logs in.
async fn let_in(address: SocketAddr) -> Result<Client, Failed> {
    let mut config = Config::new();
    config.host(address.ip().to_string()).port(address.port()).user(USER).dbname("postgres");
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    let since = Instant::now();
    loop {
        match config.connect(NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                return Ok(client);
            }
            Err(why) if since.elapsed() > READY_WITHIN => {
                return Err(Failed::Cannot { what: format!("log in to {address}"), why: said(&why) });
            }
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The server's message, if it is the server that complains.
fn said(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned())
}
