//! Between the candidates and the service: what is asked, carried out, told and heard.

use super::{Apart, Asked, Call, Stage, name_of};
use crate::orders::services::{Grant, Little, Process, Told, server_of};
use protocols::{
    bench::choice::Choice,
    elector::{self, ServiceInput, ServiceOutput},
    error::Failure,
    types::NodeId,
};

impl Stage {
    /// Whether it can be carried out next.
    pub(super) fn is_due(&self, place: usize) -> bool {
        let (asked, Some(service)) = (&self.asked[place], &self.service) else { return false };
        let mut before = self.asked[..place].iter().filter(|other| other.by == asked.by);
        asked.sent
            && match &asked.call {
                Call::Request(_, request) => {
                    let waits = service.is_ordered() && before.any(|other| other.stream().is_none());
                    !waits && service.served().is_ready(asked.by, request)
                }
                Call::Open(..) | Call::Push(_) => !before.any(|other| other.stream() == asked.stream()),
            }
    }

    /// Whether it can be heard next. A stream is in order, and so is all that an ordered connection carries.
    pub(super) fn is_next(&self, place: usize) -> bool {
        let told = &self.told[place];
        let ordered = self.service.as_ref().is_some_and(Little::is_ordered);
        !self.told[..place]
            .iter()
            .any(|other| other.to == told.to && (ordered || stream(other) == stream(told) && stream(told).is_some()))
    }

    pub(super) fn is_alive(&self, process: Process) -> bool {
        self.lives[process.node.index()] == process.life && self.bench.seat(process.node).is_up()
    }

    pub(super) fn carry_out(&mut self, place: usize) -> Result<(), String> {
        let before = self.grant();
        let Asked { by, call, .. } = self.asked.remove(place);
        let (now, service) = (self.bench.now(), self.service.as_mut().expect("it was asked").serves());
        let mut answer = None;
        match call {
            Call::Request(number, request) => {
                let reply = service.take(now, by, number, &request);
                answer = Some(Told { to: by, input: ServiceInput::Reply { number, reply } });
            }
            Call::Open(number, request) => service.open(now, by, number, &request),
            Call::Push(number) => service.push(now, by, number),
        }
        self.served(Some((by, before)))?;
        self.told.extend(answer.filter(|_| self.is_alive(by)));
        self.forget(by.node);
        Ok(())
    }

    /// Nobody waits for answers to requests that have been given up.
    pub(super) fn forget(&mut self, node: NodeId) {
        let waits = self.bench.seat(node).requests();
        let unheard = |told: &Told| match told.input {
            ServiceInput::Reply { number, .. } => waits.contains(&number),
            _ => true,
        };
        self.told.retain(|told| told.to.node != node || unheard(told));
        self.waiting.retain(|(by, number, _)| by.node != node || waits.contains(number));
    }

    /// The service has changed, perhaps by a request of that process, which knew it with that grant.
    pub(super) fn served(&mut self, by: Option<(Process, Option<Grant>)>) -> Result<(), String> {
        let told = self.service.as_mut().map_or(Vec::new(), |service| service.serves().told());
        self.told.extend(told);
        let told = std::mem::take(&mut self.told);
        self.told = told.into_iter().filter(|told| self.is_alive(told.to)).collect();
        let grant = self.grant();
        if self.apart != Apart::Tokens {
            return Ok(());
        }
        if let Some((by, Some(before))) = by
            && before.0 != name_of(by.node)
            && grant.as_ref() != Some(&before)
        {
            return Err(format!("{} takes from {} what it was granted", name_of(by.node), before.0));
        }
        if let Some((name, token)) = grant
            && !self.grants.contains(&(token, name.clone()))
        {
            let highest = self.grants.last().map_or(0, |(token, _)| *token);
            self.grants.insert((token, name));
            if token <= highest {
                return Err(format!("the service grants token {token} after {highest}"));
            }
        }
        Ok(())
    }

    pub(super) fn hear(&mut self, place: usize) -> Result<(), String> {
        let Told { to, input } = self.told.remove(place);
        let step = self.bench.give(to.node, elector::Input::Service(input));
        self.note(step)
    }

    pub(super) fn end(&mut self, which: u64) -> Result<(), String> {
        let end = self.ends().into_iter().find(|end| end.which == which).expect("it is there");
        let at = end.at.max(self.bench.now());
        self.bench.alarm(at, 0);
        let alarm =
            self.bench.choices().into_iter().rfind(|choice| matches!(choice, Choice::Arrive(due, _) if *due == at));
        self.bench.choose(alarm.expect("it has just been set"));
        if let Some(Little::ZooKeeper(_)) = self.service {
            self.cut(end.of);
        }
        let now = self.bench.now();
        self.service.as_mut().expect("it is there").serves().end(now, which);
        self.served(None)
    }

    pub(super) fn breaks(&mut self, process: Process) -> Result<(), String> {
        self.cut(process);
        self.service.as_mut().expect("it is there").serves().breaks(process);
        self.served(None)
    }

    /// Nothing that is under way on its connection is answered.
    pub(super) fn cut(&mut self, of: Process) {
        let lost = |number| {
            let reply = Err(Failure::Unknown("connection loss".to_owned()));
            Told { to: of, input: ServiceInput::Reply { number, reply } }
        };
        for told in self.told.iter_mut().filter(|told| told.to == of) {
            if let ServiceInput::Reply { number, .. } = told.input {
                *told = lost(number);
            }
        }
        let gone = self.asked.extract_if(.., |asked| asked.by == of && asked.stream().is_none());
        self.told.extend(gone.filter_map(|asked| match asked.call {
            Call::Request(number, _) => Some(lost(number)),
            _ => None,
        }));
    }

    pub(super) fn asks(&mut self, by: Process, output: ServiceOutput) -> Result<(), String> {
        let now = self.bench.now();
        let Some(service) = &mut self.service else { return Ok(()) };
        let (call, server, concurrent) = match output {
            ServiceOutput::Request { number, request, concurrent, .. } => {
                let server = server_of(&request);
                self.waiting.push((by, number, server));
                (Call::Request(number, request), server, concurrent)
            }
            ServiceOutput::Open { number, request } if service.served().opens_at_once(&request) => {
                service.serves().open(now, by, number, &request);
                return self.served(None);
            }
            ServiceOutput::Open { number, request } => (Call::Open(number, request), 0, true),
            ServiceOutput::Push(_) if service.is_ordered() => return self.breaks(by),
            ServiceOutput::Push(number) => (Call::Push(number), 0, true),
            ServiceOutput::Close(number) => {
                service.serves().close(by, number);
                self.told.retain(|told| told.to != by || stream(told) != Some(number));
                if let Some(Little::ZooKeeper(_)) = self.service {
                    self.cut(by);
                }
                return Ok(());
            }
            ServiceOutput::Cancel(_) => return Ok(()),
        };
        self.asked.push(Asked { by, call, server, concurrent, sent: false });
        Ok(())
    }
}

/// The stream that told it.
fn stream(told: &Told) -> Option<u64> {
    match told.input {
        ServiceInput::Reply { .. } => None,
        ServiceInput::Item { number, .. } | ServiceInput::Ended { number, .. } => Some(number),
    }
}
