//! The functions of libc that this crate defines. In a simulated process they are the world's; everywhere else, and for
//! descriptors of the machine's own, they call libc's.

pub mod ambient;
pub mod bytes;
pub mod condition;
pub mod descriptor;
pub mod files;
pub mod identity;
pub mod lock;
pub mod name;
pub mod ready;
pub mod refused;
pub mod socket;
pub mod syscall;
pub mod thread;
