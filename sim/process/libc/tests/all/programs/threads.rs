//! Threads of every kind.

use super::minute;
use crate::world::World;
use fencepost_libc::main_of;
use std::{
    sync::{Arc, Condvar, Mutex, mpsc},
    time::{Duration, Instant},
};

#[tokio::main]
async fn program() {
    let began = Instant::now();
    println!("{} workers", tokio::runtime::Handle::current().metrics().num_workers());
    let blocking = tokio::task::spawn_blocking(|| {
        std::thread::sleep(Duration::from_secs(2));
        7
    });
    println!("spawn_blocking gave {} after {:?}", blocking.await.unwrap(), began.elapsed());
    let read = tokio::task::spawn_blocking(|| std::fs::read_to_string("/proc/self/comm")).await.unwrap();
    println!("the pool read a file: {}", read.is_ok());
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..12)
        .map(|n| {
            let order = order.clone();
            tokio::spawn(async move {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                order.lock().unwrap().push(n);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    println!("tasks on workers ended in the order {:?}", order.lock().unwrap());
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..6)
        .map(|n| {
            let send = send.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                send.send(n).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("threads said {:?}", receive.try_iter().collect::<Vec<_>>());
    let pair = (Mutex::new(()), Condvar::new());
    let late = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_secs(30)).unwrap().1.timed_out();
    println!("a condition variable timed out: {late}, at {:?}", began.elapsed());
    let lock = parking_lot::Mutex::new(0);
    std::thread::scope(|scope| {
        (0..3).for_each(|n| {
            let lock = &lock;
            scope.spawn(move || {
                let mut held = lock.lock();
                std::thread::sleep(Duration::from_millis(1));
                *held = *held * 10 + n;
            });
        });
    });
    println!("parking_lot's mutex was had by {:03}", lock.into_inner());
    let never = tokio::time::timeout(Duration::from_secs(10), std::future::pending::<()>()).await;
    println!("something within ten seconds: {}", never.is_ok());
    let spin = Instant::now();
    while spin.elapsed() < Duration::from_millis(1) {}
    println!("a loop that looks at the clock ended at {:?}", began.elapsed());
    std::thread::spawn(|| panic!("on purpose")).join().unwrap_err();
    std::process::exit(3);
}

pub fn run(seed: u64) -> World {
    let mut world = World::new(seed);
    world.process("p", main_of(program));
    minute(world)
}
