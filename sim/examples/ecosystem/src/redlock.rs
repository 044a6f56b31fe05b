//! redlock 2: a lock without extension, so a leader works for as long as the lock says that it is valid.

use crate::store;
use redlock::RedLock;
use std::time::{Duration, Instant};

const TTL_MS: usize = 3_000;

pub fn main() {
    let manager = RedLock::new(vec![store::variable("REDIS_URL")]);
    loop {
        // As in its documentation, but for the panic.
        let lock = loop {
            match manager.lock(b"leader", TTL_MS) {
                Ok(Some(lock)) => break lock,
                Ok(None) => {}
                Err(why) => {
                    println!("{}: {why}", store::name());
                    std::thread::sleep(store::WORK);
                }
            }
        };
        println!("{}: leads for {} ms", store::name(), lock.validity_time);
        let (began, valid) = (Instant::now(), Duration::from_millis(lock.validity_time as u64));
        while began.elapsed() < valid {
            if let Err(why) = store::append(None) {
                println!("{}: {why}", store::name());
                break;
            }
            std::thread::sleep(store::WORK);
        }
        println!("{}: leads no more", store::name());
        manager.unlock(&lock);
    }
}
