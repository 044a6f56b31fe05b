//! The effects of an adversary, and of an untrustworthy fencing device.

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
    /// A seal with a forged token reaches the store, for every resource of a group.
    pub(super) fn forge_token(&mut self, from: NodeId, group: u16) {
        let resources = self.topology.works().resources().count() as u16;
        for place in group * resources..(group + 1) * resources {
            let message = Message::Seal { resource: Resource(place), generation: 0, token: FORGED };
            self.input(self.topology.store(), Input::Message { from, message });
        }
    }

    /// Candidates receive a forged claim that another one leads.
    pub(super) fn forge_claim(&mut self, from: NodeId, to: &[NodeId]) {
        let Some(claim) = self.claim else { return };
        let message = claim(from, self.topology.candidates().len() as u16, self.now);
        for to in to.iter().copied().filter(|to| *to != from) {
            self.input(to, Input::Peer { from, message: message.clone() });
        }
    }

    /// The device receives a forged request to cut a candidate's power.
    pub(super) fn rogue_fence(&mut self, target: NodeId, by: &[NodeId]) {
        let Some(from) = by.iter().copied().find(|by| *by != target) else { return };
        let message = power::Message::Fence { target, request: self.now };
        for device in self.topology.members().collect::<Vec<_>>() {
            self.input(device, Input::Peer { from, message: message.erase() });
        }
    }

    /// Sets the manner in which fencing devices work, or restores the usual one.
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

    /// Limits the bandwidth of a process's link, in kilobits per second, or restores it. When it is restored,
    /// everything queued on its connections and as datagrams leaves at once.
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
                self.links.get(node, to).retime(last);
            }
        }
    }
}
