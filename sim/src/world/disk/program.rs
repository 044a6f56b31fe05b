//! The disk of an unmodified program, which takes the time and has the faults of any process's disk.

use super::{Change, EIO, Folder, SimDisk, Tree, What};
use crate::world::{self, World};
use protocols::types::NodeId;
use std::{future::Future, io, ops::Range, pin::Pin};

/// A program's sync, until it ends.
pub type Syncing = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

impl Folder {
    /// A sync ends; a lying disk only acknowledges it.
    pub(super) fn end_sync(&mut self, change: Option<Change>, fails: bool) {
        if let (Some(tree), Some(change)) = (&mut self.tree, change) {
            if fails || self.lying == 0 {
                tree.commit(change, fails);
            }
        }
    }

    /// # Panics
    /// This machine fails, and the run with it.
    pub(super) fn lose_tree(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.lose_power(&mut self.random).unwrap_or_else(|e| panic!("a program's files cannot lose power: {e}"));
        }
    }
}

impl World {
    /// The folder of this machine that is the disk of a program's processes on this node.
    ///
    /// # Errors
    /// This machine has no room for one.
    pub fn files_of(&mut self, node: NodeId) -> io::Result<String> {
        let tree = &mut self.disks.of(node).tree;
        let tree = match tree {
            Some(tree) => tree,
            None => tree.insert(Tree::new()?),
        };
        let root = tree.root().into_os_string().into_string();
        root.map_err(|root| io::Error::other(format!("the temporary folder {} is not UTF-8", root.display())))
    }

    /// A program has shortened the file of this number on this machine.
    pub fn cut_file(&mut self, node: NodeId, file: u64, length: u64) {
        if let Some(tree) = &mut self.disks.of(node).tree {
            tree.cut(file, length);
        }
    }

    /// A program has given the file of this number on this machine another name; each is in a folder by its number.
    pub fn move_file(&mut self, node: NodeId, file: u64, from: (u64, String), to: (u64, String)) {
        if let Some(tree) = &mut self.disks.of(node).tree {
            tree.moves(file, from, to);
        }
    }
}

/// This process, or the machine, has too many open files.
const TOO_MANY_OPEN: [i32; 2] = [24, 23];

/// Begins a sync of a part of what this process, by its number on this machine, has behind this descriptor.
///
/// # Panics
/// This machine fails, and the run with it: no disk's sync says so.
pub fn begin_sync(node: NodeId, (process, descriptor): (u32, i32), part: Range<u64>) -> Syncing {
    let change =
        world::with(|world| world.disks.of(node).tree.as_ref().map(|tree| tree.change(process, descriptor, part)));
    match change {
        Some(Ok(change)) => Box::pin(SimDisk { node, group: 0 }.begin("", |_| What::Program(Some(change)))),
        Some(Err(error)) if error.raw_os_error().is_some_and(|error| TOO_MANY_OPEN.contains(&error)) => {
            panic!("a program's files cannot be synced: each holds a descriptor of this process (ulimit -n): {error}")
        }
        Some(Err(error)) => Box::pin(std::future::ready(Err(error))),
        None => Box::pin(std::future::ready(Err(io::Error::from_raw_os_error(EIO)))),
    }
}
