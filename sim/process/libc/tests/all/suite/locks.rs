//! glibc's own locks, as C libraries use them.

use super::Out;
use libc::{c_int, pthread_cond_t, pthread_mutex_t, timespec};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

pub const CASES: &[super::Case] = &[
    ("kinds of mutex", kinds),
    ("mutex between threads", contended),
    ("mutex by a time", timed),
    ("condition variable of glibc", condition),
    ("condition variable by a time", timed_condition),
    ("lock for reading and writing", rwlock),
    ("semaphore", semaphore),
    ("barrier and once", barrier),
    ("thread of glibc", raw_thread),
    ("what a thread's keys leave", keys),
];

/// Memory of glibc's, which does not move.
struct Fixed<T>(Box<std::cell::UnsafeCell<T>>);

// SAFETY: glibc's own objects are for many threads.
unsafe impl<T> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    fn zeroed() -> Fixed<T> {
        // SAFETY: zeros are the static initialiser of each of these types.
        Fixed(Box::new(std::cell::UnsafeCell::new(unsafe { std::mem::zeroed() })))
    }

    fn at(&self) -> *mut T {
        self.0.get()
    }
}

fn mutex(kind: c_int) -> Fixed<pthread_mutex_t> {
    let mutex = Fixed::zeroed();
    // SAFETY: attributes are made, used and destroyed.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_settype(&mut attributes, kind);
        libc::pthread_mutex_init(mutex.at(), &attributes);
        libc::pthread_mutexattr_destroy(&mut attributes);
    }
    mutex
}

fn soon(clock: c_int, after: Duration) -> timespec {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    unsafe { libc::clock_gettime(clock, &mut now) };
    let at = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + after;
    timespec { tv_sec: at.as_secs() as i64, tv_nsec: i64::from(at.subsec_nanos()) }
}

fn kinds(out: &mut Out) {
    for kind in [libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_MUTEX_RECURSIVE, libc::PTHREAD_MUTEX_ERRORCHECK] {
        let mutex = mutex(kind);
        // SAFETY: a mutex, in every call.
        unsafe {
            out.code("lock", libc::pthread_mutex_lock(mutex.at()));
            out.code("try", libc::pthread_mutex_trylock(mutex.at()));
            if kind != libc::PTHREAD_MUTEX_NORMAL {
                out.code("lock again", libc::pthread_mutex_lock(mutex.at()));
            }
            out.code("unlock", libc::pthread_mutex_unlock(mutex.at()));
            if kind == libc::PTHREAD_MUTEX_ERRORCHECK {
                out.code("unlock what is free", libc::pthread_mutex_unlock(mutex.at()));
            }
        }
    }
}

fn contended(out: &mut Out) {
    let (mutex, mut count) = (mutex(libc::PTHREAD_MUTEX_NORMAL), 0u32);
    let counted = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    // SAFETY: a mutex, in every call.
                    unsafe { libc::pthread_mutex_lock(mutex.at()) };
                    let seen = counted.load(Ordering::Relaxed);
                    thread::yield_now();
                    counted.store(seen + 1, Ordering::Relaxed);
                    // SAFETY: as above.
                    unsafe { libc::pthread_mutex_unlock(mutex.at()) };
                }
            });
        }
    });
    count += counted.load(Ordering::Relaxed);
    out.say(count);
}

fn timed(out: &mut Out) {
    let mutex = mutex(libc::PTHREAD_MUTEX_NORMAL);
    // SAFETY: a mutex and a time, in every call.
    unsafe {
        libc::pthread_mutex_lock(mutex.at());
        let began = Instant::now();
        let late = thread::scope(|scope| {
            let wait =
                || libc::pthread_mutex_timedlock(mutex.at(), &soon(libc::CLOCK_REALTIME, Duration::from_millis(10)));
            scope.spawn(wait).join().unwrap()
        });
        out.code("taken", late);
        out.say(began.elapsed() >= Duration::from_millis(9));
        libc::pthread_mutex_unlock(mutex.at());
        let time = soon(libc::CLOCK_REALTIME, Duration::from_secs(20));
        out.code("free", libc::pthread_mutex_timedlock(mutex.at(), &time));
        libc::pthread_mutex_unlock(mutex.at());
    }
}

