//! The commands of this program. Each prints its table as Markdown.

use crate::{
    Error, Service, compare,
    disk::{self, Whose},
    ending,
    fault::Fault,
    idle, many, member, overhead,
    storm::{Outcome, Storm},
    table::{cells, grouped},
};
use servers::say;
use std::{env, path::PathBuf};

const USAGE: &str = "\
cargo run --release -- COMMAND

storm [FAULTS] [SERVICE...]   leaders are killed, paused and cut off: FAULTS kills on each service, 20 by default
unfenced                      the same pauses on Redis without the fence: shows what it prevents
disk                          a disk fills: the database's, etcd's, PostgreSQL's (root only)
compare [SERVICE...]          failover beside client-go, etcdctl, `consul lock` and Curator
overhead                      a fenced transaction beside a plain one
idle [SERVICE...]             requests to the service while nothing happens
many [SERVICE...]             a thousand seats in one process

SERVICE is Consul, etcd, Kubernetes, PostgreSQL, Raft (none), Redis or ZooKeeper; without tokens, PostgresLock or Redlock. By default, all.

FENCEPOST_SERVERS=install installs missing servers by apt-get.";

/// # Errors
/// What a command could not do.
pub fn run(args: &[String]) -> Result<(), Error> {
    let [command, args @ ..] = args else {
        println!("{USAGE}");
        return Ok(());
    };
    let program = env::current_exe()?;
    // Members and seats end with the process that has started them, and the overhead is measured within a minute.
    if !["member", "seats", "overhead"].contains(&command.as_str()) {
        ending::heed()?;
    }
    match command.as_str() {
        "member" => member::run(args),
        "seats" => many::run_seats(args),
        "storm" => storm(program, args),
        "unfenced" => unfenced(program),
        "disk" => disk_fills(program),
        "compare" => compare::run(&program, &services(args)?),
        "overhead" => overhead::run(),
        "idle" => idle::run(&services(args)?),
        "many" => many::run(&program, &services(args)?),
        _ => Err(format!("`{command}` is no command.\n{USAGE}").into()),
    }
}

fn storm(program: PathBuf, args: &[String]) -> Result<(), Error> {
    let (faults, named) = match args {
        [first, rest @ ..] if first.parse::<usize>().is_ok() => (first.parse()?, rest),
        _ => (20, args),
    };
    let (mut outcomes, mut failed) = (Vec::new(), None);
    for service in services(named)? {
        let storm = Storm::of(faults, program.clone(), service);
        match storm.play() {
            Ok(Some(outcome)) => {
                say(&format!("{}: {}", service.name(), outcome.verdict));
                outcomes.push((storm, outcome));
            }
            Ok(None) => {}
            // What the others have shown is told first.
            Err(error) => failed = Some(Error::from(format!("{}: {error}", service.name()))),
        }
        if ending::is_asked() {
            break;
        }
    }
    print_verdicts(&outcomes);
    print_failover(&outcomes);
    failed.map_or(Ok(()), Err)
}

/// Those that are named, or all.
fn services(names: &[String]) -> Result<Vec<Service>, String> {
    match names {
        [] => Ok(Service::ALL.to_vec()),
        names => names.iter().map(|name| name.parse()).collect(),
    }
}

fn print_failover(outcomes: &[(Storm, Outcome)]) {
    println!(
        "| service | lease | the leader is | times | next leader, p50 | p95 | max | its first write, p50 | p95 | max |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (storm, outcome) in outcomes {
        let (service, lease) = (storm.service.name(), storm.lease.as_secs());
        for fault in Fault::ALL.into_iter().filter(|fault| fault.befalls(storm.service)) {
            let struck = || outcome.struck.iter().filter(|struck| struck.fault == fault);
            let led = cells(struck().map(|struck| struck.led).collect());
            let wrote = cells(struck().map(|struck| struck.wrote).collect());
            // Both have the same number.
            let wrote = wrote.split_once(" | ").map_or("", |(_, rest)| rest);
            println!("| {service} | {lease} s | {} | {led} | {wrote} |", fault.name(storm.service));
        }
    }
    println!();
    println!(
        "| service | lease | killed and started again, times | seats | of which changed leaders | longest time without a write, p50 | p95 | max |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (storm, outcome) in outcomes {
        let (service, lease, times) = (storm.service.name(), storm.lease.as_secs(), storm.restarts);
        let lost = outcome.ridden.iter().filter(|ridden| ridden.lost).count();
        let silence = cells(outcome.ridden.iter().map(|ridden| ridden.silence).collect());
        let (seats, silence) = silence.split_once(" | ").unwrap_or_default();
        println!("| {service} | {lease} s | {times} | {seats} | {lost} | {silence} |");
    }
    println!();
}

fn print_verdicts(outcomes: &[(Storm, Outcome)]) {
    println!(
        "| service | faults | leaderships | writes acknowledged | a second | lost | twice | stale accepted | twice or stale before the first fault |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (storm, outcome) in outcomes {
        let (verdict, calm) = (outcome.verdict, outcome.calm);
        println!(
            "| {}{} | {} | {} | {} | {:.0} | {} | {} | {} | {} of {} |",
            storm.service.name(),
            if storm.service.has_tokens() { "" } else { ", which has no tokens" },
            grouped(outcome.struck.len()),
            grouped(outcome.reigns),
            grouped(verdict.acknowledged),
            outcome.written as f64 / outcome.lasted.as_secs_f64(),
            verdict.lost,
            verdict.twice,
            verdict.stale,
            calm.twice + calm.stale,
            grouped(calm.acknowledged),
        );
    }
    println!();
}

fn unfenced(program: PathBuf) -> Result<(), Error> {
    let storm = Storm { pauses: 200, ..Storm::unfenced(program) };
    if let Some(outcome) = storm.play()? {
        println!("{} pauses without the fence: {}", outcome.struck.len(), outcome.verdict);
    }
    Ok(())
}

fn disk_fills(program: PathBuf) -> Result<(), Error> {
    for whose in [Whose::Database, Whose::Service(Service::Etcd), Whose::Service(Service::Postgres)] {
        if let Some(filled) = disk::fill(program.clone(), whose)? {
            println!("{filled}");
        }
    }
    Ok(())
}
