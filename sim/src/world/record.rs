//! Records history events, tracks who believes, and returns the results of a run at its end.

use super::{World, programs::Programs};
use crate::recorder::Recorder;
use protocols::{
    coverage::{self, Marks},
    history::{Event, Kind},
    types::{MICROSECOND, NodeId},
};

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
}

impl World {
    /// Ends the run and returns its results.
    pub fn finish(mut self: Box<Self>) -> Finished {
        let (hash, trace_error) = self.trace.finish();
        let marks = coverage::take();
        let (events, recorder, programs) = (self.trace.count(), self.recorder, self.programs);
        Finished { trace_hash: hash, trace_error, events, recorder, marks, programs }
    }
}
