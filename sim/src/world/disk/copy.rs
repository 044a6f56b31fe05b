//! Copies of a disk, as snapshots of a volume are, and a disk that is another one's after the process that used it has died.

use super::{File, Files, Folder};

impl Folder {
    /// What a loss of power would leave at this moment, if the disk does not lie and no sync has failed.
    pub fn copy(&self) -> Files {
        let files = self.files.iter();
        files.map(|(name, file)| (name.clone(), file.content[..file.durable].to_vec())).collect()
    }

    /// From now on there is this on the disk, and nothing else; what was under way is not done. Nobody uses the disk.
    pub fn set_to(&mut self, files: Files) {
        self.under_way.clear();
        self.failed.clear();
        self.done = self.numbers;
        self.replaced = true;
        let whole = |content: Vec<u8>| File { durable: content.len(), content, ..File::default() };
        self.files = files.into_iter().map(|(name, content)| (name, whole(content))).collect();
    }

    /// Was what is on the disk put there by [`Self::set_to`]?
    pub fn is_replaced(&self) -> bool {
        self.replaced
    }
}
