//! Where a search stands: the candidates, the service, what is on its way between them, and what has come of it so far.

mod device;
mod serving;
mod ways;

use super::services::{End, Grant, Little, Process, Servers, Told};
use protocols::{
    bench::{Bench, choice::Choice, event::Step},
    bug::{Bug, Bugs},
    election::{Protocol, Setup, redis_common},
    elector::{self, AnyElector},
    fence::power::PowerSwitch,
    payload::Opaque,
    types::NodeId,
};
use std::{
    collections::BTreeSet,
    hash::{Hash, Hasher},
};

/// What keeps two leaders apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Only one believes at a time, by the clocks; and it is the one to whom the service has granted it.
    Beliefs,
    /// Two may believe at once, each with a token that the service has granted to it, and to nobody before; and nobody
    /// takes from another what that one was granted.
    Tokens,
    /// Only one has not stopped yet, late or not: without a token, whatever it has on its way would count.
    Stops,
}

/// What is asked of the service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Call {
    Request(u64, Opaque),
    Open(u64, Opaque),
    Push(u64),
}

/// What has been asked of the service, and not been carried out yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    by: Process,
    call: Call,
    server: usize,
    concurrent: bool,
    /// It is on its way: it may be carried out whatever its sender does.
    sent: bool,
}

impl Asked {
    fn stream(&self) -> Option<u64> {
        match self.call {
            Call::Request(..) => None,
            Call::Open(number, _) | Call::Push(number) => Some(number),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Move {
    Happens(Choice),
    CarriedOut(usize),
    /// The same, and the answer arrives at once.
    Answered(usize),
    /// What the service has told arrives.
    Heard(usize),
    /// The service ends a lease or a session.
    Ends(u64),
    /// A fault: a request never arrives.
    Lost(usize),
    /// A fault: a message never arrives, or twice, or a process dies.
    Mishap(Choice),
    /// A fault: a connection breaks, and another one is made.
    Breaks(Process),
    /// A fault of the service.
    Fails,
    /// Instead of a fault: a leader is told to resign.
    Resigns(NodeId),
}

#[derive(Clone)]
pub struct Stage {
    bench: Bench,
    service: Option<Little>,
    /// For those that cut each other's power: the device itself, not a stand-in.
    device: Option<PowerSwitch>,
    asked: Vec<Asked>,
    told: Vec<Told>,
    /// The requests without an answer, and the server that each went to.
    waiting: Vec<(Process, u64, usize)>,
    lives: Vec<u32>,
    /// Of all leaders so far.
    tokens: BTreeSet<u64>,
    /// Whatever the service has granted so far, by token.
    grants: BTreeSet<(u64, String)>,
    pub elections: usize,
    faults: usize,
    /// Whether a fault may be the service's.
    can_fail: bool,
    apart: Apart,
}

impl Hash for Stage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.bench, &self.service, &self.asked, &self.told, &self.waiting, &self.lives).hash(state);
        (&self.device, &self.tokens, &self.grants, self.elections, self.faults).hash(state);
    }
}

fn name_of(node: NodeId) -> String {
    format!("n{}", node.0 + 1)
}

