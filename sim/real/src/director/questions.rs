//! Nodes that ask at their named points whether they are to stop themselves.

use super::event::Event;
use protocols::point::Point;
use protocols_real::{directory::Directory, points};
use std::sync::Arc;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::{mpsc::UnboundedSender, oneshot},
};

/// Takes nodes' questions at their points.
pub(super) async fn listen(
    listener: TcpListener,
    directory: Arc<Directory>,
    armed: Vec<Point>,
    events: UnboundedSender<Event>,
) {
    let names: Vec<&str> = armed.iter().map(|p| p.name()).collect();
    let greeting: Arc<str> = format!("{}\n", names.join(" ")).into();
    while let Ok((stream, _)) = listener.accept().await {
        let (directory, greeting, events) = (directory.clone(), greeting.clone(), events.clone());
        tokio::spawn(async move { questions(stream, &directory, &greeting, &events).await });
    }
}

async fn questions(
    stream: TcpStream,
    directory: &Directory,
    greeting: &str,
    events: &UnboundedSender<Event>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let node = directory.member(&lines.next_line().await.ok()??)?;
    write.write_all(greeting.as_bytes()).await.ok()?;
    while let Some(line) = lines.next_line().await.ok()? {
        let point = Point::from_name(&line)?;
        let (answer, answered) = oneshot::channel();
        events.send(Event::Passed { node, point, answer }).ok()?;
        let stop = answered.await.unwrap_or(false);
        let word = if stop { points::STOP } else { points::GO };
        write.write_all(format!("{word}\n").as_bytes()).await.ok()?;
    }
    Some(())
}
