//! tokio's runtime of several workers: a server, and clients with many tasks.

use super::minute;
use crate::world::{SECOND, World};
use fencepost_libc::main_of;
use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

#[tokio::main(worker_threads = 3)]
async fn server() {
    let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
    loop {
        let (stream, from) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let (reader, mut writer) = stream.into_split();
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if writer.write_all(format!("{line} from {}\n", from.ip()).as_bytes()).await.is_err() {
                    break;
                }
            }
        });
    }
}

async fn ask(n: u32) -> std::io::Result<String> {
    let mut stream = TcpStream::connect("server:7").await?;
    stream.write_all(format!("question {n}\n").as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(&mut stream).read_line(&mut line).await?;
    Ok(line.trim().to_owned())
}

#[tokio::main]
async fn client() {
    tokio::time::sleep(Duration::from_millis(5)).await;
    for round in 0..3 {
        let tasks: Vec<_> = (0..5)
            .map(|n| {
                tokio::spawn(async move {
                    let answer = tokio::time::timeout(Duration::from_secs(2), ask(n)).await;
                    println!("round {round}: {answer:?}");
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let mut stream = TcpStream::connect("server:7").await.unwrap();
    println!("bytes at the end: {:?}", tokio::time::timeout(Duration::from_secs(30), stream.read_u8()).await);
}

pub fn run(seed: u64) -> World {
    let mut world = World::new(seed);
    world.process("server", main_of(server)).process("c1", main_of(client)).process("c2", main_of(client));
    world.at(3 * SECOND, |world| world.kill("server")).at(4 * SECOND + SECOND / 2, |world| world.start("server"));
    world.at(8 * SECOND, |world| world.pause("server", SECOND)).at(20 * SECOND, |world| world.kill("server"));
    minute(world)
}
