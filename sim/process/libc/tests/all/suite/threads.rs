//! Threads, and what std makes of futexes.

use super::Out;
use std::{
    cell::RefCell,
    sync::{
        Arc, Barrier, Condvar, Mutex, Once, RwLock,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

pub const CASES: &[super::Case] = &[
    ("join", join),
    ("what a thread leaves is dropped before it is joined", dropped),
    ("many threads", many),
    ("mutex", mutex),
    ("condition variable", condition),
    ("park", park),
    ("channels", channels),
    ("once, barrier, lock for many", others),
    ("futex", futex),
];

fn join(out: &mut Out) {
    out.say(thread::spawn(|| 7).join().unwrap());
    let silent = thread::Builder::new().spawn(|| std::panic::resume_unwind(Box::new("gone"))).unwrap();
    out.say(silent.join().is_err());
    let (send, receive) = mpsc::channel();
    drop(thread::spawn(move || send.send("detached")));
    out.say(receive.recv().unwrap());
    let named = thread::Builder::new().name("a name".to_owned()).spawn(|| thread::current().name().map(str::to_owned));
    out.say(format!("{:?}", named.unwrap().join().unwrap()));
    let scoped =
        thread::scope(|scope| (0..4).map(|n| scope.spawn(move || n * n)).map(|t| t.join().unwrap()).sum::<i32>());
    out.say(scoped);
}

fn dropped(out: &mut Out) {
    struct Says(mpsc::Sender<&'static str>);
    impl Drop for Says {
        fn drop(&mut self) {
            // A destructor that waits.
            thread::sleep(Duration::from_millis(1));
            let _: Result<(), mpsc::SendError<&'static str>> = self.0.send("dropped");
        }
    }
    thread_local! { static LEFT: RefCell<Option<Says>> = const { RefCell::new(None) } }
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let last = send.clone();
        LEFT.set(Some(Says(send)));
        last.send("returns").unwrap();
    });
    thread.join().unwrap();
    out.say(receive.try_iter().collect::<Vec<_>>().join(", "));
}

fn many(out: &mut Out) {
    for round in 0..20 {
        let threads: Vec<_> = (0..10).map(|n| thread::spawn(move || vec![n; 100].iter().sum::<i32>())).collect();
        let sum: i32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        if round % 5 == 0 {
            out.say(sum);
        }
    }
}

fn mutex(out: &mut Out) {
    let count = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let count = count.clone();
            thread::spawn(move || {
                for _ in 0..50 {
                    let mut held = count.lock().unwrap();
                    *held += 1;
                    // Held while others want it.
                    thread::yield_now();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    out.say(*count.lock().unwrap());
    let held = count.lock().unwrap();
    out.say(count.try_lock().is_err());
    drop(held);
    let poisons = count.clone();
    let thread = thread::spawn(move || {
        let _held = poisons.lock();
        std::panic::resume_unwind(Box::new(()));
    });
    out.say(thread.join().is_err() && count.is_poisoned());
}

fn condition(out: &mut Out) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let began = Instant::now();
    let waited = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_millis(10)).unwrap().1;
    out.say(format!("{} {}", waited.timed_out(), began.elapsed() >= Duration::from_millis(10)));
    let theirs = pair.clone();
    let thread = thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let limit = Duration::from_secs(20);
    let (ready, waited) = pair.1.wait_timeout_while(pair.0.lock().unwrap(), limit, |ready| !*ready).unwrap();
    out.say(format!("{} {}", *ready, waited.timed_out()));
    drop(ready);
    thread.join().unwrap();
    let woken: Vec<_> = (0..5)
        .map(|_| {
            let pair = pair.clone();
            thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| *ready).unwrap()))
        })
        .collect();
    *pair.0.lock().unwrap() = false;
    pair.1.notify_all();
    woken.into_iter().for_each(|thread| thread.join().unwrap());
    out.say("all woken");
}

fn park(out: &mut Out) {
    // In a thread that nobody has unparked before.
    let parked = thread::spawn(|| {
        let began = Instant::now();
        thread::park_timeout(Duration::from_millis(10));
        began.elapsed() >= Duration::from_millis(9)
    });
    out.say(parked.join().unwrap());
    let flag = Arc::new(AtomicU32::new(0));
    let theirs = flag.clone();
    let thread = thread::spawn(move || {
        while theirs.load(Ordering::SeqCst) == 0 {
            thread::park();
        }
    });
    flag.store(1, Ordering::SeqCst);
    thread.thread().unpark();
    thread.join().unwrap();
    out.say("unparked");
}

fn channels(out: &mut Out) {
    let (send, receive) = mpsc::sync_channel(0);
    let thread = thread::spawn(move || (0..50).for_each(|n| send.send(n).unwrap()));
    out.say(receive.iter().sum::<i32>());
    thread.join().unwrap();
    let (send, receive) = mpsc::channel::<u8>();
    out.say(format!("{:?}", receive.recv_timeout(Duration::from_millis(5))));
    drop(send);
    out.say(format!("{:?}", receive.recv_timeout(Duration::from_secs(20))));
}

fn others(out: &mut Out) {
    static ONCE: Once = Once::new();
    let (count, barrier, lock) = (AtomicU32::new(0), Barrier::new(4), RwLock::new(0));
    let leaders = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    ONCE.call_once(|| {
                        thread::sleep(Duration::from_millis(1));
                        count.fetch_add(1, Ordering::SeqCst);
                    });
                    *lock.write().unwrap() += 1;
                    let leads = barrier.wait().is_leader();
                    assert_eq!(*lock.read().unwrap(), 4);
                    u32::from(leads)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>()
    });
    out.say(leaders);
    // The second run of this case in one process finds it done.
    out.say(count.load(Ordering::SeqCst) <= 1);
}

fn futex(out: &mut Out) {
    let word = AtomicU32::new(5);
    let call = |op: i32, value: u32, time: *const libc::timespec, last: u32| {
        // SAFETY: a word, and null or a time.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, value, time, std::ptr::null::<u32>(), last) }
    };
    let soon = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
    out.call("wait for another value", call(libc::FUTEX_WAIT, 4, std::ptr::null(), 0));
    out.call("wait", call(libc::FUTEX_WAIT, 5, &soon, 0));
    out.call("wait until the past", call(libc::FUTEX_WAIT_BITSET, 5, &soon, u32::MAX));
    out.call("wake nobody", call(libc::FUTEX_WAKE, 9, std::ptr::null(), 0));
    let bad = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000_000 };
    out.call("no time", call(libc::FUTEX_WAIT, 5, &bad, 0));
    thread::scope(|scope| {
        let wait = libc::FUTEX_WAIT_BITSET;
        let threads: Vec<_> = [1, 2, 2].map(|bits| scope.spawn(move || call(wait, 5, std::ptr::null(), bits))).into();
        let mut woken = [0, 0];
        // Until they wait, nobody can be woken.
        while woken[1] < 2 {
            woken[1] += call(libc::FUTEX_WAKE_BITSET, 9, std::ptr::null(), 2);
            thread::yield_now();
        }
        while woken[0] < 1 {
            woken[0] += call(libc::FUTEX_WAKE_BITSET, 9, std::ptr::null(), 1);
            thread::yield_now();
        }
        out.say(format!("{woken:?}"));
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 0));
    });
}
