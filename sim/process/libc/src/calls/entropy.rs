//! Entropy, drawn from the process's seed.

use crate::{
    baton::{inside, is_inside},
    solo,
    system::real,
};
use libc::{c_int, c_uint, c_void, size_t, ssize_t};

/// Fills the memory; false if the calling thread is not simulated.
///
/// # Safety
/// `count` bytes at `to` are the caller's to write.
unsafe fn fill(to: *mut c_void, count: size_t) -> bool {
    if count == 0 {
        return is_inside();
    }
    // SAFETY: the caller's; bytes may have any value, so also those that were never written.
    let bytes = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), count) };
    inside(|kernel, _| kernel.entropy.fill(bytes)).is_some() || solo::fill(bytes)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(to: *mut c_void, count: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the caller passes a buffer of this length.
    if unsafe { fill(to, count) } {
        return count as ssize_t;
    }
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn getrandom(*mut c_void, size_t, c_uint) -> ssize_t)(to, count, flags) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getentropy(to: *mut c_void, count: size_t) -> c_int {
    // SAFETY: the caller passes a buffer of this length.
    if unsafe { fill(to, count) } {
        return 0;
    }
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn getentropy(*mut c_void, size_t) -> c_int)(to, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn arc4random_buf(to: *mut c_void, count: size_t) {
    // SAFETY: the caller passes a buffer of this length.
    if !unsafe { fill(to, count) } {
        // SAFETY: the caller's arguments go to the function that was called.
        unsafe { real!(fn arc4random_buf(*mut c_void, size_t) -> ())(to, count) };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn arc4random() -> u32 {
    match inside(|kernel, _| kernel.entropy.next() as u32) {
        Some(number) => number,
        // SAFETY: it takes nothing.
        None => unsafe { real!(fn arc4random() -> u32)() },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn arc4random_uniform(bound: u32) -> u32 {
    match inside(|kernel, _| kernel.entropy.next()) {
        Some(number) => ((u128::from(number) * u128::from(bound)) >> 64) as u32,
        // SAFETY: a number only.
        None => unsafe { real!(fn arc4random_uniform(u32) -> u32)(bound) },
    }
}
