//! Copies of a disk, like volume snapshots, and replacement of a disk after its process has died; and another future of it.

use super::{File, Files, Folder};
use rand_chacha::ChaCha8Rng;

impl Folder {
    /// Draws from `random` from now on.
    pub fn draw_from(&mut self, random: ChaCha8Rng) {
        self.random = random;
    }

    /// What a power loss would leave now, if the disk does not lie and no sync has failed.
    pub fn copy(&self) -> Files {
        let files = self.files.iter();
        files.map(|(name, file)| (name.clone(), file.content[..file.durable].to_vec())).collect()
    }

    /// Replaces all contents; operations in progress are dropped. The process must not be running.
    pub fn set_to(&mut self, files: Files) {
        self.under_way.clear();
        self.failed.clear();
        self.done = self.numbers;
        self.replaced = true;
        let whole = |content: Vec<u8>| File { durable: content.len(), content, ..File::default() };
        self.files = files.into_iter().map(|(name, content)| (name, whole(content))).collect();
    }

    /// Whether [`Self::set_to`] has put the contents there.
    pub fn is_replaced(&self) -> bool {
        self.replaced
    }
}
