//! What a run's code finds in libc: a clock and entropy. madsim provides them in this repository, which is built with
//! `--cfg madsim`; elsewhere `fencepost-libc` does, which defines the same functions, so a program has one or the other.

#[cfg(not(madsim))]
mod of_libc;
#[cfg(madsim)]
mod of_madsim;

#[cfg(not(madsim))]
pub use of_libc::{Ambient, Clock};
#[cfg(madsim)]
pub use of_madsim::{Ambient, Clock};
