//! A thousand seats in one process, with one leader each.

use crate::{
    Error, Service,
    args::{addresses, listed},
    backends::{self, Act, Ordered},
    ending,
    member::end_with_the_parent,
    process::{Competitor, Event},
    stand::Served,
};
use fencepost_seat::{Backend, Seat};
use servers::Folder;
use std::{
    fs,
    future::pending,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};
use tokio::{runtime::Builder, sync::mpsc};

const SEATS: usize = 1_000;
/// PostgreSQL lets in a hundred, three of them superusers; each lock has a session of its own.
const LOCKS: usize = 90;
const LEASE: Duration = Duration::from_secs(15);
/// How long the requests are counted: two leases.
const MEASURED: Duration = Duration::from_secs(30);
/// All of them lead by then.
const PATIENCE: Duration = Duration::from_secs(120);

pub fn run(program: &Path, services: &[Service]) -> Result<(), Error> {
    println!(
        "| service | seats | all lead after | memory | memory a seat | connections | requests a second | of a processor |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    // A member of Raft has a port and a folder for each seat.
    for service in services.iter().copied().filter(|service| *service != Service::Raft) {
        let mut least = 0;
        for seats in [1, if service == Service::PostgresLock { LOCKS } else { SEATS }] {
            let folder = Folder::new();
            let Some(served) = Served::start(service, &folder) else { continue };
            let used = measure(program, service, &served, seats)?;
            if seats == 1 {
                least = used.kilobytes;
            }
            let each = used.kilobytes.saturating_sub(least) / seats as u64;
            println!(
                "| {} | {seats} | {:.1} s | {} MB | {each} kB | {} | {} | {:.1} % |",
                service.name(),
                used.led.as_secs_f64(),
                used.kilobytes / 1_024,
                used.connections,
                // A ping of a lock's session touches no table, and PostgreSQL does not count it.
                if service == Service::PostgresLock { "–".to_owned() } else { format!("{:.1}", used.requests) },
                100.0 * used.processor
            );
        }
    }
    Ok(())
}

struct Used {
    /// Until all led.
    led: Duration,
    kilobytes: u64,
    connections: u64,
    /// A second.
    requests: f64,
    /// The share of one processor.
    processor: f64,
}

/// How many connections so many seats in one process have while all lead; `None`, with a message, if the service is not
/// installed and need not be.
///
/// # Errors
/// Not all seats led in time.
pub fn connections(program: &Path, service: Service, seats: usize) -> Result<Option<u64>, Error> {
    let folder = Folder::new();
    let Some(served) = Served::start(service, &folder) else { return Ok(None) };
    let (process, _, _told) = all_lead(program, service, &served, seats)?;
    sockets(process.id()).map(Some)
}

/// A process with so many seats, when all of them lead, and what it says after that.
fn all_lead(
    program: &Path,
    service: Service,
    served: &Served,
    seats: usize,
) -> Result<(Competitor, Instant, Receiver<Event>), Error> {
    let (events, told) = channel();
    let mut command = Command::new(program);
    command.args(["seats", service.name(), &listed(&served.at()), &seats.to_string()]).stderr(Stdio::inherit());
    let process = Competitor::start(command, Vec::new(), (0, 0), events)?;
    let Event { at, line, .. } = ending::next(&told, PATIENCE)?
        .ok_or_else(|| format!("{seats} seats on {} do not all lead after {} s", service.name(), PATIENCE.as_secs()))?;
    if line.as_deref() != Some("all lead") {
        return Err(format!("{seats} seats on {}: {line:?}", service.name()).into());
    }
    Ok((process, at, told))
}

fn measure(program: &Path, service: Service, served: &Served, seats: usize) -> Result<Used, Error> {
    let began = Instant::now();
    let (process, all, told) = all_lead(program, service, served, seats)?;
    let (before, ticks) = (served.requests()?, processor_ticks(process.id())?);
    let asked = |until: Option<u64>| until.zip(before).map_or(0, |(until, before)| until.saturating_sub(before));
    // It says something else only if a seat is lost.
    if let Some(event) = ending::next(&told, MEASURED)? {
        return Err(format!("{seats} seats on {}: {:?}", service.name(), event.line).into());
    }
    let a_second = |count: u64| count as f64 / MEASURED.as_secs_f64();
    Ok(Used {
        led: all - began,
        kilobytes: resident_kilobytes(process.id())?,
        connections: sockets(process.id())?,
        requests: a_second(asked(served.requests()?)),
        processor: a_second(processor_ticks(process.id())? - ticks) / 100.0,
    })
}

fn resident_kilobytes(process: u32) -> Result<u64, Error> {
    let text = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// How many TCP sockets it has open: it listens nowhere, so these are its connections. (tokio has sockets of its own for signals.)
fn sockets(process: u32) -> Result<u64, Error> {
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp"))?;
    // The tenth field is the inode, by which the process's files name it.
    let tcp: Vec<String> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(9))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let files =
        fs::read_dir(format!("/proc/{process}/fd"))?.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    Ok(files.filter(|to| tcp.contains(&to.to_string_lossy().into_owned())).count() as u64)
}

/// Of user and system time, a hundred to the second (proc(5)).
fn processor_ticks(process: u32) -> Result<u64, Error> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is the program's name, in brackets.
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let [user, system] = [11, 12].map(|field| fields.get(field).copied().unwrap_or_default().parse::<u64>());
    Ok(user? + system?)
}

/// The process: so many seats on the service at this address.
pub fn run_seats(args: &[String]) -> Result<(), Error> {
    let [service, at, seats] = args else { return Err("a service, its address, and how many seats".into()) };
    let (service, at, seats): (Service, _, usize) = (service.parse()?, addresses(at)?, seats.parse()?);
    end_with_the_parent();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(backends::act(service, &at, ("m", Path::new("")), All(seats)))
}

/// So many seats, which all lead.
struct All(usize);

impl Act for All {
    async fn on<B: Backend<Fencing: Ordered>>(self, backend: B) -> Result<(), Error> {
        let All(seats) = self;
        let (leads, mut leading) = mpsc::unbounded_channel();
        for number in 0..seats {
            let seat = Arc::new(Seat::new(backend.clone(), &format!("seat-{number}")).ttl(LEASE).member("m")?);
            let leads = leads.clone();
            tokio::spawn(async move {
                let ended = seat.serve(async |_| {
                    // The receiver lives as long as the process.
                    let _ = leads.send(());
                    pending::<Result<(), Error>>().await
                });
                println!("`{}` has ended: {:?}", seat.name(), ended.await);
            });
        }
        for _ in 0..seats {
            leading.recv().await;
        }
        println!("all lead");
        pending().await
    }
}
