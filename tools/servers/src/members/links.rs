//! The links between the members of a cluster.

use super::{
    Kind,
    relay::{Relay, Wall},
    sockets::Place,
};
use std::{io, sync::Arc};

/// How often other ports are tried, since free ports may be taken before they are used.
const TRIED: u32 = 5;

/// The members' addresses, and the relays in front of them, which end when this is dropped.
pub(super) struct Links {
    pub(super) places: Vec<Place>,
    wall: Arc<Wall>,
    relays: Vec<Relay>,
}

impl Links {
    /// Of so many members on free ports.
    ///
    /// # Errors
    /// All ports are taken.
    pub(super) fn new(kind: &Kind, members: usize) -> io::Result<Links> {
        let mut found = Links::between(kind, members);
        for _ in 1..TRIED {
            found = found.or_else(|_| Links::between(kind, members));
        }
        found
    }

    fn between(kind: &Kind, members: usize) -> io::Result<Links> {
        let places: Vec<Place> = (0..members).map(|_| Place::free()).collect::<io::Result<_>>()?;
        let second: Vec<u16> = places.iter().map(|place| place.second).collect();
        let mut links = Links { places, wall: Arc::default(), relays: Vec::new() };
        for (member, place) in links.places.iter().enumerate() {
            let relays = &mut links.relays;
            relays.push(Relay::streams(&links.wall, member, place.peer, false)?);
            if kind.has_second() {
                relays.push(Relay::streams(&links.wall, member, place.second, kind.introduces())?);
            }
            if kind.gossips() {
                relays.push(Relay::datagrams(&links.wall, member, second.clone())?);
            }
        }
        Ok(links)
    }

    /// Sets the process of a member, or the one that starts it.
    pub(super) fn is(&self, member: usize, process: u32) {
        self.wall.is(member, process);
    }

    /// Cuts a member off from the others, while clients reach all of them.
    pub(super) fn cut_off(&self, member: usize) {
        for other in (0..self.places.len()).filter(|other| *other != member) {
            self.wall.cut(member, other);
            self.wall.cut(other, member);
        }
    }

    /// Ends all cuts.
    pub(super) fn heal(&self) {
        self.wall.heal();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.wall.end();
        self.relays.drain(..).for_each(Relay::join);
    }
}
