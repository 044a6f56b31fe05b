//! axum's server and hyper's client.

use super::minute;
use crate::world::{SECOND, World};
use fencepost_libc::main_of;
use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes};
use hyper_util::rt::TokioIo;
use std::{collections::HashMap, time::Duration};

#[tokio::main]
async fn server() {
    use axum::{Router, routing::get};
    let list = get(|| async {
        let all: HashMap<u32, &str> = [(1, "one"), (2, "two"), (3, "three"), (4, "four")].into();
        format!("{all:?}")
    });
    let echo = axum::routing::post(|body: String| async move { format!("you said {} bytes", body.len()) });
    let app = Router::new().route("/list", list).route("/echo", echo);
    let listener = tokio::net::TcpListener::bind("0.0.0.0:80").await.unwrap();
    axum::serve(listener, app).await.unwrap();
}

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn ask(path: &str, body: String) -> Result<String, Error> {
    let stream = tokio::net::TcpStream::connect("server:80").await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let method = if body.is_empty() { "GET" } else { "POST" };
    let request = Request::builder().method(method).uri(path).header("host", "server");
    let answer = sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok(format!("{status} {}", String::from_utf8_lossy(&body)))
}

#[tokio::main]
async fn client() {
    tokio::time::sleep(Duration::from_millis(5)).await;
    for size in [0, 10, 1_000_000, 0, 0] {
        let path = if size == 0 { "/list" } else { "/echo" };
        let asked = tokio::time::timeout(Duration::from_secs(3), ask(path, "x".repeat(size)));
        match asked.await {
            Ok(Ok(answer)) => println!("{answer}"),
            Ok(Err(e)) => println!("{e}"),
            Err(_) => println!("no answer"),
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

pub fn run(seed: u64) -> World {
    let mut world = World::new(seed);
    world.process("server", main_of(server)).process("client", main_of(client));
    world.at(5 * SECOND, |world| world.kill("server")).at(7 * SECOND, |world| world.start("server"));
    minute(world)
}
