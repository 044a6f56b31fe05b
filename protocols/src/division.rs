//! Divides shared things among groups: the store's resources, and the clients. All groups have the same works and the
//! same number of clients, so an index tells its group.

use crate::{
    history::Kind,
    message::Message,
    types::{NodeId, Resource},
};

/// The division of resources and clients among groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// The number of groups, at least 1.
    pub groups: u16,
    /// Resources per group; those of a group are contiguous in the common table.
    pub resources: u16,
    /// The first client; clients are the last processes, and those of a group are contiguous.
    pub first_client: NodeId,
    /// Clients per group.
    pub clients: u16,
}

impl Division {
    /// Whether there are several groups.
    #[inline]
    pub fn is_real(self) -> bool {
        self.groups > 1
    }

    /// The first resource of a group.
    pub fn first_resource(self, group: u16) -> Resource {
        Resource(group * self.resources)
    }

    fn of_resource(self, resource: Resource) -> u16 {
        self.known(resource.0 / self.resources.max(1))
    }

    /// The group of a client.
    pub fn of_client(self, client: NodeId) -> u16 {
        self.known(client.0.saturating_sub(self.first_client.0) / self.clients.max(1))
    }

    fn known(self, group: u16) -> u16 {
        if group < self.groups { group } else { 0 }
    }

    /// The group that a message to a node concerns: its client's, or its resource's.
    pub fn of_message(self, message: &Message) -> u16 {
        match message {
            Message::Next { request } | Message::Read { request } | Message::StoreIs { request, .. } => {
                self.of_client(request.client)
            }
            Message::Written { resource, .. } | Message::Sealed { resource, .. } => self.of_resource(*resource),
            Message::SealRefused { resource, .. } => self.of_resource(*resource),
            // Messages that are not for nodes.
            _ => 0,
        }
    }

    /// The group of an event, if its resource or client tells it; otherwise `None`, and the recorder must say it.
    pub fn of_event(self, kind: &Kind) -> Option<u16> {
        match kind {
            Kind::Seal { resource, .. } => Some(self.of_resource(*resource)),
            Kind::Issue { write, .. } | Kind::Apply { write, .. } => Some(self.of_resource(write.resource)),
            Kind::Deleted(deleted) => Some(self.of_resource(deleted.resource)),
            Kind::Invoke { request } | Kind::Reply { request, .. } => Some(self.of_client(request.client)),
            Kind::ReadInvoke { request } | Kind::ReadReply { request, .. } => Some(self.of_client(request.client)),
            _ => None,
        }
    }
}