fn condition(out: &mut Out) {
    let (mutex, condition) = (mutex(libc::PTHREAD_MUTEX_NORMAL), Fixed::<pthread_cond_t>::zeroed());
    let (turn, order) = (AtomicU32::new(0), std::sync::Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for me in 0..3u32 {
            let (mutex, condition, turn, order) = (&mutex, &condition, &turn, &order);
            // SAFETY: a mutex that is held while the condition is waited for.
            scope.spawn(move || unsafe {
                for round in 0..5 {
                    libc::pthread_mutex_lock(mutex.at());
                    while turn.load(Ordering::Relaxed) != round * 3 + me {
                        libc::pthread_cond_wait(condition.at(), mutex.at());
                    }
                    order.lock().unwrap().push(me);
                    turn.fetch_add(1, Ordering::Relaxed);
                    libc::pthread_cond_broadcast(condition.at());
                    libc::pthread_mutex_unlock(mutex.at());
                }
            });
        }
    });
    out.say(format!("{:?}", order.into_inner().unwrap()));
}

fn timed_condition(out: &mut Out) {
    let mutex = mutex(libc::PTHREAD_MUTEX_NORMAL);
    for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
        let condition = Fixed::<pthread_cond_t>::zeroed();
        // SAFETY: attributes are made, used and destroyed; a mutex that is held.
        unsafe {
            let mut attributes = std::mem::zeroed();
            libc::pthread_condattr_init(&mut attributes);
            libc::pthread_condattr_setclock(&mut attributes, clock);
            libc::pthread_cond_init(condition.at(), &attributes);
            libc::pthread_condattr_destroy(&mut attributes);
            libc::pthread_mutex_lock(mutex.at());
            let began = Instant::now();
            let time = soon(clock, Duration::from_millis(10));
            out.code("wait", libc::pthread_cond_timedwait(condition.at(), mutex.at(), &time));
            out.say(began.elapsed() >= Duration::from_millis(9));
            out.code("held", libc::pthread_mutex_trylock(mutex.at()));
            thread::scope(|scope| {
                scope.spawn(|| {
                    libc::pthread_mutex_lock(mutex.at());
                    libc::pthread_cond_signal(condition.at());
                    libc::pthread_mutex_unlock(mutex.at());
                });
                let time = soon(clock, Duration::from_secs(20));
                out.code("wait", libc::pthread_cond_timedwait(condition.at(), mutex.at(), &time));
                libc::pthread_mutex_unlock(mutex.at());
            });
        }
    }
}

fn rwlock(out: &mut Out) {
    let lock = Fixed::<libc::pthread_rwlock_t>::zeroed();
    // SAFETY: a lock, in every call.
    unsafe {
        out.code("read", libc::pthread_rwlock_rdlock(lock.at()));
        out.code("read again", libc::pthread_rwlock_rdlock(lock.at()));
        out.code("try to write", libc::pthread_rwlock_trywrlock(lock.at()));
        let written = AtomicU32::new(0);
        thread::scope(|scope| {
            let writes = scope.spawn(|| {
                let code = libc::pthread_rwlock_wrlock(lock.at());
                written.store(1, Ordering::SeqCst);
                libc::pthread_rwlock_unlock(lock.at());
                code
            });
            out.say(written.load(Ordering::SeqCst));
            libc::pthread_rwlock_unlock(lock.at());
            libc::pthread_rwlock_unlock(lock.at());
            out.code("write", writes.join().unwrap());
        });
        out.say(written.load(Ordering::SeqCst));
        out.code("write", libc::pthread_rwlock_wrlock(lock.at()));
        out.code("try to read", libc::pthread_rwlock_tryrdlock(lock.at()));
        out.code("unlock", libc::pthread_rwlock_unlock(lock.at()));
    }
}

