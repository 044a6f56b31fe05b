//! Why beliefs and grants end, as data and in a few words; and which member of the service led the others, and for how
//! long.

use protocols::{
    elector::Deposed,
    history::{Event, GrantEnd, Kind, NodeState},
    types::NodeId,
};
use serde::{Serialize, Serializer, ser::SerializeTuple};

/// Why a belief ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Deposed(Deposed),
    /// With its process.
    Died,
    /// Its node was elected again.
    Anew,
    /// A log shows that it ended, not when.
    Unsaid,
}

impl Ended {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Ended::Deposed(reason) => reason.name(),
            Ended::Died => "its process ended",
            Ended::Anew => "elected anew",
            Ended::Unsaid => "the log does not say when",
        }
    }
}

impl Serialize for Ended {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.words())
    }
}

/// Why a grant ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GrantEnded(pub(crate) GrantEnd);

impl GrantEnded {
    pub(crate) const fn words(self) -> &'static str {
        match self.0 {
            GrantEnd::Expired => "it expired",
            GrantEnd::Released => "its holder released it",
            GrantEnd::Taken => "it was taken away",
            GrantEnd::Lost => "the service lost it",
        }
    }
}

impl Serialize for GrantEnded {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.words())
    }
}

/// When and why a belief had become wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outlived {
    pub(crate) t: u64,
    pub(crate) why: Grounds,
}

/// What a wrong belief lacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grounds {
    /// Another had been elected.
    Replaced,
    /// A newer one had been elected before.
    Late,
    Grant(GrantEnded),
    NeverGranted,
}

/// The time, the words, and a word for scripts.
impl Serialize for Outlived {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (words, kind) = match self.why {
            Grounds::Replaced => ("another was elected".to_owned(), "replaced"),
            Grounds::Late => ("a newer one had been elected".to_owned(), "replaced"),
            Grounds::Grant(ended) => (format!("its grant had ended: {}", ended.words()), "grant"),
            Grounds::NeverGranted => ("the service never granted it".to_owned(), "never"),
        };
        let mut parts = to.serialize_tuple(3)?;
        parts.serialize_element(&self.t)?;
        parts.serialize_element(&words)?;
        parts.serialize_element(kind)?;
        parts.end()
    }
}

// Which member of the coordination service led the others, and for how long.

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
