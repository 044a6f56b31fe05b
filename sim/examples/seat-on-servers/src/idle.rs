//! What a service is asked while one member leads, two wait, and nothing happens.

use crate::{Error, Service, args::Part, fleet::Fleet, stand::Served};
use servers::Folder;
use std::{env, time::Duration};

const LEASES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(15)];
/// Several of the longest renewal intervals.
const MEASURED: Duration = Duration::from_secs(60);

/// How often this is tried: on a busy machine, a leader may lose its lease.
const TRIED: u32 = 3;

pub fn run(services: &[Service]) -> Result<(), Error> {
    println!("| service | lease | requests a second: one leads, two wait |");
    println!("|---|---|---|");
    for service in services.iter().copied() {
        for lease in LEASES.into_iter().filter(|lease| *lease >= service.lease()) {
            for _ in 0..TRIED {
                let Some(rate) = measure(service, lease)? else { continue };
                println!("| {} | {} s | {rate:.1} |", service.name(), lease.as_secs());
                break;
            }
        }
    }
    Ok(())
}

/// `None` if it was not one member that led all the time, or if the service is not installed and need not be.
fn measure(service: Service, lease: Duration) -> Result<Option<f64>, Error> {
    let folder = Folder::new();
    let Some(served) = Served::start(service, &folder) else { return Ok(None) };
    let part = Part::idle(service, served.at(), lease);
    let mut fleet = Fleet::start(env::current_exe()?, part, 1, None)?;
    // One leads then, and those that wait have found that out.
    fleet.watch(lease + Duration::from_secs(5))?;
    let asked = |fleet: &Fleet| match service {
        // PostgreSQL does not count transactions that touch no table. Each has an answer.
        Service::PostgresLock => Ok(fleet.messages() / 2),
        _ => Ok::<_, Error>(served.requests()?.unwrap_or_else(|| fleet.messages())),
    };
    let before = asked(&fleet)?;
    fleet.watch(MEASURED)?;
    let asked = asked(&fleet)?.saturating_sub(before);
    fleet.finish()?;
    Ok((fleet.told.reigns == 1).then_some(asked as f64 / MEASURED.as_secs_f64()))
}