fn semaphore(out: &mut Out) {
    let semaphore = Fixed::<libc::sem_t>::zeroed();
    // SAFETY: a semaphore, in every call.
    unsafe {
        libc::sem_init(semaphore.at(), 0, 1);
        out.call("wait", libc::sem_wait(semaphore.at()));
        out.call("try", libc::sem_trywait(semaphore.at()));
        let time = soon(libc::CLOCK_REALTIME, Duration::from_millis(5));
        out.call("timed", libc::sem_timedwait(semaphore.at(), &time));
        let got = thread::scope(|scope| {
            let waits = scope.spawn(|| libc::sem_wait(semaphore.at()));
            libc::sem_post(semaphore.at());
            waits.join().unwrap()
        });
        out.call("wait", got);
    }
}

fn barrier(out: &mut Out) {
    static mut ONCE: c_int = 0;
    static COUNT: AtomicU32 = AtomicU32::new(0);
    extern "C" fn initialise() {
        thread::sleep(Duration::from_millis(1));
        COUNT.fetch_add(1, Ordering::SeqCst);
    }
    unsafe extern "C" {
        fn pthread_once(once: *mut c_int, initialise: extern "C" fn()) -> c_int;
    }
    let barrier = Fixed::<libc::pthread_barrier_t>::zeroed();
    // SAFETY: a barrier, and a word for one initialisation.
    unsafe {
        libc::pthread_barrier_init(barrier.at(), std::ptr::null(), 3);
        let leaders: Vec<_> = thread::scope(|scope| {
            let wait = || {
                pthread_once(&raw mut ONCE, initialise);
                libc::pthread_barrier_wait(barrier.at())
            };
            let threads = [scope.spawn(wait), scope.spawn(wait), scope.spawn(wait)];
            threads.map(|thread| thread.join().unwrap()).into()
        });
        out.say(leaders.iter().filter(|code| **code == libc::PTHREAD_BARRIER_SERIAL_THREAD).count());
        out.say(COUNT.load(Ordering::SeqCst));
    }
}

fn raw_thread(out: &mut Out) {
    extern "C" fn start(argument: *mut libc::c_void) -> *mut libc::c_void {
        argument.wrapping_byte_add(1)
    }
    // SAFETY: threads whose argument is a number, with attributes that are made, used and destroyed.
    unsafe {
        let (mut id, mut value) = (std::mem::zeroed(), std::ptr::null_mut());
        out.code(
            "create",
            libc::pthread_create(&mut id, std::ptr::null(), start, std::ptr::without_provenance_mut(41)),
        );
        out.code("join", libc::pthread_join(id, &mut value));
        out.say(value.addr());
        let mut attributes = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        out.code("detached", libc::pthread_create(&mut id, &attributes, start, std::ptr::null_mut()));
        libc::pthread_attr_destroy(&mut attributes);
        out.code("join itself", libc::pthread_join(libc::pthread_self(), &mut value));
    }
}

/// Destructors of keys run after those of thread-locals, in rounds: the last one still is a part of the program.
fn keys(out: &mut Out) {
    static WRITES: AtomicU32 = AtomicU32::new(0);
    static KEY: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn leaves(round: *mut libc::c_void) {
        // SAFETY: a byte; a key that exists; numbers.
        unsafe {
            libc::usleep(100);
            libc::write(WRITES.load(Ordering::SeqCst) as c_int, b"x".as_ptr().cast(), 1);
            if round.addr() < 3 {
                libc::pthread_setspecific(KEY.load(Ordering::SeqCst), round.wrapping_byte_add(1));
            }
        }
    }
    let (mut ends, mut key) = ([0; 2], 0);
    // SAFETY: room for two descriptors, and for a key with a destructor of its type.
    unsafe {
        libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK);
        libc::pthread_key_create(&mut key, Some(leaves));
    }
    WRITES.store(ends[1] as u32, Ordering::SeqCst);
    KEY.store(key, Ordering::SeqCst);
    // SAFETY: the key exists, and its value is a number.
    let sets = move || unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
    thread::spawn(sets).join().unwrap();
    // SAFETY: room for so many bytes.
    out.call("left", unsafe { libc::read(ends[0], [0u8; 9].as_mut_ptr().cast(), 9) });
}
