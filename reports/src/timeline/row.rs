//! One line of the story.

use crate::{
    course::{
        model::{Belief, Model, Shading, Tick},
        moment::{Moment, Turn, What},
    },
    phrases::say,
};
use protocols::types::NodeId;

/// The state of a node, as its lane shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneState {
    pub(crate) running: Running,
    pub(crate) believes: bool,
    /// It believed when another was elected, and nothing has since reported whether it stopped.
    pub(crate) untold: bool,
    pub(crate) cut_off: bool,
}

/// The state of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Running {
    #[default]
    NotYet,
    Runs,
    Paused,
    Down,
}

/// One line of the story.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) t_us: u64,
    pub(crate) lanes: Vec<LaneState>,
    /// Had the store accepted a write?
    pub(crate) in_effect: bool,
    /// How many writes had been accepted, if that is known at this line.
    pub(crate) accepted: Option<u64>,
    pub(crate) mark: Mark,
    pub(crate) turn: Option<Turn>,
    pub(crate) text: String,
}

/// The store's lane on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Nothing happened at the store.
    Quiet,
    /// A write or seal of this node was rightly accepted.
    Accepted(NodeId),
    /// A write or seal of this node was refused.
    Refused(NodeId),
    /// A write of this node was accepted after another had taken over.
    Stale(NodeId),
}

impl Row {
    /// The line of a moment.
    pub(super) fn of(moment: &Moment, model: &Model) -> Row {
        let said = say(moment, model);
        let text = match moment.what {
            What::Fault(_) => format!("fault: {said}"),
            _ => said,
        };
        let mark = match (&moment.what, &moment.on[..]) {
            (What::Sealed { .. } | What::TakesEffect(_), [node]) => Mark::Accepted(*node),
            (What::SealRefused { .. } | What::Refused(_), [node]) => Mark::Refused(*node),
            (What::Stale(_), [node]) => Mark::Stale(*node),
            _ => Mark::Quiet,
        };
        Row { mark, turn: Some(moment.what.turn()), ..Row::at(moment.t, moment.place, text, model) }
    }

    /// A line about an event at this place, or about the time alone.
    pub(super) fn at(t_us: u64, place: u64, text: String, model: &Model) -> Row {
        let next = model.ticks.partition_point(|tick| match place {
            Moment::LAST => tick.t <= t_us,
            place => tick.place <= place,
        });
        let last = next.checked_sub(1).map(|last| model.ticks[last]);
        // Without an event of its own, only if nothing was accepted on both sides of it.
        let known = |tick: &Tick| place != Moment::LAST || tick.t == t_us || is_quiet(tick, model.ticks.get(next));
        let place = last.map_or(0, |tick| tick.place);
        let candidates = model.lanes.iter().filter(|lane| lane.role == "candidate");
        Row {
            t_us,
            lanes: candidates.map(|lane| lane_at(t_us, place, lane.node, lane.since, model)).collect(),
            in_effect: model.effects.iter().any(|e| e.r == 0 && e.places.0 <= place),
            accepted: last.filter(known).map(|tick| tick.accepted),
            mark: Mark::Quiet,
            turn: None,
            text,
        }
    }
}

/// Between these moments, was at most the second one's own write accepted?
fn is_quiet(last: &Tick, next: Option<&Tick>) -> bool {
    next.is_some_and(|next| next.accepted <= last.accepted + 1)
}

/// The state of a node just after the event at `place`.
fn lane_at(t_us: u64, place: u64, node: u16, since: u64, model: &Model) -> LaneState {
    if since > place {
        return LaneState::default();
    }
    let of = |belief: &&Belief| {
        let (from, to) = belief.places;
        model.incarnations[belief.i].node == node && from <= place && place < to
    };
    // Of a log, nobody knows whether a belief goes on that another election has replaced.
    let replaced = |belief: &Belief| model.foreign && belief.replaced.is_some_and(|by| by <= place);
    let (mut believes, mut untold) = (false, false);
    for belief in model.beliefs.iter().filter(of) {
        (believes, untold) = (believes || !replaced(belief), untold || replaced(belief));
    }
    let mut state = LaneState { running: Running::Runs, believes, untold: untold && !believes, cut_off: false };
    let now = model.shades.iter().filter(|s| s.nodes.contains(&node) && s.from <= t_us && (t_us < s.to || !s.healed));
    for shade in now {
        match shade.kind {
            Shading::Unborn => state.running = Running::NotYet,
            Shading::Down => state.running = Running::Down,
            Shading::Pause => state.running = Running::Paused,
            Shading::Cut => state.cut_off = true,
            Shading::Other => {}
        }
    }
    state
}
