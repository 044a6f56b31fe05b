//! The baton: of all threads of a simulated process, the one that has it runs. A thread gives it up where it would
//! block, so the process's kernel and, in fact, all of its memory belong to one thread at a time.

use crate::{
    kernel::{
        Kernel,
        threads::{On, Until},
    },
    system::{self, real},
};
use fencepost_process::Then;
use libc::{c_int, c_void};
use std::{
    cell::{Cell, UnsafeCell},
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

struct Global(UnsafeCell<Option<Kernel>>);

// SAFETY: it is used in `inside` only, by the thread that has the baton.
unsafe impl Sync for Global {}

static KERNEL: Global = Global(UnsafeCell::new(None));
/// Is this a simulated process? Until then, and in every other process, all functions are libc's own.
static LIVE: AtomicBool = AtomicBool::new(false);
/// The system's number of the thread that has the baton; the world looks here when a process does not come back.
pub static RUNNING: AtomicU32 = AtomicU32::new(0);
/// The key whose destructor is [`last_words`].
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);
/// What a thread's `go` says when it has the baton.
const YOURS: u32 = 1;
const NOBODY: usize = usize::MAX;
/// Destructors of a thread's keys run in so many rounds (`PTHREAD_DESTRUCTOR_ITERATIONS`); ours is the last.
const ROUNDS: usize = 4;