impl Stage {
    /// One fault is left.
    pub fn new(protocol: &'static Protocol, apart: Apart, count: u16, bugs: &[&'static Bug]) -> Stage {
        let bugs = Bugs::new(bugs.iter().copied());
        let service = Little::of(protocol);
        let can_fail = apart == Apart::Tokens
            || matches!(service, Some(Little::Replicated(_)))
            || bugs.has(&redis_common::FORGOTTEN_ON_RESTART);
        let device = protocol.cuts_power().then(|| PowerSwitch::new(count));
        assert!(
            service.is_some() || device.is_some() || protocol.service.is_none(),
            "{protocol:?}: no such service here"
        );
        let servers = match service {
            Some(Little::Servers(_)) => Servers::COUNT as u16,
            _ => u16::from(device.is_some()),
        };
        let make = move |setup: Setup| {
            let service = (count..count + servers).map(NodeId).collect();
            (protocol.elector)(Setup { bugs: bugs.clone(), service, ..setup })
        };
        let mut bench = Bench::new(count, protocol.default_timings(), 0, make);
        // A write is an event of its own.
        bench.disks.delay = Some(1..2);
        let mut stage = Stage {
            bench,
            service,
            device,
            asked: Vec::new(),
            told: Vec::new(),
            waiting: Vec::new(),
            lives: vec![0; count.into()],
            tokens: BTreeSet::new(),
            grants: BTreeSet::new(),
            elections: 0,
            faults: 1,
            can_fail,
            apart,
        };
        for node in stage.bench.nodes() {
            stage.does(Move::Happens(Choice::Start(node))).expect("nothing is wrong at the start");
        }
        stage
    }

    pub fn has_service(&self) -> bool {
        self.service.is_some()
    }

    /// What is never due never happens.
    fn choices(&self) -> impl Iterator<Item = Choice> {
        self.bench.choices().into_iter().filter(|choice| self.bench.due(*choice) < u64::MAX)
    }

    fn ends(&self) -> Vec<End> {
        self.service.as_ref().map_or(Vec::new(), |service| service.served().ends())
    }

    pub fn moves(&self) -> Vec<Move> {
        let due = || (0..self.asked.len()).filter(|place| self.is_due(*place));
        let mut moves: Vec<Move> = self.choices().map(Move::Happens).collect();
        moves.extend(due().flat_map(|place| [Move::Answered(place), Move::CarriedOut(place)]));
        moves.extend((0..self.told.len()).filter(|place| self.is_next(*place)).map(Move::Heard));
        moves.extend(self.ends().into_iter().map(|end| Move::Ends(end.which)));
        if self.faults > 0 {
            let mishaps = self.bench.mishaps().into_iter().filter(|choice| !matches!(choice, Choice::Start(_)));
            moves.extend(mishaps.map(Move::Mishap));
            moves.extend(self.bench.believers().into_iter().map(Move::Resigns));
            match &self.service {
                Some(Little::ZooKeeper(_)) => {
                    moves.extend(self.ends().iter().map(|end| end.of).filter(|of| self.is_alive(*of)).map(Move::Breaks))
                }
                _ => moves.extend(due().map(Move::Lost)),
            }
            if self.can_fail {
                moves.push(Move::Fails);
            }
        }
        // Who has crashed may start again, which is no fault.
        let down = self.bench.nodes().filter(|node| !self.bench.seat(*node).is_up());
        moves.extend(down.map(|node| Move::Happens(Choice::Start(node))));
        moves
    }

    /// Makes it happen.
    ///
    /// # Errors
    /// What must not be, in one sentence.
    pub fn does(&mut self, what: Move) -> Result<(), String> {
        if let Move::Lost(_) | Move::Mishap(_) | Move::Breaks(_) | Move::Fails | Move::Resigns(_) = what {
            self.faults -= 1;
        }
        match what {
            Move::Happens(choice) | Move::Mishap(choice) => {
                match choice {
                    Choice::Crash(node) => {
                        self.asked.retain(|asked| asked.by.node != node || asked.sent);
                        self.told.retain(|told| told.to.node != node);
                    }
                    Choice::Start(node) => self.lives[node.index()] += 1,
                    _ => {}
                }
                let step = self.bench.choose(choice);
                self.note(step)?;
            }
            Move::CarriedOut(place) | Move::Answered(place) => {
                let by = self.asked[place].by;
                self.carry_out(place)?;
                let last = self.told.iter().rposition(|told| told.to == by);
                if let (Move::Answered(_), Some(last)) = (what, last.filter(|last| self.is_next(*last))) {
                    self.hear(last)?;
                }
            }
            Move::Heard(place) => self.hear(place)?,
            Move::Ends(which) => self.end(which)?,
            Move::Lost(place) => drop(self.asked.remove(place)),
            Move::Breaks(process) => self.breaks(process)?,
            Move::Fails => {
                if let Some(service) = &mut self.service {
                    service.serves().fails();
                }
                self.served(None)?;
            }
            Move::Resigns(node) => {
                let step = self.bench.give(node, elector::Input::Resign);
                self.note(step)?;
            }
        }
        self.check()
    }

    fn grant(&self) -> Option<Grant> {
        self.service.as_ref().and_then(|service| service.served().grant(self.bench.now()))
    }

    fn note(&mut self, step: Step<Box<AnyElector>>) -> Result<(), String> {
        let Some(node) = step.node() else {
            self.device_hears(step.event);
            return Ok(());
        };
        let by = Process { node, life: self.lives[node.index()] };
        for output in step.outputs {
            match output {
                elector::Output::Service(output) => self.asks(by, output)?,
                elector::Output::Elected(leadership) => self.elected(node, leadership.token)?,
                _ => {}
            }
        }
        self.forget(node);
        // A request that waits for an earlier one is sent once that is answered or given up, unless it is given up itself.
        let waits = self.bench.seat(node).requests();
        let awaited = |asked: &Asked| !matches!(asked.call, Call::Request(number, _) if !waits.contains(&number));
        self.asked.retain(|asked| asked.by.node != node || asked.sent || awaited(asked));
        for asked in self.asked.iter_mut().filter(|asked| asked.by == by && !asked.sent) {
            let first = self.waiting.iter().find(|(of, _, server)| *of == by && *server == asked.server);
            asked.sent = asked.concurrent
                || matches!((&asked.call, first), (Call::Request(number, _), Some((_, first, _))) if number <= first);
        }
        Ok(())
    }

    fn elected(&mut self, node: NodeId, token: u64) -> Result<(), String> {
        self.elections += 1;
        if token == 0 {
            return Ok(());
        }
        let (name, highest) = (name_of(node), self.tokens.last().copied().unwrap_or_default());
        let new = self.tokens.insert(token);
        // Who hears late of a grant may be elected after its successor.
        let late = self.service.is_none() || self.apart == Apart::Tokens;
        if !new || !late && token < highest {
            return Err(format!("{name} leads with token {token} after {highest}"));
        }
        if self.service.is_some() && self.apart == Apart::Tokens && !self.grants.contains(&(token, name.clone())) {
            return Err(format!("{name} leads with token {token}, which it was not granted"));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if let Some(broken) = self.bench.broken() {
            return Err(broken.to_owned());
        }
        let now = self.bench.now();
        let believes = |node: &NodeId| {
            let seat = self.bench.seat(*node);
            seat.belief().is_some_and(|belief| belief.valid_until > seat.clock.shows(now))
        };
        let believers: Vec<NodeId> = self.bench.nodes().filter(believes).collect();
        match self.apart {
            Apart::Tokens => {}
            Apart::Stops if self.bench.believers().len() > 1 => {
                return Err(format!("{:?} have not stopped", self.bench.believers()));
            }
            Apart::Stops => {}
            Apart::Beliefs if believers.len() > 1 => return Err(format!("{believers:?} believe at once")),
            Apart::Beliefs => {
                if let (Some(name), true) = (believers.first().copied().map(name_of), self.has_service()) {
                    let holder = self.grant().map(|(holder, _)| holder);
                    if holder.as_ref() != Some(&name) {
                        return Err(format!("{name} believes, and {holder:?} holds the lease"));
                    }
                }
            }
        }
        Ok(())
    }
}
