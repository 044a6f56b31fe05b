//! redsync 1.0: a lock that says when it expires, and can be extended.

use crate::store;
use redsync::{RedisInstance, Redsync};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(3);

pub fn main() {
    let instance = RedisInstance::new(store::variable("REDIS_URL").as_str()).expect("the URL is one of Redis's");
    let manager = Redsync::new(vec![instance]);
    loop {
        let Ok(mut lock) = manager.lock("leader", TTL) else { continue };
        println!("{}: leads", store::name());
        while Instant::now() < lock.expiry {
            if let Err(why) = store::append(None) {
                println!("{}: {why}", store::name());
                break;
            }
            std::thread::sleep(store::WORK);
            match manager.extend(&lock, TTL) {
                Ok(extended) => lock = extended,
                Err(why) => {
                    println!("{}: {why}", store::name());
                    break;
                }
            }
        }
        println!("{}: leads no more", store::name());
    }
}
