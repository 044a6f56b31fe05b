//! How what several groups share is divided among them: the store's resources, and the clients. Each group has the same
//! works and as many clients as any other, so that what belongs to whom can be told by its place.

use crate::{
    history::Kind,
    message::Message,
    types::{NodeId, Resource},
};

/// Whose what is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// How many groups there are, at least 1.
    pub groups: u16,
    /// Resources of each group; those of a group stand together in the table of all.
    pub resources: u16,
    /// The first client; clients are the last processes, and those of a group stand together.
    pub first_client: NodeId,
    /// Clients of each group.
    pub clients: u16,
}

impl Division {
    /// Are there several groups?
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

    /// The group that a client asks.
    pub fn of_client(self, client: NodeId) -> u16 {
        self.known(client.0.saturating_sub(self.first_client.0) / self.clients.max(1))
    }

    fn known(self, group: u16) -> u16 {
        if group < self.groups { group } else { 0 }
    }

    /// The group whose node a message to it is for: the client's who asks, or that of the resource which is spoken of.
    pub fn of_message(self, message: &Message) -> u16 {
        match message {
            Message::Next { request } | Message::Read { request } | Message::StoreIs { request, .. } => {
                self.of_client(request.client)
            }
            Message::Written { resource, .. } | Message::Sealed { resource, .. } => self.of_resource(*resource),
            Message::SealRefused { resource, .. } => self.of_resource(*resource),
            // What is for no node.
            _ => 0,
        }
    }

    /// The group that something belongs to, where its resource or its client tells; `None` where whoever does it must say.
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
