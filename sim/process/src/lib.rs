//! Operating-system processes in a simulated world, seen from outside.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! A simulated process is a child process. Within it, `fencepost-libc` defines the functions of libc that reach the
//! network, the clock, entropy or another thread, so the program itself is unmodified. This crate is the other end: it
//! starts such a child, talks with it and kills it. It is safe Rust on the standard library, and defines no symbol, so
//! a build with `--cfg madsim` can link it.
//!
//! Virtual time stands still while a child runs. It runs until none of its threads can; then it sends one [`Turn`],
//! everything that it did and until when it would wait, and blocks until the world answers with one [`Go`]. So a child
//! that gets no answer is paused, and one whose answer comes late has a slow machine.
//!
//! ```no_run
//! # use fencepost_process::{Error, Main, Start};
//! # fn drive(main: Main, start: Start) -> Result<(), Error> {
//! use fencepost_process::{Go, Then, Zygote};
//! let zygote = Zygote::start()?;
//! let mut child = zygote.fork("n1", main)?;
//! let mut turn = child.begin(&start)?;
//! while let Then::Wait { until } = turn.then {
//!     let mono = until.expect("nothing else happens in this world");
//!     turn = child.go(&Go { mono, wall: mono, stop_at: u64::MAX, quiet_until: 0, events: Vec::new() })?;
//! }
//! child.kill();
//! # Ok(()) }
//! ```

mod child;
mod control;
mod error;
mod message;
mod watch;
mod wire;
mod zygote;

pub use child::Child;
pub use control::{Ended, Hello, Order, Reply};
pub use error::Error;
pub use message::{Broken, Event, Go, Op, ROOM, Start, Then, Turn};
pub use wire::{Garbled, Plain, Reader, receive, send};
pub use zygote::{Main, VARIABLE, Zygote};
