//! Which member of the coordination service led the others, and for how long.

use protocols::{
    history::{Event, Kind, NodeState},
    types::NodeId,
};

/// When each member of the service led. Two may overlap, if one does not know of the other.
#[derive(Debug, Default)]
pub(super) struct Members {
    led: Vec<(u16, u64, u64)>,
    /// The members that lead now, and since when.
    leads: Vec<(NodeId, u64)>,
}

impl Members {
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::MemberLeads { node, leads: true } => self.leads.push((*node, event.t_us)),
            Kind::MemberLeads { node, .. } | Kind::Node { node, state: NodeState::Down | NodeState::Off } => {
                self.ends(event.t_us, |of| of == *node)
            }
            _ => {}
        }
    }

    fn ends(&mut self, t: u64, whose: impl Fn(NodeId) -> bool) {
        let Members { led, leads } = self;
        led.extend(leads.extract_if(.., |(node, _)| whose(*node)).map(|(node, from)| (node.0, from, t)));
    }

    /// Ends those that still lead at `end`, and returns all of them.
    pub(super) fn finish(mut self, end: u64) -> Vec<(u16, u64, u64)> {
        self.ends(end, |_| true);
        self.led
    }
}
