//! The inside of a simulated process: this crate defines the functions of libc that reach the network, the clock,
//! entropy or another thread. A program that links it needs nothing else to run in a simulated world: no flag, no
//! patched crate, no word in its code.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! ```no_run
//! # fn service() {}
//! let main = fencepost_libc::main_of(service);
//! let zygote = fencepost_process::Zygote::start().unwrap();
//! let child = zygote.fork("n1", main).unwrap();
//! ```
//!
//! # How it works
//!
//! *A process is a process.* The world's side executes the program once more; this crate stops that copy before its
//! `main` (`zygote`) and forks it once for each simulated process. So statics are a process's own, a restart begins
//! anew, and a kill is a kill.
//!
//! *There is no system below.* Descriptors from 2^20 on are entries of a small kernel within the process (`kernel`),
//! which is safe Rust. Refusals, resets, half-closes and back-pressure come from there and from the world, and nothing
//! depends on the machine's timing.
//!
//! *One thread runs at a time* (`baton`), and gives way where it would block: in `epoll_wait`, a blocking socket, a
//! sleep, a join, a lock of glibc's, and in `syscall(SYS_futex)`, through which std's and parking_lot's locks go. Who is
//! next is drawn from the process's seed. When nobody can run, the process tells the world all that it did and waits for
//! the answer; virtual time stands still meanwhile.
//!
//! *Everything else is refused* in one sentence ([`table`]).
//!
//! In a process that is not simulated, all these functions are libc's own.

#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod baton;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod call;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod catch;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod entry;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod kernel;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod limits;
mod processor;
mod solo;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system;
pub mod table;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod vdso;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod zygote;

#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use entry::main_of;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use solo::Solo;

/// Elsewhere there are no simulated processes: [`fencepost_process::Zygote::start`] says so.
#[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn main_of<F, T>(_: F) -> fencepost_process::Main
where
    F: Fn() -> T + Copy + 'static,
    T: std::process::Termination,
{
    fencepost_process::Main(0)
}
