//! How a running cluster receives fault orders: a line of JSON to a loopback port, which a file names.

use crate::{error::Failed, secret};
use protocols::point::Point;
use scenarios::fault::Fault;
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::{mpsc::UnboundedSender, oneshot},
};

/// The file in a cluster's folder.
pub const FILE: &str = "cluster.json";
/// The longest order accepted, in bytes.
const ORDER_MAX: u64 = 4096;
/// How long an order and its answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to reach a running cluster.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct Card {
    /// The port that takes orders.
    pub control: SocketAddr,
    /// The secret that each order must carry; only users who may read the file know it.
    pub secret: String,
    /// The name and HTTP address of each node.
    pub nodes: Vec<(String, SocketAddr)>,
    pub store: SocketAddr,
    #[serde(default)]
    pub store_metrics: Option<SocketAddr>,
    /// The coordination service, if it is a separate process; with several members, the first.
    pub service: Option<SocketAddr>,
    /// The name and address of each of its servers.
    #[serde(default)]
    pub services: Vec<(String, SocketAddr)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    secret: String,
    fault: Fault,
    /// Strike when the leader next passes this point, instead of at once.
    #[serde(default)]
    at: Option<String>,
}

/// What was done, or why not.
type Outcome = Result<String, String>;

pub struct Ordered {
    pub fault: Fault,
    /// Strike when the leader next passes this point; at once if `None`.
    pub at: Option<Point>,
    pub answer: oneshot::Sender<Outcome>,
}

/// Takes orders for ever, one per connection.
pub async fn serve(listener: TcpListener, secret: String, orders: UnboundedSender<Ordered>) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let (secret, orders) = (secret.clone(), orders.clone());
        tokio::spawn(async move {
            let exchange = async {
                let (read, mut write) = stream.split();
                let mut line = String::new();
                tokio::io::BufReader::new(read.take(ORDER_MAX)).read_line(&mut line).await.ok()?;
                let outcome = match serde_json::from_str::<Order>(&line) {
                    Ok(order) if order.secret == secret => carry_out(order, &orders).await,
                    Ok(_) => Err("that is not this cluster's secret".to_owned()),
                    Err(error) => Err(format!("no order: {error}")),
                };
                let answer = serde_json::to_string(&outcome).ok()?;
                write.write_all(format!("{answer}\n").as_bytes()).await.ok()
            };
            // A slow client gets no answer.
            let _ = tokio::time::timeout(PATIENCE, exchange).await;
        });
    }
}

async fn carry_out(order: Order, orders: &UnboundedSender<Ordered>) -> Outcome {
    let Order { fault, at, .. } = order;
    let unknown = |name: &String| format!("there is no point `{name}`");
    let at = at.map(|name| Point::from_name(&name).ok_or_else(|| unknown(&name))).transpose()?;
    let (answer, answered) = oneshot::channel();
    let gone = || "the cluster is about to end".to_owned();
    orders.send(Ordered { fault, at, answer }).map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| Err(gone()))
}

/// Reads the card of the cluster in `folder`.
///
/// # Errors
/// No cluster runs there.
pub fn card(folder: &Path) -> Result<Card, Failed> {
    let file = folder.join(FILE);
    let none = |e: &dyn std::fmt::Display| Failed::NoCluster { folder: folder.to_owned(), why: e.to_string() };
    let text = std::fs::read_to_string(&file).map_err(|e| none(&e))?;
    serde_json::from_str(&text).map_err(|e| none(&e))
}

/// Writes the card, readable only by its owner.
pub fn publish(folder: &Path, card: &Card) -> Result<PathBuf, Failed> {
    let file = folder.join(FILE);
    let text = serde_json::to_string_pretty(card).map_err(|e| Failed::Harness(e.to_string()))?;
    secret::write(&file, &text)?;
    Ok(file)
}

/// Injects `fault` into a running cluster, at once or when its leader next passes `at`. Returns what was done, in
/// words.
///
/// # Errors
/// The cluster cannot be reached, or refuses.
pub fn order(card: &Card, fault: Fault, at: Option<Point>) -> Result<String, Failed> {
    let wrong = |e: std::io::Error| Failed::Harness(format!("the cluster cannot be reached at {}: {e}", card.control));
    let mut stream = TcpStream::connect_timeout(&card.control, PATIENCE).map_err(wrong)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(wrong)?;
    let order = Order { secret: card.secret.clone(), fault, at: at.map(|p| p.name().to_owned()) };
    let text = serde_json::to_string(&order).map_err(|e| Failed::Harness(e.to_string()))?;
    writeln!(stream, "{text}").map_err(wrong)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(wrong)?;
    let outcome: Outcome =
        serde_json::from_str(&answer).map_err(|_| Failed::Harness("the cluster gave no answer".to_owned()))?;
    outcome.map_err(Failed::Refused)
}
