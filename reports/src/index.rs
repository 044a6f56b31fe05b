//! What a sweep, a matrix, the experiments or single runs left behind, as one page to look things up in: tables that sort and
//! filter, bars of what they show, failures with their story, links to timelines. One file of HTML that needs no network.
//!
//! The pages are made of the files themselves, so that whatever made them, and whenever, can be looked at.

mod experiments;
mod matrix;
mod model;
mod read;
mod runs;
mod sweep;

pub use experiments::{Plot, experiments};
pub use matrix::matrix;
pub use model::{Column, Grid, Index, Links, Picture, Story, Table};
pub use read::Foreign;
pub use runs::runs;
pub use sweep::sweep;

/// What the page's file is called.
pub const FILE: &str = "index.html";

#[cfg(test)]
mod tests;
