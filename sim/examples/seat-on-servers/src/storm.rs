//! Many fleets side by side on one service, whose leaders are struck again and again.

use crate::{
    Error,
    args::{Part, Work},
    draws::Draws,
    fault::{Fault, dealt},
    fleet::{Fleet, Struck},
    ledger::{Verdict, Write, judge},
    service::Service,
    stand::Stand,
};
use std::{
    path::PathBuf,
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
    /// How often the service is killed and started again, after all that.
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

impl Storm {
    /// A small one, of 24 faults and a restart.
    pub fn small(program: PathBuf, service: Service) -> Storm {
        Storm {
            program,
            service,
            lease: Duration::from_secs(2),
            fleets: 10,
            kills: 8,
            pauses: 4,
            others: 4,
            restarts: 1,
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

    /// One of so many kills; of the other faults a tenth as many each.
    pub fn of(faults: usize, program: PathBuf, service: Service) -> Storm {
        let small = Storm::small(program, service);
        let some = (faults / 10).max(small.pauses);
        let (pace, restarts) = (Duration::from_millis(5), (faults / 300).max(1));
        Storm { fleets: 25, kills: faults, pauses: some, others: some, restarts, pace, ..small }
    }

    fn count(&self, fault: Fault) -> usize {
        match fault {
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
            Some(mut stand) => self.play_on(&mut stand).map(Some),
            None => Ok(None),
        }
    }

    fn play_on(&self, stand: &mut Stand) -> Result<Outcome, Error> {
        let mut draws = Draws::new(self.seed);
        let faults = dealt(|fault| self.count(fault), self.fleets, &mut draws);
        let mut fleets = self.fleets(stand)?;
        let began = Instant::now();
        at_once(&mut fleets, |place, fleet| fleet.play(&faults[place]))?;
        let mut outcome = Outcome { lasted: began.elapsed(), ..Outcome::default() };
        outcome.written = fleets.iter().map(|fleet| fleet.told.acknowledged.len()).sum();
        for _ in 0..self.restarts {
            outcome.ridden.extend(self.restart(stand, &mut fleets)?);
        }
        let mut acknowledged: Vec<(String, Write)> = Vec::new();
        for fleet in fleets {
            let seat = fleet.seat().to_owned();
            let record = fleet.finish()?;
            outcome.reigns += record.reigns;
            outcome.ended += record.ended;
            outcome.struck.extend(record.struck);
            acknowledged.extend(record.acknowledged.into_iter().map(|(_, write)| (seat.clone(), write)));
        }
        outcome.verdict = judge(stand.rows()?, &acknowledged);
        Ok(outcome)
    }

    /// One half of them work as in the manual, the other half on threads.
    fn fleets(&self, stand: &Stand) -> Result<Vec<Fleet>, Error> {
        let seats: Vec<String> = (0..self.fleets).map(|fleet| format!("seat-{fleet}")).collect();
        stand.prepare(&seats)?;
        let start = |(number, seat): (usize, String)| {
            let part = Part {
                service: self.service,
                service_at: stand.served.at(),
                database_at: stand.database.server.address,
                seat,
                name: String::new(),
                lease: self.lease,
                pace: self.pace,
                work: if number % 2 == 0 || !self.fenced { Work::Thread } else { Work::Closure },
                fenced: self.fenced,
            };
            Fleet::start(self.program.clone(), part, self.seed.wrapping_mul(1_000).wrapping_add(number as u64))
        };
        seats.into_iter().enumerate().map(start).collect()
    }

    /// Kills the service and starts it again, while the fleets go on.
    fn restart(&self, stand: &mut Stand, fleets: &mut [Fleet]) -> Result<Vec<Ridden>, Error> {
        let reigns: Vec<usize> = fleets.iter().map(|fleet| fleet.told.reigns).collect();
        let (at, window) = (Instant::now(), 4 * self.lease);
        thread::scope(|scope| {
            scope.spawn(|| stand.served.restart());
            at_once(fleets, |_, fleet| fleet.recover(window))
        })?;
        let ridden = |(fleet, before): (&Fleet, usize)| {
            let times = || fleet.told.acknowledged.iter().map(|(at, _)| *at);
            let gaps = times().zip(times().skip(1)).filter(|(_, to)| *to > at).map(|(from, to)| to - from);
            Ridden { lost: fleet.told.reigns > before, silence: gaps.max().unwrap_or_default() }
        };
        Ok(fleets.iter().zip(reigns).map(ridden).collect())
    }
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
