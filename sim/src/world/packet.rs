//! What travels between processes. Messages of clients, nodes and the store are copied; messages between candidates
//! vary in size, so only an index travels.

use crate::words;
use protocols::{
    core::Input,
    message::Message,
    payload::{Opaque, Payload as _},
    types::NodeId,
};

/// A message in flight.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packet {
    /// Between clients, nodes and the store.
    Message(Message),
    /// Between candidates, or to or from a fencing device: the index of the stored message.
    Peer(u32),
}

/// Messages between candidates in flight. Messages lost with a crashed connection stay here until the run ends.
#[derive(Default)]
pub(super) struct Said {
    kept: Vec<Option<Opaque>>,
    free: Vec<u32>,
}

impl Said {
    /// Stores a message while it travels.
    pub fn keep(&mut self, message: Opaque) -> Packet {
        let Some(place) = self.free.pop() else {
            self.kept.push(Some(message));
            return Packet::Peer(self.kept.len() as u32 - 1);
        };
        self.kept[place as usize] = Some(message);
        Packet::Peer(place)
    }

    /// Stores a duplicate.
    pub fn copy(&mut self, packet: Packet) -> Packet {
        match packet {
            Packet::Peer(place) => match self.kept[place as usize].clone() {
                Some(message) => self.keep(message),
                None => packet,
            },
            message => message,
        }
    }

    /// Whether it is part of the election; otherwise it is data.
    #[inline]
    pub fn elects(&self, packet: &Packet) -> bool {
        match packet {
            Packet::Message(_) => false,
            Packet::Peer(place) => self.kept[*place as usize].as_ref().is_none_or(|said| !said.is_data()),
        }
    }

    /// Removes a message that no longer travels.
    pub fn forget(&mut self, packet: Packet) -> Option<Opaque> {
        let Packet::Peer(place) = packet else { return None };
        let message = self.kept[place as usize].take()?;
        self.free.push(place);
        Some(message)
    }

    /// Takes a message that has arrived; `None` if it arrived before.
    #[cold]
    pub fn input(&mut self, from: NodeId, packet: Packet) -> Option<Input> {
        match packet {
            Packet::Message(message) => Some(Input::Message { from, message }),
            packet => self.forget(packet).map(|message| Input::Peer { from, message }),
        }
    }

    /// As three words, for the trace.
    #[inline]
    pub fn words(&self, packet: &Packet) -> [u64; 3] {
        match packet {
            Packet::Message(message) => words::of_message(message),
            Packet::Peer(place) => self.words_of_peer(*place),
        }
    }

    #[cold]
    fn words_of_peer(&self, place: u32) -> [u64; 3] {
        words::of_peer(self.kept[place as usize].as_ref())
    }

    /// As text, for the trace.
    pub fn text(&self, packet: &Packet) -> String {
        match packet {
            Packet::Message(message) => format!("{message:?}"),
            Packet::Peer(place) => {
                self.kept[*place as usize].as_ref().map_or(String::new(), |said| format!("Peer({said:?})"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{election::lowest_id::Message, payload::Payload};

    #[test]
    fn what_is_said_is_kept_until_it_arrives_and_its_place_is_used_again() {
        let (mut said, from) = (Said::default(), NodeId(1));
        let first = said.keep(Message::Advertisement.erase());
        let again = said.copy(first);
        let other = said.keep(Message::Release.erase());
        assert_eq!(said.text(&other), "Peer(Release)");
        assert_eq!(said.words(&first), said.words(&again));
        assert_ne!(said.words(&first), said.words(&other));
        for packet in [first, again] {
            let Some(Input::Peer { message, .. }) = said.input(from, packet) else { panic!("it was kept") };
            assert_eq!(message.get(), Some(&Message::Advertisement));
            assert!(said.input(from, packet).is_none(), "it has arrived");
        }
        said.forget(other);
        for _ in 0..3 {
            said.keep(Message::Release.erase());
        }
        assert_eq!(said.kept.len(), 3);
    }
}
