//! The judge on histories of which it is known what is wrong with them, and the figures.

mod browser;
mod facts;
mod figures;
mod groups;
mod histories;
mod memory;
mod plots;
