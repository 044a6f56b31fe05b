//! Members whose processes somebody else keeps: how to start them, and which of them leads. They have no relays.

use super::{kind::Kind, sockets::Place};
use std::{io, net::SocketAddr, path::Path};

/// The members of a cluster, which may not run.
#[derive(Clone, Debug)]
pub struct Roster {
    kind: Kind,
    places: Vec<Place>,
}

impl Roster {
    /// So many members on free ports.
    ///
    /// # Errors
    /// All ports are taken.
    pub fn new(kind: Kind, members: usize) -> io::Result<Roster> {
        let places = (0..members).map(|_| Place::free(false)).collect::<io::Result<_>>()?;
        Ok(Roster { kind, places })
    }

    /// Where clients find each of them.
    pub fn clients(&self) -> Vec<SocketAddr> {
        self.places.iter().map(|place| place.client).collect()
    }

    /// Prepares a member's data in `folder`, and returns its program and arguments.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn words(&self, member: usize, folder: &Path) -> io::Result<Vec<String>> {
        self.kind.prepare(member, &self.places, folder)?;
        let command = self.kind.command(member, &self.places, folder);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        Ok(words.map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// The member that reports that it leads, if exactly one does. Asking takes up to half a second for each that is silent.
    pub fn leader(&self) -> Option<usize> {
        let mut leads = (0..self.places.len()).filter(|member| self.kind.leads(*member, &self.places));
        let first = leads.next()?;
        leads.next().is_none().then_some(first)
    }
}
