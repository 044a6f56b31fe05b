//! The director's events, and connections from nodes, from which some of them come: nodes ask at named points whether
//! to stop themselves, and receive clock orders.

use protocols::{point::Point, types::NodeId};
use protocols_real::{
    directory::Directory,
    points::{self, ClockOrder},
};
use std::sync::Arc;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
};

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
    let hello = lines.next_line().await.ok()??;
    if let Some(name) = hello.strip_suffix(points::CLOCKS) {
        let (node, (listener, mut orders)) = (directory.member(name.trim_end())?, mpsc::unbounded_channel());
        events.send(Event::Clocks { node, listener }).ok()?;
        while let Some(order) = orders.recv().await {
            write.write_all(format!("{}\n", order.line()).as_bytes()).await.ok()?;
        }
        return Some(());
    }
    let node = directory.member(&hello)?;
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

/// Answers every point with "go on", for ever.
pub(super) async fn answer_go(events: &mut UnboundedReceiver<Event>) {
    while let Some(event) = events.recv().await {
        if let Event::Passed { answer, .. } = event {
            let _ = answer.send(false);
        }
    }
    std::future::pending().await
}

// The director's events.

pub(super) enum Event {
    /// A node passes a point, and waits to be told whether to stop itself.
    Passed { node: NodeId, point: Point, answer: oneshot::Sender<bool> },
    /// A node subscribes to clock orders.
    Clocks { node: NodeId, listener: UnboundedSender<ClockOrder> },
    /// The fault with this index strikes.
    Strike(u32),
    /// The fault with this index ends.
    Heal(u32),
    /// A process is due to start.
    Start(NodeId),
}

/// An active fault.
pub(super) struct Struck {
    pub on: Vec<NodeId>,
    pub to: Vec<NodeId>,
    /// The process ids when it struck: only these processes are resumed.
    pub pids: Vec<Option<i32>>,
}
