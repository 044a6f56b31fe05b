//! The functions that simulated processes run.

use fencepost_process::Main;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::{ExitCode, Termination},
    sync::atomic::AtomicU8,
};

/// The function as a process's `main`: an `fn main` as it stands, also with `#[tokio::main]` or a result. It must know
/// nothing of the place where it is named, as it runs in another process; so a closure may not capture anything.
pub fn main_of<F, T>(main: F) -> Main
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    const { assert!(size_of::<F>() == 0, "a process's main captures nothing: it runs in another process") };
    let _ = main;
    // The same in every copy of this program, wherever it lies in memory.
    Main((run::<F, T> as fn() -> i32 as usize).wrapping_sub(here()) as u64)
}

/// A place in this program. Not a function's: the compiler makes copies of small ones, so a function has several addresses.
fn here() -> usize {
    static HERE: AtomicU8 = AtomicU8::new(0);
    &raw const HERE as usize
}

/// The function of this number.
///
/// # Safety
/// The number comes from [`main_of`], in another copy of this program.
pub unsafe fn function_at(main: u64) -> fn() -> i32 {
    let address = here().wrapping_add(main as usize);
    // SAFETY: the caller's: `run::<F, T>` is at this address, as all of a program is loaded at one distance.
    unsafe { std::mem::transmute::<usize, fn() -> i32>(address) }
}

/// Runs `main` as std's runtime does, and returns the exit code.
fn run<F, T>() -> i32
where
    F: Fn() -> T + Copy + 'static,
    T: Termination,
{
    // SAFETY: the type has no size, so there is nothing to read; and `main_of` was given one, so one can exist.
    let main: F = unsafe { std::ptr::dangling::<F>().read() };
    match catch_unwind(AssertUnwindSafe(|| main().report())) {
        Ok(code) => (0..=255).find(|number| ExitCode::from(*number) == code).map_or(1, i32::from),
        // The panic has been reported already.
        Err(_) => 101,
    }
}
