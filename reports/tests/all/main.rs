//! The judge on histories whose faults are known, and the figures.

mod browser;
mod facts;
mod figures;
mod groups;
mod histories;
mod memory;
mod names;
mod plots;
mod specification;
