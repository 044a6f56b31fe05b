//! Members whose processes somebody else keeps: how to start them, which of them leads, and their links.

use super::{kind::Kind, links::Links};
use std::{io, net::SocketAddr, path::Path};

/// The members of a cluster, which may not run.
pub struct Roster {
    kind: Kind,
    links: Links,
}

impl Roster {
    /// So many members on free ports: 3 or 5.
    ///
    /// # Errors
    /// All ports are taken.
    pub fn new(kind: Kind, members: usize) -> io::Result<Roster> {
        let links = Links::new(&kind, members)?;
        Ok(Roster { kind, links })
    }

    /// Where clients find each of them.
    pub fn clients(&self) -> Vec<SocketAddr> {
        self.links.places.iter().map(|place| place.client).collect()
    }

    /// Prepares a member's data in `folder`, and returns its program and arguments.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn words(&self, member: usize, folder: &Path) -> io::Result<Vec<String>> {
        self.kind.prepare(member, &self.links.places, folder)?;
        let command = self.kind.command(member, &self.links.places, folder);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        Ok(words.map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// The process of a member from now on, or the one that starts it. Without it, a cut ends the member's connections.
    pub fn is(&self, member: usize, process: u32) {
        self.links.is(member, process);
    }

    /// The member that reports that it leads, if exactly one does. Asking takes up to half a second for each that is silent.
    pub fn leader(&self) -> Option<usize> {
        let places = &self.links.places;
        let mut leads = (0..places.len()).filter(|member| self.kind.leads(*member, places));
        let first = leads.next()?;
        leads.next().is_none().then_some(first)
    }

    /// Cuts a member off from the others, while clients reach all of them.
    pub fn cut_off(&self, member: usize) {
        self.links.cut_off(member);
    }

    /// Ends all cuts.
    pub fn heal(&self) {
        self.links.heal();
    }
}
