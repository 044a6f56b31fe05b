//! Leaderships of which a log has the end and not the beginning: whoever led before may have led beside them.

use protocols::{
    history::{Event, Kind},
    types::NodeId,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub struct Unbegun {
    /// Who has led, by group.
    led: BTreeSet<(u16, NodeId)>,
    last: BTreeMap<u16, NodeId>,
    /// A node whose first line says that it led no longer, and the one that began to lead before.
    found: Option<[NodeId; 2]>,
}

impl Unbegun {
    pub fn see(&mut self, event: &Event) {
        let node = match &event.kind {
            Kind::Elected(incarnation) => incarnation.node,
            Kind::Grant { node, .. } => *node,
            Kind::Deposed { incarnation, .. } => {
                let (group, node) = (event.group, incarnation.node);
                if let Some(last) = self.last.get(&group).filter(|_| self.led.insert((group, node))) {
                    self.found.get_or_insert([node, *last]);
                }
                return;
            }
            _ => return,
        };
        self.led.insert((event.group, node));
        self.last.insert(event.group, node);
    }

    /// Why a log that holds shows nothing.
    pub fn show_nothing(&self, name: impl Fn(NodeId) -> String) -> Option<String> {
        let [node, other] = self.found?.map(name);
        Some(format!(
            "{node} stopped leading after {other} had begun, and when {node} began, the log does not say: begin it earlier; or, if that line \
             is also written by a node that does not lead, judge without it"
        ))
    }
}