thread_local! {
    static ME: Cell<usize> = const { Cell::new(NOBODY) };
    /// The kernel works: what it calls is libc's own.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Works on the kernel, as the calling thread; `None` if the thread belongs to no simulated process, or is in here.
#[inline]
pub fn inside<T>(work: impl FnOnce(&mut Kernel, usize) -> T) -> Option<T> {
    if !LIVE.load(Ordering::Relaxed) || BUSY.get() || ME.get() == NOBODY {
        return None;
    }
    BUSY.set(true);
    // SAFETY: a thread is somebody (`ME`) only from when it first got the baton until it gave it up for good, and it runs
    // only while it has it; and `BUSY` keeps this thread from coming in here twice. So no other reference exists.
    let done = unsafe { &mut *KERNEL.0.get() }.as_mut().map(|kernel| work(kernel, ME.get()));
    BUSY.set(false);
    done
}

/// Is the calling thread one of a simulated process?
#[inline]
pub fn is_inside() -> bool {
    LIVE.load(Ordering::Relaxed) && !BUSY.get() && ME.get() != NOBODY
}

/// Waits for this, or for the time; true if it was woken by what it waited for.
pub fn wait(on: On, until: Option<Until>) -> bool {
    let next = inside(|kernel, me| {
        kernel.wait(me, on, until);
        let next = kernel.next_thread().ok()?;
        Some((next != me).then(|| (Next::of(kernel, next), kernel.threads[me].go)))
    });
    match next {
        Some(Some(Some((next, mine)))) => {
            next.give();
            take(mine);
        }
        Some(Some(None)) => {}
        // The world is gone, and the process with it.
        Some(None) => system::leave(0),
        None => return false,
    }
    inside(|kernel, me| kernel.was_woken(me)).unwrap_or(false)
}

/// What it takes to hand the baton over, when nothing of the kernel is borrowed any more.
struct Next {
    go: &'static AtomicU32,
    system: u32,
}

impl Next {
    fn of(kernel: &Kernel, place: usize) -> Next {
        Next { go: kernel.threads[place].go, system: kernel.threads[place].system }
    }

    fn give(self) {
        RUNNING.store(self.system, Ordering::Relaxed);
        self.go.store(YOURS, Ordering::Release);
        system::rouse(self.go);
    }
}

/// Sleeps until the baton is there.
fn take(go: &AtomicU32) {
    while go.swap(0, Ordering::Acquire) != YOURS {
        system::sleep_while(go, 0);
    }
    see_off_the_leaving();
}

/// A thread that has ended gave up the baton, and is on its way out: only when it is gone is everything that it frees in
/// the same place in every run.
fn see_off_the_leaving() {
    let leaving = inside(|kernel, _| {
        let place = kernel.leaving.take()?;
        let thread = &kernel.threads[place];
        let (id, number, detached) = (thread.id, thread.system, thread.detached);
        if detached {
            kernel.forget_thread(place);
        }
        Some((id, number, detached))
    });
    match leaving.flatten() {
        // SAFETY: threads are created joinable, whatever the program wished; nobody joined it, as it is detached.
        Some((id, _, true)) if id != 0 => drop(unsafe { join_really(id as libc::pthread_t, ptr::null_mut()) }),
        Some((_, number, _)) => system::see_off(number),
        None => {}
    }
}

/// libc's own `pthread_join`.
///
/// # Safety
/// As that one.
pub unsafe fn join_really(id: libc::pthread_t, value: *mut *mut c_void) -> c_int {
    let join = real!(fn pthread_join(libc::pthread_t, *mut *mut c_void) -> c_int);
    // SAFETY: the caller's.
    unsafe { join(id, value) }
}

/// The calling thread, the only one, becomes the first thread of a simulated process.
pub fn begin(kernel: Kernel) {
    assert!(!LIVE.load(Ordering::Relaxed), "a process begins once");
    // SAFETY: `LIVE` is false, so no thread is `inside`.
    unsafe { *KERNEL.0.get() = Some(kernel) };
    ME.set(0);
    RUNNING.store(system::number(), Ordering::Relaxed);
    LIVE.store(true, Ordering::Relaxed);
    inside(|kernel, _| {
        let me = kernel.add_thread();
        kernel.threads[me].system = system::number();
        // SAFETY: it takes nothing.
        kernel.threads[me].id = unsafe { libc::pthread_self() } as usize;
        let first = kernel.next_thread();
        debug_assert!(matches!(first, Ok(0)), "there is no other thread");
    });
    watch_the_end();
}

/// The process is over: what still runs is its destructors, for which functions are libc's own.
pub fn end() {
    LIVE.store(false, Ordering::Relaxed);
}

pub type Routine = extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread begins with.
pub struct Beginning {
    pub start: Routine,
    pub argument: *mut c_void,
    pub place: usize,
    pub go: &'static AtomicU32,
}

/// A new thread: waits for its first turn.
pub extern "C" fn run_thread(beginning: *mut c_void) -> *mut c_void {
    let beginning = beginning.cast::<Beginning>();
    // SAFETY: `pthread_create` passes on what `calls::thread` made with `Box::into_raw`, once.
    let (go, place) = unsafe { ((*beginning).go, (*beginning).place) };
    while go.swap(0, Ordering::Acquire) != YOURS {
        system::sleep_while(go, 0);
    }
    ME.set(place);
    let number = system::number();
    RUNNING.store(number, Ordering::Relaxed);
    inside(|kernel, me| kernel.threads[me].system = number);
    see_off_the_leaving();
    // Only now, as the allocator, too, belongs to who has the baton: its first call takes memory for the thread, and it
    // matters whether that of the leaving one is free.
    // SAFETY: as above; nobody else looks at it any more.
    let Beginning { start, argument, .. } = *unsafe { Box::from_raw(beginning) };
    watch_the_end();
    start(argument)
}

/// Has [`last_words`] called when the calling thread ends, after all other destructors.
fn watch_the_end() {
    if KEY.load(Ordering::Relaxed) == u32::MAX {
        let mut key = 0;
        // SAFETY: the address is that of a key on the stack; the destructor has the type that is asked for.
        if unsafe { libc::pthread_key_create(&mut key, Some(last_words)) } != 0 {
            system::die(b"fencepost-libc", b": no key for a thread's end is left\n");
        }
        KEY.store(key, Ordering::Relaxed);
    }
    // SAFETY: the key exists; the value is a number, and nobody follows it.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), ptr::without_provenance(ROUNDS)) };
}

unsafe extern "C" fn last_words(rounds: *mut c_void) {
    if rounds.addr() > 1 {
        let key = KEY.load(Ordering::Relaxed);
        // SAFETY: as in `watch_the_end`; a value that is not null asks for another round.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(rounds.addr() - 1)) };
        return;
    }
    let next = inside(|kernel, me| {
        kernel.end_thread(me);
        if !kernel.is_alive() {
            // Whoever ends as the last one ends the process; nobody hears of an error here.
            let _: std::io::Result<()> = kernel.exchange(Then::Exit { code: 0 });
            return None;
        }
        kernel.next_thread().ok().map(|next| Next::of(kernel, next))
    });
    match next {
        Some(Some(next)) => {
            // From now on this thread is nobody, and touches nothing of the process.
            ME.set(NOBODY);
            next.give();
        }
        Some(None) => system::leave(0),
        None => {}
    }
}
