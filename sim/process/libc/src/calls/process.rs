//! The end of a process.

use crate::{
    baton::inside,
    system::{leave, real},
};
use fencepost_process::Then;
use libc::c_int;

/// Tells the world that the process ends; false in any other process.
pub fn say_goodbye(then: Then) -> bool {
    let told = inside(|kernel, _| {
        // Without a world, nobody wants to know.
        let _: std::io::Result<()> = kernel.exchange(then);
    });
    if told.is_some() {
        crate::baton::end();
    }
    told.is_some()
}

#[unsafe(no_mangle)]
pub extern "C" fn _exit(code: c_int) -> ! {
    say_goodbye(Then::Exit { code: code & 0xff });
    leave(code)
}

#[unsafe(no_mangle)]
pub extern "C" fn _Exit(code: c_int) -> ! {
    _exit(code)
}

#[unsafe(no_mangle)]
pub extern "C" fn abort() -> ! {
    say_goodbye(Then::Died { signal: libc::SIGABRT });
    // SAFETY: it takes nothing, and does not return.
    unsafe { real!(fn abort() -> !)() }
}
