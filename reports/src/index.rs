//! Builds one page from what a sweep, a matrix, the experiments, nights or single runs left behind: tables that sort
//! and filter, bars, failures with their stories, links to timelines. It is one HTML file that needs no network.
//!
//! Pages are made from the files alone, so files of any origin and age can be shown.

mod experiments;
mod matrix;
mod model;
mod nights;
mod read;
mod runs;
mod sweep;

pub use experiments::{Plot, experiments};
pub use matrix::matrix;
pub use model::{Column, Grid, Index, Links, Picture, Story, Table};
pub use nights::nights;
pub use read::Foreign;
pub use runs::runs;
pub use sweep::sweep;

/// The page's file name.
pub const FILE: &str = "index.html";

#[cfg(test)]
mod tests;
