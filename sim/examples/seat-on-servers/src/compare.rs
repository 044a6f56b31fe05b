//! Failover beside other programs: how long after `kill -9` of the leader another process says that it leads.

use crate::{
    Error, Service,
    args::{Part, Work},
    draws::Draws,
    process::{Competitor, Event},
    stand::Served,
    table::cells,
    told::Told,
};
use servers::{Folder, find, free_address, look};
use std::{
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

const LEASE: Duration = Duration::from_secs(5);
/// That of `etcdctl elect`, which cannot be told another.
const ETCDCTL_ELECTS: Duration = Duration::from_secs(60);
/// Seats side by side, and kills of each one's leader.
const SIDE_BY_SIDE: usize = 10;
const KILLS: usize = 5;
/// How long a process may take to be in the queue behind the leader: a JVM starts slowly on a busy machine.
const QUEUES: Duration = Duration::from_secs(4);
/// Nobody takes longer.
const STUCK: Duration = Duration::from_secs(180);

/// How a program competes.
struct Contender {
    name: &'static str,
    service: &'static str,
    lease: Duration,
    /// The command that competes for the seat of this number, as the process of this number.
    command: Box<dyn Fn(usize, usize) -> Command + Sync>,
    /// Whether this line says that it leads.
    leads: fn(&str) -> bool,
    kills: usize,
}

pub fn run(program: &Path) -> Result<(), Error> {
    println!("| program | service | lease | kills | next leader, p50 | p95 | max |");
    println!("|---|---|---|---|---|---|---|");
    for service in Service::ALL {
        let folder = Folder::new();
        let Some(served) = Served::start(service, &folder) else { continue };
        measure(&seat(program, service, served.at(), LEASE))?;
    }
    etcdctl(program)?;
    curator()
}

fn etcdctl(program: &Path) -> Result<(), Error> {
    let what = "a comparison with etcdctl";
    let folder = Folder::new();
    let Some(etcd) = find("etcdctl", "etcd-client", what).and_then(|_| Served::start(Service::Etcd, &folder)) else {
        return Ok(());
    };
    let at = etcd.at();
    let command = move |arguments: &[&str]| {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &at.to_string()]).args(arguments).stderr(Stdio::null());
        command
    };
    let lock = move |seat: usize, _| command(&["lock", "--ttl", &LEASE.as_secs().to_string(), &format!("lock-{seat}")]);
    let elect = move |seat: usize, life: usize| command(&["elect", &format!("elect-{seat}"), &format!("m{life}")]);
    let contender = |name, lease, kills, command| Contender {
        name,
        service: "etcd",
        lease,
        command,
        leads: |line| line.starts_with("lock-") || line.starts_with("elect-"),
        kills,
    };
    measure(&contender("etcdctl lock", LEASE, KILLS, Box::new(lock)))?;
    measure(&contender("etcdctl elect", ETCDCTL_ELECTS, 1, Box::new(elect)))?;
    measure(&Contender { kills: 1, ..seat(program, Service::Etcd, at, ETCDCTL_ELECTS) })
}

fn seat(program: &Path, service: Service, at: SocketAddr, lease: Duration) -> Contender {
    let program = program.to_owned();
    let command = move |seat: usize, life: usize| {
        let part = Part {
            service,
            service_at: at,
            database_at: free_address(),
            seat: format!("seat-{seat}"),
            name: format!("m{life}"),
            lease,
            pace: Duration::ZERO,
            work: Work::None,
            fenced: true,
        };
        let mut command = Command::new(&program);
        command.arg("member").args(part.to_args());
        command
    };
    Contender {
        name: "the seat",
        service: service.name(),
        lease,
        command: Box::new(command),
        leads: |line| matches!(Told::read(line), Some(Told::Leads { .. })),
        kills: KILLS,
    }
}

