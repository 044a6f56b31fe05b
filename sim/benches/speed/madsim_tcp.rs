//! The same pattern over madsim's own TCP.

use madsim::{
    net::{TcpListener, TcpStream},
    runtime::{Handle, Runtime},
};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CLIENTS: u64 = 16;
const FRAME: usize = 48;

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 1))
}

async fn forward(mut from: TcpStream, mut to: Option<TcpStream>) {
    let mut frame = [0u8; FRAME];
    while from.read_exact(&mut frame).await.is_ok() {
        if let Some(to) = &mut to {
            to.write_all(&frame).await.expect("the store is up");
            to.flush().await.expect("the store is up");
            to.read_exact(&mut frame).await.expect("the store answers");
        }
        if from.write_all(&frame).await.is_err() || from.flush().await.is_err() {
            return;
        }
    }
}

/// Delivers about `messages` messages, four per request.
pub fn run(messages: u64) -> u64 {
    let requests = messages / 4 / CLIENTS;
    let body = move || {
        Runtime::with_seed_and_config(1, madsim::Config::default()).block_on(async move {
            let handle = Handle::current();
            for host in [1u8, 2] {
                let node = handle.create_node().ip(address(host).ip()).build();
                node.spawn(async move {
                    let listener = TcpListener::bind(address(host)).await.expect("the port is free");
                    loop {
                        let (stream, _) = listener.accept().await.expect("the listener lives");
                        madsim::task::spawn(async move {
                            let store = match host {
                                1 => None,
                                _ => Some(TcpStream::connect(address(1)).await.expect("the store is up")),
                            };
                            forward(stream, store).await;
                        });
                    }
                });
            }
            madsim::time::sleep(std::time::Duration::from_secs(1)).await;
            let client = handle.create_node().ip(address(3).ip()).build();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    client.spawn(async move {
                        let mut stream = TcpStream::connect(address(2)).await.expect("the leader is up");
                        let mut frame = [7u8; FRAME];
                        for _ in 0..requests {
                            stream.write_all(&frame).await.expect("the leader is up");
                            stream.flush().await.expect("the leader is up");
                            stream.read_exact(&mut frame).await.expect("the leader answers");
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.expect("the client ends");
            }
        });
    };
    std::thread::spawn(body).join().expect("the run ends");
    requests * CLIENTS * 4
}
