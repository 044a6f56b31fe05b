//! Stale reads in the story.

use super::{About, Highlights, Mark};
use crate::{
    reads::Read,
    words::{count, grouped},
};

impl Highlights {
    /// Takes an answered read. Only a stale one gets a line; successive ones of one node share it.
    pub(super) fn read(&mut self, t_us: u64, read: &Read) {
        if !read.is_stale() {
            return;
        }
        let (mut reads, mut first) = (1, *read);
        if let Some(About::Reads { reads: before, first: f }) = self.last().map(|row| &row.about)
            && f.node == read.node
        {
            (reads, first) = (before + 1, *f);
        }
        let (node, client) = (self.names.node(first.node), self.names.node(first.request.client));
        let (seq, known) = (grouped(first.seq), grouped(first.known.unwrap_or(0)));
        let text = match reads {
            1 => format!("STALE READ: {client} reads {seq} from {node} after {known} had been returned"),
            n => format!(
                "STALE READS: {} from {node}, the first {seq} after {known} had been returned",
                count(n, "read")
            ),
        };
        let about = About::Reads { reads, first };
        match self.last() {
            Some(row) if reads > 1 => (row.text, row.about) = (text, about),
            _ => self.row(t_us, Mark::Misread, about, text),
        }
    }
}
