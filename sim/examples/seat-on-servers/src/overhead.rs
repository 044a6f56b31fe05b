//! A fenced transaction beside a plain one, on the same database, in turn.

use crate::{
    Error,
    table::{grouped, quantile},
};
use fencepost_seat::{FencedSql, Lead, Postgres, Seat, fence::postgres::MIGRATION};
use servers::{Access, Folder, Process, SOON, free_address, own_postgres};
use std::{
    env, fs,
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::{runtime::Builder, task::JoinSet, time::sleep};
use tokio_postgres::{Client, NoTls, Statement};

/// Transactions of each kind by a single writer.
const TRANSACTIONS: usize = 5_000;
/// The first ones, which are not counted.
const WARM: usize = 500;
/// How many writers there are at once, and for how long.
const WRITERS: usize = 8;
const LASTS: Duration = Duration::from_secs(5);

const INSERT: &str = "INSERT INTO measured (number) VALUES ($1)";

/// What the transactions go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    /// All writers write to one resource.
    OneResource,
    /// Each has its own.
    OwnResources,
}

pub fn run() -> Result<(), Error> {
    println!("| database | writers | transactions | p50 | p99 | a second |");
    println!("|---|---|---|---|---|---|");
    let folder = Folder::new();
    if let Some(postgres) = servers::postgres(&folder, "the overhead of the fence", Access::Anybody) {
        measure("in memory, no sync", postgres.server.address)?;
        measure("on disk, synced", Durable::start()?.address)?;
    }
    Ok(())
}

/// A PostgreSQL with its usual settings, and its data on the disk of temporary files.
struct Durable {
    process: Process,
    folder: PathBuf,
    address: SocketAddr,
}

impl Durable {
    fn start() -> Result<Durable, Error> {
        let folder = env::temp_dir().join(format!("fencepost-overhead-{}", std::process::id()));
        let data = folder.join("data");
        fs::create_dir_all(&data)?;
        let address = free_address();
        let (program, arguments) = own_postgres(address, &data, "store")?;
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        let mut process = Process::start(command, &folder.join("log"));
        if !process.listens(address) {
            return Err(format!("PostgreSQL does not start: {}", process.log()).into());
        }
        Ok(Durable { process, folder, address })
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        // A fast shutdown, which ends its child processes, too.
        self.process.signal("INT");
        self.process.wait(SOON);
        // At worst, a temporary folder is left behind.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn measure(database: &'static str, at: SocketAddr) -> Result<(), Error> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        let url = format!("postgres://store@{at}/postgres");
        let seat = Seat::new(Postgres::connect(&url)?, "overhead").member("m")?;
        let ended = seat.serve(async |lead| measured(database, lead, &url).await).await?;
        println!("<!-- {database}: {ended} -->");
        Ok(())
    })
}

async fn measured(database: &str, lead: &Lead, url: &str) -> Result<(), Error> {
    let mut first = connected(url).await?;
    let tables = "CREATE TABLE measured (id bigserial PRIMARY KEY, number bigint NOT NULL)";
    first.batch_execute(&[MIGRATION, tables].concat()).await?;
    let insert = first.prepare(INSERT).await?;
    let mut taken = [Vec::new(), Vec::new()];
    for number in 0..WARM + TRANSACTIONS {
        for (place, kind) in [Kind::Plain, Kind::OneResource].into_iter().enumerate() {
            let began = Instant::now();
            write(&mut first, kind, lead, "measured", (&insert, number as i64)).await?;
            if number >= WARM {
                taken[place].push(began.elapsed());
            }
        }
    }
    let [plain, fenced] = taken;
    row(database, 1, "plain", plain, None);
    row(database, 1, "fenced", fenced, None);
    for (kind, name) in [
        (Kind::Plain, "plain"),
        (Kind::OneResource, "fenced, of one resource"),
        (Kind::OwnResources, "fenced, a resource each"),
    ] {
        let taken = together(kind, lead, url).await?;
        let rate = taken.len() as f64 / LASTS.as_secs_f64();
        row(database, WRITERS, name, taken, Some(rate));
    }
    Ok(())
}

/// Several writers, each as fast as it can.
async fn together(kind: Kind, lead: &Lead, url: &str) -> Result<Vec<Duration>, Error> {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (lead, url) = (lead.clone(), url.to_owned());
        writers.spawn(async move {
            let mut client = connected(&url).await?;
            let insert = client.prepare(INSERT).await?;
            let resource =
                if kind == Kind::OwnResources { format!("measured-{writer}") } else { "measured".to_owned() };
            let (mut taken, started) = (Vec::new(), Instant::now());
            while started.elapsed() < LASTS {
                let began = Instant::now();
                write(&mut client, kind, &lead, &resource, (&insert, writer as i64)).await?;
                taken.push(began.elapsed());
            }
            Ok::<_, Error>(taken)
        });
    }
    let mut all = Vec::new();
    while let Some(taken) = writers.join_next().await {
        all.extend(taken??);
    }
    Ok(all)
}

async fn write(
    client: &mut Client,
    kind: Kind,
    lead: &Lead,
    resource: &str,
    (insert, number): (&Statement, i64),
) -> Result<(), Error> {
    if kind != Kind::Plain {
        client.fenced(lead, resource, async |sql| sql.execute(insert, &[&number]).await).await?;
        return Ok(());
    }
    let transaction = client.transaction().await?;
    transaction.execute(insert, &[&number]).await?;
    transaction.commit().await?;
    Ok(())
}

/// A server that has just been started may listen before it lets anybody in.
async fn connected(url: &str) -> Result<Client, Error> {
    let mut tried = 0;
    loop {
        match tokio_postgres::connect(url, NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                return Ok(client);
            }
            Err(error) if tried == 100 => return Err(error.into()),
            Err(_) => tried += 1,
        }
        sleep(Duration::from_millis(50)).await;
    }
}

fn row(database: &str, writers: usize, name: &str, mut taken: Vec<Duration>, rate: Option<f64>) {
    let [half, most] = [0.5, 0.99].map(|share| 1_000.0 * quantile(&mut taken, share).as_secs_f64());
    let rate = rate.map_or_else(String::new, |rate| grouped(rate as usize));
    println!("| {database} | {writers} | {name} | {half:.2} ms | {most:.2} ms | {rate} |");
}
