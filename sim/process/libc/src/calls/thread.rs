//! Threads: created as libc does it, but each waits for its turn.

use crate::{
    baton::{Beginning, Routine, inside, is_inside, join_really, run_thread, wait},
    kernel::threads::On,
    solo,
    system::real,
};
use libc::{c_int, c_void, pthread_attr_t, pthread_t};

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Routine, *mut c_void) -> c_int;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    id: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Routine,
    argument: *mut c_void,
) -> c_int {
    let create: Create = real!(fn pthread_create(*mut pthread_t, *const pthread_attr_t, Routine, *mut c_void) -> c_int);
    let added = inside(|kernel, _| {
        let place = kernel.add_thread();
        (place, kernel.threads[place].go)
    });
    let Some((place, go)) = added else {
        solo::refuse_threads();
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { create(id, attributes, start, argument) };
    };
    // A thread must be there to be waited for, even if the program wants to hear no more of it.
    // SAFETY: attributes may be copied as long as the original lives; they are null or the caller's, initialised.
    let mut joinable = (!attributes.is_null()).then(|| unsafe { std::ptr::read(attributes) });
    let mut detached = 0;
    let mut given = std::ptr::null();
    if let Some(copy) = &mut joinable {
        // SAFETY: these are initialised attributes.
        unsafe {
            pthread_attr_getdetachstate(copy, &mut detached);
            libc::pthread_attr_setdetachstate(copy, libc::PTHREAD_CREATE_JOINABLE);
        }
        given = copy;
    }
    let beginning = Box::into_raw(Box::new(Beginning { start, argument, place, go }));
    // SAFETY: the attributes are valid; `run_thread` takes what `beginning` points to, once.
    let result = unsafe { create(id, given, run_thread, beginning.cast()) };
    if result != 0 {
        // SAFETY: no thread was created, so nobody else takes it.
        drop(unsafe { Box::from_raw(beginning) });
        inside(|kernel, _| kernel.give_up_thread(place));
        return result;
    }
    // SAFETY: `pthread_create` has written it.
    let id = unsafe { *id } as usize;
    inside(|kernel, _| {
        kernel.threads[place].id = id;
        kernel.threads[place].detached = detached == libc::PTHREAD_CREATE_DETACHED;
    });
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(id: pthread_t, value: *mut *mut c_void) -> c_int {
    let found = inside(|kernel, me| {
        let place = kernel.thread_of(id as usize)?;
        Some((place, place == me, kernel.threads[place].on == On::Ended))
    });
    match found {
        Some(Some((_, true, _))) => return libc::EDEADLK,
        Some(Some((place, _, ended))) => {
            if !ended {
                wait(On::Join(place), None);
            }
            inside(|kernel, _| kernel.forget_thread(place));
        }
        _ => {}
    }
    // SAFETY: the caller's arguments; the thread has ended, so this waits for the system only.
    unsafe { join_really(id, value) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_detach(id: pthread_t) -> c_int {
    if !is_inside() {
        // SAFETY: the caller's argument goes to the function that was called.
        return unsafe { real!(fn pthread_detach(pthread_t) -> c_int)(id) };
    }
    let ended = inside(|kernel, _| {
        let place = kernel.thread_of(id as usize)?;
        kernel.threads[place].detached = true;
        let ended = kernel.threads[place].on == On::Ended;
        if ended {
            kernel.forget_thread(place);
        }
        Some(ended)
    });
    match ended.flatten() {
        // SAFETY: it was created joinable, has ended, and nobody may join it any more.
        Some(true) => unsafe { join_really(id, std::ptr::null_mut()) },
        Some(false) => 0,
        None => libc::ESRCH,
    }
}
