//! Many fleets side by side on one service, whose leaders are struck again and again.

use crate::{
    Error,
    args::{Part, Work},
    draws::Draws,
    fault::{Fault, dealt},
    firewall::Firewall,
    fleet::Fleet,
    ledger::{Verdict, Write, judge},
    record::{Record, Struck},
    service::Service,
    stand::Stand,
};
use servers::say;
use std::{
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// What befalls whom.
#[derive(Clone, Debug)]
pub struct Storm {
    /// The program whose first argument `member` makes it a member.
    pub program: PathBuf,
    pub service: Service,
    pub lease: Duration,
    pub fleets: usize,
    /// How often a leader is struck by each fault.
    pub kills: usize,
    pub pauses: usize,
    /// The same for each other fault.
    pub others: usize,
    /// How often the service, or all members without one, are killed and started again, after all that.
    pub restarts: usize,
    /// From one write of a leader to its next.
    pub pace: Duration,
    pub fenced: bool,
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    pub verdict: Verdict,
    /// That of the time before the first fault.
    pub calm: Verdict,
    /// Leaderships in that time.
    pub first: usize,
    /// Faults that cannot be had here.
    pub left_out: usize,
    pub struck: Vec<Struck>,
    pub ridden: Vec<Ridden>,
    /// How many leaderships there were.
    pub reigns: usize,
    /// Processes that ended by themselves.
    pub ended: usize,
    /// How long the leaders were struck, and wrote.
    pub lasted: Duration,
    /// Writes that were acknowledged in that time.
    pub written: usize,
}

/// How one fleet rode out a restart of the service.
#[derive(Clone, Copy, Debug)]
pub struct Ridden {
    /// Whether another member led afterwards, or the same one again.
    pub lost: bool,
    /// The longest time without a write.
    pub silence: Duration,
}

/// How long nothing befalls anybody first, after the first writes.
const CALM: Duration = Duration::from_secs(3);

impl Storm {
    /// A small one, of 24 faults and a restart; on Consul, whose leases are long, all at once and without one.
    pub fn small(program: PathBuf, service: Service) -> Storm {
        let slow = service == Service::Consul;
        Storm {
            program,
            service,
            lease: service.lease(),
            fleets: if slow { 24 } else { 10 },
            kills: 8,
            pauses: 4,
            others: 4,
            restarts: usize::from(!slow),
            pace: Duration::from_millis(20),
            fenced: true,
            seed: 1,
        }
    }

    /// Pauses only, and writes without the fence.
    pub fn unfenced(program: PathBuf) -> Storm {
        let pace = Duration::from_millis(5);
        Storm {
            kills: 0,
            pauses: 20,
            others: 0,
            restarts: 0,
            pace,
            fenced: false,
            ..Storm::small(program, Service::Redis)
        }
    }

    /// One of so many kills, and of two fifths as many other faults.
    pub fn of(faults: usize, program: PathBuf, service: Service) -> Storm {
        let small = Storm::small(program, service);
        let kinds = Fault::ALL.into_iter().filter(|fault| fault.befalls(service)).count() - 1;
        let some = (2 * faults).div_ceil(5 * kinds).max(small.pauses);
        // Whoever waits long for a lease needs many side by side, which share the machine.
        let fleets = match service {
            Service::Consul => 50,
            // Each member has a session, of which PostgreSQL has a hundred.
            Service::PostgresLock => 20,
            _ => 25,
        };
        let (restarts, pace) = ((faults / 300).max(1), Duration::from_millis(1));
        Storm { fleets, kills: faults, pauses: some, others: some, restarts, pace, ..small }
    }

    /// How many faults there are.
    pub fn faults(&self) -> usize {
        Fault::ALL.into_iter().map(|fault| self.count(fault)).sum()
    }

    fn count(&self, fault: Fault) -> usize {
        match fault {
            _ if !fault.befalls(self.service) => 0,
            Fault::Kill => self.kills,
            Fault::Pause => self.pauses,
            Fault::CutFromService | Fault::CutFromDatabase | Fault::Forgotten => self.others,
        }
    }

    /// Plays it; `None`, with a message, if a server is not installed and need not be.
    ///
    /// # Errors
    /// A fleet in which nobody writes any more, and failures of the machine's.
    pub fn play(&self) -> Result<Option<Outcome>, Error> {
        match Stand::start(self.service) {
            Some(mut stand) => {
                // Told before the servers end, which may fail after that.
                self.play_on(&mut stand).inspect_err(|why| say(&format!("{}: {why}", self.service.name()))).map(Some)
            }
            None => Ok(None),
        }
    }

    fn play_on(&self, stand: &mut Stand) -> Result<Outcome, Error> {
        // PostgreSQL ends a session once the kernel says that its client is silent; other services see that themselves.
        let firewall = if self.service == Service::PostgresLock { Firewall::raise() } else { None };
        let left_out =
            |fault| fault == Fault::CutFromService && self.service == Service::PostgresLock && firewall.is_none();
        let mut outcome = Outcome::default();
        outcome.left_out = if left_out(Fault::CutFromService) { self.others } else { 0 };
        let count = |fault| if left_out(fault) { 0 } else { self.count(fault) };
        let faults = dealt(count, self.fleets, &mut Draws::new(self.seed));
        let mut fleets = self.fleets(stand, &firewall)?;
        at_once(&mut fleets, |_, fleet| fleet.recover(CALM))?;
        outcome.first = fleets.iter().map(|fleet| fleet.told.reigns).sum();
        outcome.calm = judge(stand.rows()?, &acknowledged(&fleets));
        let began = Instant::now();
        let before = acknowledged(&fleets).len();
        at_once(&mut fleets, |place, fleet| fleet.play(&faults[place]))?;
        outcome.lasted = began.elapsed();
        outcome.written = acknowledged(&fleets).len() - before;
        for _ in 0..self.restarts {
            outcome.ridden.extend(self.restart(stand, &mut fleets)?);
        }
        fleets.iter_mut().try_for_each(Fleet::finish)?;
        outcome.verdict = judge(stand.rows()?, &acknowledged(&fleets));
        for Record { reigns, ended, struck, .. } in fleets.into_iter().map(|fleet| fleet.told) {
            outcome.reigns += reigns;
            outcome.ended += ended;
            outcome.struck.extend(struck);
        }
        Ok(outcome)
    }

    /// One half of them work as in the manual, the other half on threads.
    fn fleets(&self, stand: &Stand, firewall: &Option<Arc<Firewall>>) -> Result<Vec<Fleet>, Error> {
        let seats: Vec<String> = (0..self.fleets).map(|fleet| format!("seat-{fleet}")).collect();
        stand.prepare(&seats)?;
        let start = |(number, seat): (usize, String)| {
            let part = Part {
                database_at: stand.database.server.address,
                seat,
                pace: self.pace,
                work: if number % 2 == 0 || !self.fenced { Work::Thread } else { Work::Closure },
                fenced: self.fenced,
                ..Part::idle(self.service, stand.served.at(), self.lease)
            };
            let seed = self.seed.wrapping_mul(1_000).wrapping_add(number as u64);
            Fleet::start(self.program.clone(), part, seed, firewall.clone())
        };
        seats.into_iter().enumerate().map(start).collect()
    }

    /// Kills the service and starts it again, while the fleets go on.
    fn restart(&self, stand: &mut Stand, fleets: &mut [Fleet]) -> Result<Vec<Ridden>, Error> {
        let reigns: Vec<usize> = fleets.iter().map(|fleet| fleet.told.reigns).collect();
        let (at, window) = (Instant::now(), 4 * self.lease);
        if self.service == Service::Raft {
            at_once(fleets, |_, fleet| fleet.lose_all(window))?;
        } else {
            thread::scope(|scope| {
                scope.spawn(|| stand.served.restart());
                at_once(fleets, |_, fleet| fleet.recover(window))
            })?;
        }
        let ridden = |(fleet, before): (&Fleet, usize)| {
            let times = || fleet.told.acknowledged.iter().map(|(at, _)| *at);
            let gaps = times().zip(times().skip(1)).filter(|(_, to)| *to > at).map(|(from, to)| to - from);
            Ridden { lost: fleet.told.reigns > before, silence: gaps.max().unwrap_or_default() }
        };
        Ok(fleets.iter().zip(reigns).map(ridden).collect())
    }
}

/// All writes that were acknowledged, with the seat of each.
fn acknowledged(fleets: &[Fleet]) -> Vec<(String, Write)> {
    let writes = |fleet: &Fleet| {
        let seat = fleet.seat().to_owned();
        fleet.told.acknowledged.iter().map(move |(_, write)| (seat.clone(), write.clone())).collect::<Vec<_>>()
    };
    fleets.iter().flat_map(writes).collect()
}

/// Does this with all fleets, each on a thread; fails with the first that fails.
fn at_once(fleets: &mut [Fleet], act: impl Fn(usize, &mut Fleet) -> Result<(), Error> + Sync) -> Result<(), Error> {
    thread::scope(|scope| {
        let act = &act;
        let threads = fleets.iter_mut().enumerate().map(|(place, fleet)| scope.spawn(move || act(place, fleet)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a fleet's thread panicked")?)
    })
}
