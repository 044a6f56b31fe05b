//! What looks random, or counts, or is an address.

use super::minute;
use crate::world::World;
use fencepost_libc::main_of;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicU32, Ordering},
};

static STARTS: AtomicU32 = AtomicU32::new(0);

#[tokio::main]
async fn draws() {
    let keys: Vec<u8> = (0..12).map(|n| (n, ())).collect::<HashMap<_, _>>().into_keys().collect();
    println!("hash map {keys:?}");
    println!("rand {:x}, uuid {}, fastrand {:x}", rand::random::<u64>(), uuid::Uuid::new_v4(), fastrand::u64(..));
    let mut first = String::new();
    for _ in 0..32 {
        tokio::select! {
            _ = async {} => first.push('a'),
            _ = async {} => first.push('b'),
            _ = async {} => first.push('c'),
        }
    }
    println!("select! {first}");
    let task = tokio::spawn(async { tokio::task::id() }).await.unwrap();
    println!("process {}, {:?}, task {task}", std::process::id(), std::thread::current().id());
    let (boxed, local) = (Box::new(1), 1);
    println!("heap {boxed:p}, stack {:p}, static {:p}", &local, &STARTS);
    let addresses: Vec<_> = (0..4).map(|_| std::thread::spawn(|| format!("{:p}", Box::new(2)))).collect();
    for thread in addresses {
        println!("another thread's heap {}", thread.join().unwrap());
    }
    // Each begins while the one before ends: what that one frees must be free by then, in every run.
    let (send, receive) = std::sync::mpsc::channel();
    for _ in 0..30 {
        let send = send.clone();
        std::thread::spawn(move || send.send(format!("{:p} {:p}", Box::new([2; 100]), &0)).unwrap());
        println!("and a thread's that nobody joins {}", receive.recv().unwrap());
    }
    println!("host {:?}, variables {:?}", hostname(), std::env::vars().collect::<Vec<_>>());
    println!(
        "{} processors, started {} times",
        std::thread::available_parallelism().unwrap(),
        STARTS.fetch_add(1, Ordering::SeqCst) + 1
    );
    println!("{:?} since 1970", std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap());
}

fn hostname() -> String {
    let mut name = [0u8; 64];
    // SAFETY: room for a name.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()
}

pub fn run(seed: u64) -> World {
    let mut world = World::new(seed);
    world.cpus = 3;
    world.env.push(("REDIS_URL".to_owned(), "redis://redis:6379".to_owned()));
    world.process("n1", main_of(draws)).process("n2", main_of(draws));
    // A restart begins anew: the static counts from nothing.
    world.at(1_000_000, |world| world.start("n1"));
    minute(world)
}
