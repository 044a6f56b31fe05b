//! Records history events and counts them, tracks who believes, and returns the results of a run at its end.

use super::{World, passages::Passed, programs::Programs};
use crate::recorder::Recorder;
use protocols::{
    coverage::{self, Marks},
    elector::ServiceOutput,
    history::{Event, Kind, SERVICE_REQUESTS, SERVICE_REQUESTS_BURST, SERVICE_REQUESTS_PEAK},
    types::{MICROSECOND, MILLISECOND, NodeId, SECOND},
};
use std::collections::{BTreeMap, VecDeque};

impl World {
    /// Records an event now, in the first group unless its resource or client belongs to another.
    #[inline(always)]
    pub fn record(&mut self, mut kind: Kind) {
        self.enter(None, &mut kind);
    }

    /// Records an event of a group.
    pub fn record_in(&mut self, group: u16, mut kind: Kind) {
        self.enter(Some(group), &mut kind);
    }

    /// Records that a member of the service started or stopped leading the others. This is not part of the trace, since
    /// it follows from what members do, which is.
    pub fn member_leads(&mut self, node: NodeId, leads: bool) {
        let kind = Kind::MemberLeads { node, leads };
        self.recorder.record(Event { t_us: self.now / MICROSECOND, group: 0, kind });
    }

    /// Shared by both and not inlined, so that the functions it calls can be inlined here. Takes the event out of
    /// `kind`: it is large, and moved once.
    #[inline(never)]
    pub(super) fn enter(&mut self, group: Option<u16>, kind: &mut Kind) {
        let group = match group {
            Some(group) => group,
            None if self.grants.division.is_real() => self.grants.division.of_event(kind).unwrap_or(0),
            None => 0,
        };
        match kind {
            Kind::Elected(incarnation) => self.grants.believers.push((group, *incarnation)),
            Kind::Deposed { incarnation, .. } => self.grants.believers.retain(|b| *b != (group, *incarnation)),
            _ => {}
        }
        let waiting_for_leader = matches!(kind, Kind::Elected(_));
        let mut words = crate::words::of(kind);
        words[0] ^= u64::from(group) << 56;
        self.trace.note(self.now, words, || match group {
            0 => format!("history {kind:?}"),
            group => format!("history of group {group} {kind:?}"),
        });
        let kind = std::mem::replace(kind, Kind::Campaign { node: NodeId(0) });
        self.recorder.record(Event { t_us: self.now / MICROSECOND, group, kind });
        if waiting_for_leader {
            self.leader_appeared(group);
        }
    }

    /// The last node elected in a group that still believes; if nobody says so, the program that took effect last.
    pub(super) fn leader(&self, group: u16) -> Option<NodeId> {
        let believer = self.grants.believers.iter().rev().find(|(of, _)| *of == group);
        believer.map(|(_, believer)| believer.node).or_else(|| self.acting())
    }

    pub fn groups(&self) -> u16 {
        self.grants.division.groups
    }
}

pub struct Finished {
    /// The hash over everything that happened.
    pub trace_hash: String,
    /// Why the trace's text could not be written.
    pub trace_error: Option<std::io::Error>,
    /// The number of events.
    pub events: u64,
    /// The listeners to the history.
    pub recorder: Recorder,
    /// The coverage marks that the run reached.
    pub marks: Marks,
    /// What programs did, if candidates were programs.
    pub programs: Programs,
    /// The named points that were passed, if they were counted.
    pub passed: Vec<Passed>,
}

impl World {
    /// Ends the run and returns its results.
    pub fn finish(mut self: Box<Self>) -> Finished {
        let (hash, trace_error) = self.trace.finish();
        let marks = coverage::take();
        let (events, recorder, programs) = (self.trace.count(), self.recorder, self.programs);
        let passed = self.faults.passed.unwrap_or_default();
        Finished { trace_hash: hash, trace_error, events, recorder, marks, programs, passed }
    }
}

#[derive(Default)]
pub(super) struct Counts {
    pub delivered: u64,
    /// Messages sent for elections, by kind.
    by_kind: BTreeMap<&'static str, u64>,
    /// The times of requests to services in the last second, counted from the first fault on.
    asked: Option<VecDeque<u64>>,
}

impl World {
    /// Counts a message of the election.
    pub fn count(&mut self, kind: &'static str) {
        *self.counts.by_kind.entry(kind).or_default() += 1;
    }

    /// Counts a request of an elector to its service's client.
    pub fn count_request(&mut self, output: &ServiceOutput) {
        let asks =
            matches!(output, ServiceOutput::Request { .. } | ServiceOutput::Push(_) | ServiceOutput::Open { .. });
        if asks {
            self.count(SERVICE_REQUESTS);
            let now = self.now;
            let Counts { by_kind, asked: Some(asked), .. } = &mut self.counts else { return };
            asked.push_back(now);
            while asked.front().is_some_and(|at| at + SECOND <= now) {
                asked.pop_front();
            }
            let burst = asked.iter().rev().take_while(|at| **at + 10 * MILLISECOND > now).count();
            for (kind, many) in [(SERVICE_REQUESTS_PEAK, asked.len()), (SERVICE_REQUESTS_BURST, burst)] {
                let most = by_kind.entry(kind).or_default();
                *most = (*most).max(many as u64);
            }
        }
    }

    /// A fault strikes. Peaks count from the first fault on, since requests at the start are not due to faults.
    pub(super) fn count_peak(&mut self) {
        self.counts.asked.get_or_insert_default();
    }

    /// The history's last event.
    pub(super) fn end_of_history(&mut self) -> Kind {
        let by_kind = std::mem::take(&mut self.counts.by_kind).into_iter().map(|(kind, n)| (kind.to_owned(), n));
        Kind::End { messages: self.counts.delivered, by_kind: by_kind.collect() }
    }
}
