//! The same pattern over turmoil's TCP.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use turmoil::net::{TcpListener, TcpStream};

const CLIENTS: u64 = 16;
const FRAME: usize = 48;

async fn forward(mut from: TcpStream, mut to: Option<TcpStream>) -> std::io::Result<()> {
    let mut frame = [0u8; FRAME];
    loop {
        from.read_exact(&mut frame).await?;
        if let Some(to) = &mut to {
            to.write_all(&frame).await?;
            to.read_exact(&mut frame).await?;
        }
        from.write_all(&frame).await?;
    }
}

async fn serve(store: Option<&'static str>) -> turmoil::Result {
    let listener = TcpListener::bind(("0.0.0.0", 1)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let to = match store {
                Some(host) => Some(TcpStream::connect((host, 1)).await?),
                None => None,
            };
            forward(stream, to).await
        });
    }
}

/// Delivers about `messages` messages, four per request.
pub fn run(messages: u64) -> u64 {
    let requests = messages / 4 / CLIENTS;
    let mut sim = turmoil::Builder::new()
        .simulation_duration(Duration::from_secs(1 << 20))
        .min_message_latency(Duration::from_micros(200))
        .max_message_latency(Duration::from_micros(500))
        .build();
    sim.host("store", || serve(None));
    sim.host("leader", || serve(Some("store")));
    for client in 0..CLIENTS {
        sim.client(format!("client{client}"), async move {
            let mut stream = TcpStream::connect(("leader", 1)).await?;
            let mut frame = [7u8; FRAME];
            for _ in 0..requests {
                stream.write_all(&frame).await?;
                stream.read_exact(&mut frame).await?;
            }
            Ok(())
        });
    }
    sim.run().expect("the simulation ends");
    requests * CLIENTS * 4
}
