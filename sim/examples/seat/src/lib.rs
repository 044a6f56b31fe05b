//! The invoices of `sim/examples/invoices`, charged by whoever has the seat.

use fencepost_seat::{
    Backend, Consul, Etcd, Fenced, FencedSql, Kubernetes, Lead, Postgres, PostgresLock, Raft, Redis, Redlock, Seat,
    Unfenced, Zookeeper,
};
use std::{env, future::pending, time::Duration};
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, GenericClient, NoTls};

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A leader that cannot charge within this time shall not lead.
const PATIENCE: Duration = Duration::from_secs(3);
/// The bank takes four charges a second, unless it is slower.
const PACE_MS: u64 = 250;

const OPEN: &str = "SELECT id, amount FROM invoices WHERE NOT charged ORDER BY id LIMIT 1";
const CHARGE: &str = "INSERT INTO charges (invoice, amount, token) VALUES ($1, $2, $3)";
const CLOSE: &str = "UPDATE invoices SET charged = true WHERE id = $1";

/// The service itself.
#[tokio::main]
pub async fn main() -> Result<(), Error> {
    run(Etcd::connect([env::var("ETCD_URL")?])?).await
}

#[tokio::main]
pub async fn on_etcd() -> Result<(), Error> {
    run(Etcd::connect(["http://etcd:2379"])?).await
}

#[tokio::main]
pub async fn on_redis() -> Result<(), Error> {
    run(Redis::connect("redis://redis:6379")?).await
}

#[tokio::main]
pub async fn on_kubernetes() -> Result<(), Error> {
    let config = kube::Config::new("http://apiserver:6443".parse()?);
    run(Kubernetes::new(kube::Client::try_from(config)?, "default")).await
}

#[tokio::main]
pub async fn on_consul() -> Result<(), Error> {
    run(Consul::connect("http://consul:8500")?).await
}

#[tokio::main]
pub async fn on_postgres() -> Result<(), Error> {
    run(Postgres::connect("postgres://invoices@postgres/invoices")?).await
}

#[tokio::main]
pub async fn on_zookeeper() -> Result<(), Error> {
    run(Zookeeper::connect("zookeeper:2181")?).await
}

/// No service: the three elect one of them.
#[tokio::main]
pub async fn among_themselves() -> Result<(), Error> {
    let members = ["n1", "n2", "n3"].map(|name| (name, format!("{name}:7000")));
    run(Raft::in_clear(members, "raft")?).await
}

#[tokio::main]
pub async fn on_postgres_lock() -> Result<(), Error> {
    run_unfenced(PostgresLock::connect("postgres://invoices@postgres/invoices")?).await
}

#[tokio::main]
pub async fn on_redlock() -> Result<(), Error> {
    run_unfenced(Redlock::connect((1..=5).map(|server| format!("redis://redis-{server}:6379")))?).await
}

pub async fn run(backend: impl Backend<Fencing = Fenced>) -> Result<(), Error> {
    let name = env::var("HOSTNAME")?;
    tokio::spawn(invoices::api::serve());
    let seat = Seat::new(backend, "invoices").ttl(Duration::from_secs(3)).member(&name)?;
    seat.serve_until(pending(), async |lead| {
        println!("{name}: leads with token {}", lead.token());
        let _told = Tells(&name);
        charge_all(&name, lead).await
    })
    .await;
    // A part of the work may still be running: the supervisor starts another process.
    Err("the work did not stop".into())
}

/// The same without tokens, to show what they are for: what this charges may be charged twice.
pub async fn run_unfenced(backend: impl Backend<Fencing = Unfenced>) -> Result<(), Error> {
    let name = env::var("HOSTNAME")?;
    tokio::spawn(invoices::api::serve());
    let seat = Seat::new(backend, "invoices").ttl(Duration::from_secs(3)).member(&name)?;
    seat.serve_until(pending(), async |lead| {
        println!("{name}: leads by a lock");
        let _told = Tells(&name);
        charge_all_unfenced(&name, lead).await
    })
    .await;
    Err("the work did not stop".into())
}

async fn connect() -> Result<(Client, impl Future<Output = Result<(), tokio_postgres::Error>>), Error> {
    Ok(timeout(PATIENCE, tokio_postgres::connect(&env::var("DATABASE_URL")?, NoTls)).await??)
}

fn pace() -> Result<Duration, Error> {
    Ok(Duration::from_millis(env::var("PACE_MS").map_or(Ok(PACE_MS), |pace| pace.parse())?))
}

pub async fn charge_all(name: &str, lead: &Lead<Fenced>) -> Result<(), Error> {
    let (mut database, connection) = connect().await?;
    lead.spawn(connection);
    let pace = pace()?;
    loop {
        let token = i64::try_from(lead.token())?;
        let charging = database.fenced(lead, "charges", async |sql| next(sql, token).await);
        if let Some(invoice) = timeout(PATIENCE, charging).await?? {
            println!("{name}: charged invoice {invoice}");
        }
        sleep(pace).await;
    }
}

async fn charge_all_unfenced(name: &str, lead: &Lead<Unfenced>) -> Result<(), Error> {
    let (database, connection) = connect().await?;
    lead.spawn(connection);
    let pace = pace()?;
    loop {
        // Straight to the tables: there is no token to show.
        if let Some(invoice) = timeout(PATIENCE, next(&database, 0)).await?? {
            println!("{name}: charged invoice {invoice}");
        }
        sleep(pace).await;
    }
}

/// Charges the next open invoice, if there is one, and returns its number.
async fn next(sql: &impl GenericClient, token: i64) -> Result<Option<i64>, tokio_postgres::Error> {
    let Some(row) = sql.query_opt(OPEN, &[]).await? else { return Ok(None) };
    let (invoice, amount): (i64, i64) = (row.get(0), row.get(1));
    sql.execute(CHARGE, &[&invoice, &amount, &token]).await?;
    sql.execute(CLOSE, &[&invoice]).await?;
    Ok(Some(invoice))
}

/// Says that it leads no more, however the work ends.
pub struct Tells<'a>(pub &'a str);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        println!("{}: leads no more", self.0);
    }
}
