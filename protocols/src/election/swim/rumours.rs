//! What the detector makes of what is said of members: who is told, who is believed, and who contradicts.
//!
//! Source: hashicorp/memberlist 1b4c746, `state.go: aliveNode, suspectNode, deadNode, refute, pushPullNode`.

use super::{
    detector::{Detector, Effect, Member, State},
    gossip::{Rumour, Update},
    message::{Body, Message},
    suspicion::Suspicion,
};
use crate::types::NodeId;

impl Detector {
    /// Takes what is said of a member.
    pub(super) fn apply(&mut self, now: u64, update: Update, out: &mut Vec<Effect>) {
        let Update { node, incarnation, rumour } = update;
        let (own, member) = (node == self.own, &mut self.members[node.index()]);
        match rumour {
            Rumour::Alive if own => {
                // Of a life before this one.
                if !self.left && incarnation > member.incarnation {
                    self.contradict(incarnation);
                }
            }
            Rumour::Alive => {
                if incarnation > member.incarnation {
                    member.incarnation = incarnation;
                    member.suspicion = None;
                    self.tell(update);
                    self.turn(now, node, State::Alive, out);
                }
            }
            _ if incarnation < member.incarnation || member.state == State::Unknown => {}
            Rumour::Suspect { by } => {
                if let Some(suspicion) = &mut member.suspicion {
                    if suspicion.confirm(by) {
                        self.tell(update);
                    }
                } else if member.state == State::Alive && own {
                    self.contradict(incarnation);
                } else if member.state == State::Alive {
                    member.incarnation = incarnation;
                    let known = self.members.iter().filter(|m| m.state != State::Unknown).count();
                    let suspicion = Suspicion::new(by, known, self.interval, now);
                    self.members[node.index()].suspicion = Some(suspicion);
                    self.tell(update);
                    self.turn(now, node, State::Suspect, out);
                }
            }
            Rumour::Dead { by } => {
                member.suspicion = None;
                if matches!(member.state, State::Dead | State::Left) {
                    return;
                }
                if own && !self.left {
                    return self.contradict(incarnation);
                }
                member.incarnation = incarnation;
                self.tell(update);
                self.turn(now, node, if by == node { State::Left } else { State::Dead }, out);
            }
        }
    }

    /// `refute`: this member lives, whatever was said of its incarnation up to `accused`.
    fn contradict(&mut self, accused: u32) {
        let own = &mut self.members[self.own.index()];
        own.incarnation = own.incarnation.max(accused).saturating_add(1);
        let incarnation = own.incarnation;
        self.doubt(1);
        self.tell(Update { node: self.own, incarnation, rumour: Rumour::Alive });
    }

    /// Sends everything that this member knows, and perhaps asks for the same.
    pub(super) fn exchange(&self, to: NodeId, ask: bool, out: &mut Vec<Effect>) {
        let update = |(index, member): (usize, &Member)| {
            let node = NodeId(index as u16);
            let rumour = match member.state {
                State::Unknown => return None,
                State::Alive => Rumour::Alive,
                State::Suspect => Rumour::Suspect { by: self.own },
                State::Dead => Rumour::Dead { by: self.own },
                State::Left => Rumour::Dead { by: node },
            };
            Some(Update { node, incarnation: member.incarnation, rumour })
        };
        let updates = self.members.iter().enumerate().filter_map(update).collect();
        out.push(Effect::Send { to, message: Message { body: Body::State { answer: ask }, updates } });
    }
}
