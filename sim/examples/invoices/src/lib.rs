//! Charges invoices. Every process takes them over HTTP; the one that leads charges them, one after another.

pub mod api;
mod charge;
mod election;

use etcd_client::Client;
use std::{env, time::Duration};
use tokio::time::{sleep, timeout};
use tokio_postgres::NoTls;

pub use tokio_postgres::Client as Database;

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// For a connection.
const PATIENCE: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_millis(500);
/// The bank takes four charges a second.
const PACE: Duration = Duration::from_millis(250);

pub fn main() -> Result<(), Error> {
    run(charge::next)
}

/// Runs a process that charges invoices with `charge`.
#[tokio::main]
pub async fn run(charge: impl AsyncFn(&mut Database, i64) -> Result<Option<i64>, Error>) -> Result<(), Error> {
    let (name, etcd) = (env::var("HOSTNAME")?, env::var("ETCD_URL")?);
    tokio::spawn(api::serve());
    loop {
        if let Err(why) = lead(&name, &etcd, &charge).await {
            println!("{name}: {why}");
        }
        sleep(RETRY).await;
    }
}

/// Charges invoices while this process leads. A leader that cannot reach the database lets its lease run out.
async fn lead(
    name: &str,
    etcd: &str,
    charge: &impl AsyncFn(&mut Database, i64) -> Result<Option<i64>, Error>,
) -> Result<(), Error> {
    let mut etcd = timeout(PATIENCE, Client::connect([etcd], None)).await??;
    let mut database = database().await?;
    let Some(leadership) = election::win(&mut etcd, name).await? else { return Ok(()) };
    println!("{name}: leads with token {}", leadership.token);
    while leadership.holds() {
        if let Some(invoice) = charge(&mut database, leadership.token).await? {
            println!("{name}: charged invoice {invoice}");
        }
        sleep(PACE).await;
    }
    println!("{name}: leads no more");
    Ok(())
}

async fn database() -> Result<Database, Error> {
    let url = env::var("DATABASE_URL")?;
    let (client, connection) = timeout(PATIENCE, tokio_postgres::connect(&url, NoTls)).await??;
    tokio::spawn(connection);
    Ok(client)
}
