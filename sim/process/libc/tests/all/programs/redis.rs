//! The genuine redis crate, against a Redis of a few lines in the world: candidates for a lease.

use super::minute;
use crate::world::{SECOND, World};
use fencepost_libc::main_of;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn candidate() {
    let me = uuid::Uuid::new_v4().to_string();
    loop {
        let client = redis::Client::open("redis://redis:6379/").unwrap();
        let mut redis = match client.get_multiplexed_async_connection().await {
            Ok(connection) => connection,
            Err(e) => {
                println!("no connection: {e}");
                tokio::time::sleep(Duration::from_millis(500)).await;
                continue;
            }
        };
        loop {
            let mut set = redis::cmd("SET");
            set.arg("leader").arg(&me).arg("PX").arg(3_000).arg("NX");
            match set.query_async::<Option<String>>(&mut redis).await {
                Ok(Some(_)) => {
                    println!("leads as {me}");
                    loop {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        let mut renew = redis::cmd("PEXPIRE");
                        let renewed = renew.arg("leader").arg(3_000).query_async::<i64>(&mut redis).await;
                        if !matches!(renewed, Ok(1)) {
                            println!("{me} leads no more: {renewed:?}");
                            break;
                        }
                    }
                }
                Ok(None) => tokio::time::sleep(Duration::from_secs(1)).await,
                Err(e) => {
                    println!("error: {e}");
                    break;
                }
            }
        }
    }
}

/// A Redis that knows `SET key value PX n NX` and `PEXPIRE key n`, for one key.
pub fn server() -> impl FnMut(u64, &mut Vec<u8>) -> Vec<u8> + 'static {
    let mut expires = 0;
    move |now, inbox| {
        let (text, mut said) = (String::from_utf8_lossy(inbox).into_owned(), String::new());
        inbox.clear();
        let mut words = text.split("\r\n");
        while let Some(head) = words.next() {
            let Some(count) = head.strip_prefix('*').and_then(|count| count.parse::<usize>().ok()) else { continue };
            let words: Vec<&str> = (0..count).filter_map(|_| words.nth(1)).collect();
            let lease = |word: &str| now + word.parse::<u64>().unwrap_or(0) * 1_000_000;
            said += match words[0] {
                "SET" if expires > now => "$-1\r\n",
                "SET" => {
                    expires = lease(words[4]);
                    "+OK\r\n"
                }
                "PEXPIRE" if expires > now => {
                    expires = lease(words[2]);
                    ":1\r\n"
                }
                "PEXPIRE" => ":0\r\n",
                _ => "+OK\r\n",
            };
        }
        said.into_bytes()
    }
}

/// Three candidates; nothing happens yet.
pub fn fleet(seed: u64) -> World {
    let mut world = World::new(seed);
    world.answers("redis", 6379, server());
    for name in ["n1", "n2", "n3"] {
        world.process(name, main_of(candidate));
    }
    world
}

pub fn run(seed: u64) -> World {
    let mut world = fleet(seed);
    world.at(5 * SECOND, |world| world.pause("n1", 5 * SECOND)).at(20 * SECOND, |world| world.kill("n2"));
    world.at(30 * SECOND, |world| world.start("n2")).at(40 * SECOND, |world| world.kill("n3"));
    world.at(45 * SECOND, |world| world.start("n3"));
    minute(world)
}
