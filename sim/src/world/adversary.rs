//! What an adversary does to the world, and a device that cannot be trusted.

use super::World;
use protocols::{
    core::Input,
    fence::checks::FORGED,
    message::Message,
    payload::Payload,
    service::power::{self, Manner},
    types::{MILLISECOND, NodeId, Resource},
};
use scenarios::fault::Fault;

impl World {
    /// A seal with a token that nobody handed out reaches the store, for every resource of a group.
    pub(super) fn forge_token(&mut self, from: NodeId, group: u16) {
        let resources = self.topology.works().resources().count() as u16;
        for place in group * resources..(group + 1) * resources {
            let message = Message::Seal { resource: Resource(place), generation: 0, token: FORGED };
            self.input(self.topology.store(), Input::Message { from, message });
        }
    }

    /// Candidates are told in another's name that it leads.
    pub(super) fn forge_claim(&mut self, from: NodeId, to: &[NodeId]) {
        let Some(claim) = self.claim else { return };
        let message = claim(from, self.topology.candidates().len() as u16, self.now);
        for to in to.iter().copied().filter(|to| *to != from) {
            self.input(to, Input::Peer { from, message: message.clone() });
        }
    }

    /// The device is asked in a candidate's name to cut another's power.
    pub(super) fn rogue_fence(&mut self, target: NodeId, by: &[NodeId]) {
        let Some(from) = by.iter().copied().find(|by| *by != target) else { return };
        let message = power::Message::Fence { target, request: self.now };
        for device in self.topology.members().collect::<Vec<_>>() {
            self.input(device, Input::Peer { from, message: message.erase() });
        }
    }

    /// A fencing device does its work in another manner from now on, or in the usual one again.
    pub(super) fn set_manner(&mut self, devices: &[NodeId], what: &Fault, on: bool) {
        let ns = |ms: f64| (ms * MILLISECOND as f64) as u64;
        let manner = match *what {
            Fault::LyingDevice { .. } if on => Manner::Lies,
            Fault::CloudDevice { stopping_ms, throttle_ms, .. } if on => {
                Manner::Cloud { stopping: ns(stopping_ms), throttle: ns(throttle_ms) }
            }
            _ => Manner::Honest,
        };
        for device in devices {
            self.input(*device, Input::Peer { from: *device, message: manner.erase() });
        }
    }

    /// A process's link carries so many thousand bits a second, or what it usually does. What waits on its connections and
    /// as datagrams when it is wide again leaves at once.
    pub(super) fn narrow(&mut self, node: NodeId, kbps: u64, on: bool) {
        let now = self.now;
        self.links.uplink(node).narrow(now, kbps, on);
        if on {
            return;
        }
        for to in (0..self.processes.len() as u16).map(NodeId).filter(|to| *to != node) {
            let at = now + self.links.get(node, to).wire_max();
            if self.queue.lane_len(node, to) > 0 {
                let last = self.queue.retime_lane(node, to, at, at);
                self.links.get(node, to).is_retimed(last);
            }
        }
    }
}
