//! The process of one member.

use crate::{
    Error,
    args::{Part, Work},
    backends::{self, Act, Ordered},
    service::Service,
    told::Told,
};
use fencepost_seat::{Backend, FencedSql, Lead, Seat, Watch};
use std::{future::pending, io::Read, process, thread, time::Duration};
use tokio::{
    runtime::{Builder, Handle},
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_postgres::{Client, NoTls, Statement, Transaction};

/// How long the work itself takes between reading what is to be done and writing it.
const THOUGHT: Duration = Duration::from_millis(2);

const NEXT: &str = "SELECT coalesce(max(request), 0) + 1 FROM written WHERE seat = $1";
const WRITE: &str = "WITH taken AS (UPDATE places SET place = place + 1 WHERE seat = $1 RETURNING place) \
                     INSERT INTO written (seat, place, request, token, member) SELECT $1, place, $2, $3, $4 FROM taken";

pub fn run(args: &[String]) -> Result<(), Error> {
    let part = Part::from_args(args)?;
    end_with_the_parent();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(backends::act(part.service, &part.service_at, (&part.name, &part.folder), Member(part.clone())))
}

/// The pipe closes when the process that started this one ends, however it does.
pub fn end_with_the_parent() {
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
}

struct Member(Part);

impl Act for Member {
    async fn on<B: Backend<Fencing: Ordered>>(self, backend: B) -> Result<(), Error> {
        let Member(part) = self;
        // A member of Raft has one name in all its lives.
        let name =
            if part.service == Service::Raft { part.name.split('.').next().unwrap_or_default() } else { &part.name };
        let seat = Seat::new(backend, &part.seat).ttl(part.lease).member(name)?;
        tokio::spawn(say_what_fails(seat.watch()));
        let ended = seat.serve_until(pending(), async |lead| {
            let token = Ordered::number(lead)?;
            Told::Leads { token }.say();
            let _told = SaysTheEnd(lead.clone());
            let (part, of_thread, runtime) = (part.clone(), lead.clone(), Handle::current());
            match part.work {
                Work::None => pending().await,
                Work::Closure => write_all(&part, lead, token).await,
                Work::Thread => {
                    let thread = lead.spawn_blocking(move || runtime.block_on(write_all(&part, &of_thread, token)));
                    thread.await?.unwrap_or(Ok(()))
                }
            }
        });
        // Something of the work may still be running: another process takes its place.
        Err(format!("{}", ended.await).into())
    }
}

async fn say_what_fails(mut watch: Watch) {
    let mut said = None;
    loop {
        let failing = watch.changed().await.failing;
        if failing != said {
            Told::Failing(failing.clone().unwrap_or_default()).say();
            said = failing;
        }
    }
}

struct SaysTheEnd<F: Ordered>(Lead<F>);

impl<F: Ordered> Drop for SaysTheEnd<F> {
    fn drop(&mut self) {
        Told::LeadsNoMore { why: self.0.check().err() }.say();
    }
}

/// A leader whose database does not answer for longer shall not lead. A paused leader's transaction keeps its successor
/// waiting for one lease, and another second is for the database.
fn patience(part: &Part) -> Duration {
    part.lease + Duration::from_secs(1)
}

async fn write_all<F: Ordered>(part: &Part, lead: &Lead<F>, token: u64) -> Result<(), Error> {
    let url = format!("postgres://store@{}/postgres", part.database_at);
    let (mut database, connection) = timeout(patience(part), tokio_postgres::connect(&url, NoTls)).await??;
    match part.work {
        Work::Thread => drop(tokio::spawn(connection)),
        Work::Closure | Work::None => drop(lead.spawn(connection)),
    }
    let prepared = async { tokio::try_join!(database.prepare(NEXT), database.prepare(WRITE)) };
    let (next, write) = timeout(patience(part), prepared).await??;
    let step = Step { part, token: i64::try_from(token)?, next, write };
    let mut turn = interval(part.pace);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turn.tick().await;
        lead.check()?;
        let request = timeout(patience(part), step.write(&mut database, lead)).await??;
        Told::Wrote { token, request }.say();
    }
}

/// What each write is made of.
struct Step<'a> {
    part: &'a Part,
    token: i64,
    next: Statement,
    write: Statement,
}

impl Step<'_> {
    /// Does the next request, and returns its number once the database has acknowledged it.
    async fn write<F: Ordered>(&self, database: &mut Client, lead: &Lead<F>) -> Result<i64, Error> {
        if self.part.fenced
            && let Some(lead) = F::fenced(lead)
        {
            return Ok(database.fenced(lead, &self.part.seat, async |sql| self.within(sql).await).await?);
        }
        let transaction = database.transaction().await?;
        let request = self.within(&transaction).await?;
        transaction.commit().await?;
        Ok(request)
    }

    async fn within(&self, sql: &Transaction<'_>) -> Result<i64, tokio_postgres::Error> {
        let Part { seat, name, .. } = self.part;
        let request: i64 = sql.query_one(&self.next, &[seat]).await?.get(0);
        sleep(THOUGHT).await;
        sql.execute(&self.write, &[seat, &request, &self.token, name]).await?;
        Ok(request)
    }
}