fn curator() -> Result<(), Error> {
    let folder = Folder::new();
    let Some(zookeeper) = servers::zookeeper(&folder, "a comparison with Curator") else { return Ok(()) };
    let Some(class_path) = latch(&folder)? else { return Ok(()) };
    let at = zookeeper.address;
    let command = move |seat: usize, _| {
        let mut command = Command::new("java");
        command.args(["-Xmx48m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &class_path, "Latch"]);
        let timeout = LEASE.as_millis().to_string();
        command.args([&at.to_string(), &format!("/latch-{seat}"), &timeout]).stderr(Stdio::null());
        command
    };
    let name = "Curator's LeaderLatch";
    let leads = |line: &str| line == "leads";
    measure(&Contender { name, service: "ZooKeeper", lease: LEASE, command: Box::new(command), leads, kills: KILLS })
}

/// Compiles `Latch.java`; the class path to run it with.
fn latch(folder: &Folder) -> Result<Option<String>, Error> {
    let recipes = Path::new("/usr/share/java/curator-recipes.jar");
    if !recipes.is_file() && servers::wish() == "install" {
        let packages = ["install", "-y", "-q", "libcurator-recipes-java", "default-jdk-headless"];
        Command::new("apt-get").args(packages).env("DEBIAN_FRONTEND", "noninteractive").output()?;
    }
    if !recipes.is_file() || look("javac").is_none() {
        servers::skip("a comparison with Curator", "Curator (libcurator-recipes-java) or javac is not installed");
        return Ok(None);
    }
    // Its manifest names the others.
    let class_path = format!("{}:{}", folder.path().display(), recipes.display());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/compare/Latch.java");
    let compiled = Command::new("javac").args(["-cp", &class_path, "-d", &folder.file(""), source]).output()?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned().into());
    }
    Ok(Some(class_path))
}

/// Kills one leader after the other, of several seats side by side, and prints how long the next took.
fn measure(contender: &Contender) -> Result<(), Error> {
    let took: Vec<Duration> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..SIDE_BY_SIDE).map(|seat| scope.spawn(move || Pair::new(contender, seat)?.play())).collect();
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?);
        joined.collect::<Result<Vec<_>, Error>>()
    })?
    .concat();
    let Contender { name, service, lease, .. } = contender;
    println!("| {name} | {service} | {} s | {} |", lease.as_secs(), cells(took));
    Ok(())
}

/// A leader and one that waits.
struct Pair<'a> {
    contender: &'a Contender,
    seat: usize,
    processes: [Option<Competitor>; 2],
    lives: usize,
    tells: Sender<Event>,
    events: Receiver<Event>,
}

impl<'a> Pair<'a> {
    fn new(contender: &'a Contender, seat: usize) -> Result<Self, Error> {
        let (tells, events) = channel();
        Ok(Pair { contender, seat, processes: [None, None], lives: 0, tells, events })
    }

    fn start(&mut self, place: usize) -> Result<(), Error> {
        self.lives += 1;
        let command = (self.contender.command)(self.seat, self.lives);
        self.processes[place] = Some(Competitor::start(command, Vec::new(), (place, self.lives), self.tells.clone())?);
        Ok(())
    }

    fn play(mut self) -> Result<Vec<Duration>, Error> {
        let mut draws = Draws::new(self.seat as u64);
        self.start(0)?;
        let (_, mut leader) = self.leader()?;
        let mut took = Vec::new();
        for _ in 0..self.contender.kills {
            self.start(1 - leader)?;
            // The other does not say when it is in the queue. The kill may come at any time between two renewals.
            thread::sleep(QUEUES + Duration::from_millis(draws.below(LEASE.as_millis() as u64)));
            // A leader on a busy machine may have lost its lease meanwhile.
            while let Ok(event) = self.events.try_recv() {
                leader = self.is_of_leader(&event).unwrap_or(leader);
            }
            let at = Instant::now();
            if let Some(mut process) = self.processes[leader].take() {
                process.kill();
            }
            let (led, next) = self.leader()?;
            took.push(led.saturating_duration_since(at));
            leader = next;
        }
        Ok(took)
    }

    /// Waits until a process says that it leads.
    fn leader(&self) -> Result<(Instant, usize), Error> {
        loop {
            let event = self.events.recv_timeout(STUCK)?;
            if let Some(place) = self.is_of_leader(&event) {
                return Ok((event.at, place));
            }
        }
    }

    /// The place of the process that says that it leads.
    fn is_of_leader(&self, event: &Event) -> Option<usize> {
        event.line.as_ref().is_some_and(|line| (self.contender.leads)(line)).then_some(event.place)
    }
}
