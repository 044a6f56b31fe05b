//! How the detector handles updates about members: believes, passes on or refutes them.
//!
//! Source: hashicorp/memberlist 1b4c746, `state.go: aliveNode, suspectNode, deadNode, refute, pushPullNode`.

use super::{
    detector::{Detector, Effect, Member, State},
    gossip::{Status, Suspicion, Update},
    message::{Body, Message},
};
use crate::types::NodeId;

impl Detector {
    /// Handles an update about a member.
    pub(super) fn apply(&mut self, now: u64, update: Update, out: &mut Vec<Effect>) {
        let Update { node, incarnation, status } = update;
        let (own, member) = (node == self.own, &mut self.members[node.index()]);
        match status {
            Status::Alive if own => {
                // From an earlier incarnation.
                if !self.left && incarnation > member.incarnation {
                    self.refute(incarnation);
                }
            }
            Status::Alive => {
                if incarnation > member.incarnation {
                    member.incarnation = incarnation;
                    member.suspicion = None;
                    self.tell(update);
                    self.turn(now, node, State::Alive, out);
                }
            }
            _ if incarnation < member.incarnation || member.state == State::Unknown => {}
            Status::Suspect { by } => {
                if let Some(suspicion) = &mut member.suspicion {
                    if suspicion.confirm(by) {
                        self.tell(update);
                    }
                } else if member.state == State::Alive && own {
                    self.refute(incarnation);
                } else if member.state == State::Alive {
                    member.incarnation = incarnation;
                    let known = self.members.iter().filter(|m| m.state != State::Unknown).count();
                    let suspicion = Suspicion::new(by, known, self.interval, now);
                    self.members[node.index()].suspicion = Some(suspicion);
                    self.tell(update);
                    self.turn(now, node, State::Suspect, out);
                }
            }
            Status::Dead { by } => {
                member.suspicion = None;
                if matches!(member.state, State::Dead | State::Left) {
                    return;
                }
                if own && !self.left {
                    return self.refute(incarnation);
                }
                member.incarnation = incarnation;
                self.tell(update);
                self.turn(now, node, if by == node { State::Left } else { State::Dead }, out);
            }
        }
    }

    /// `refute`: this member is alive, whatever the claims about its incarnations up to `accused`.
    fn refute(&mut self, accused: u32) {
        let own = &mut self.members[self.own.index()];
        own.incarnation = own.incarnation.max(accused).saturating_add(1);
        let incarnation = own.incarnation;
        self.doubt(1);
        self.tell(Update { node: self.own, incarnation, status: Status::Alive });
    }

    /// Sends this member's full state, and with `ask` requests the receiver's.
    pub(super) fn exchange(&self, to: NodeId, ask: bool, out: &mut Vec<Effect>) {
        let update = |(index, member): (usize, &Member)| {
            let node = NodeId(index as u16);
            let status = match member.state {
                State::Unknown => return None,
                State::Alive => Status::Alive,
                State::Suspect => Status::Suspect { by: self.own },
                State::Dead => Status::Dead { by: self.own },
                State::Left => Status::Dead { by: node },
            };
            Some(Update { node, incarnation: member.incarnation, status })
        };
        let updates = self.members.iter().enumerate().filter_map(update).collect();
        out.push(Effect::Send { to, message: Message { body: Body::State { answer: ask }, updates } });
    }
}
