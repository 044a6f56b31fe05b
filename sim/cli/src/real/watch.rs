//! `watch`: a running cluster in the terminal.
//!
//! | module | has |
//! |---|---|
//! | `look` | one look: the status of nodes and store |
//! | `samples` | their metrics, parsed as Prometheus does |
//! | `news` | differences between two looks, in sentences |
//! | `fleet` | the recent past: rates, marks, the headline |
//! | `draw`, `screen` | the dashboard, and its terminal |
//! | `plain` | the dashboard as a table of text |

mod draw;
mod fleet;
mod look;
mod news;
mod plain;
mod samples;
mod screen;

use super::{
    args::WatchArgs,
    ask::Asker,
    node::endpoint,
    process::{asked_to_end, block_on},
};
use crate::terminal::{
    exit::{Stop, VIOLATED},
    output::Show,
};
use draw::Paint;
use fleet::{Fleet, time_of_day};
use look::{Look, Places};
use protocols_clients::site::Endpoint;
use protocols_real::{
    directory::is_name,
    tls::{Files, TlsError},
};
use screen::{Done, Screen};
use sim_real::{
    control,
    secret::{AUTHORITY, CERTIFICATE, KEY},
};
use std::{
    collections::BTreeSet,
    future::Future,
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::mpsc::{Receiver, channel};

/// Exit code if nobody acts, as for a run in which nobody leads.
const NOBODY_ACTS: u8 = 3;

/// Watches until it is asked to end.
pub fn run(args: &WatchArgs) -> Result<u8, Stop> {
    let source = Source::of(args)?;
    block_on(async {
        let end = asked_to_end()?;
        if args.once {
            return Ok(once(&source.places, args.json).await);
        }
        let interval = Duration::from_millis(args.interval);
        let looks = looks(source, interval);
        match (args.json, io::stdout().is_terminal()) {
            (true, _) => follow(looks, end, |look| writeln!(io::stdout(), "{}", json(&look))).await,
            (false, false) => lines(looks, end).await,
            (false, true) => dashboard(looks, end, args.interval).await,
        }
    })
}

/// The source of the addresses.
struct Source {
    places: Places,
    /// A cluster's folder, and the control address of the cluster that wrote it.
    folder: Option<(PathBuf, SocketAddr)>,
    within: Duration,
}

impl Source {
    fn of(args: &WatchArgs) -> Result<Source, Stop> {
        // A node slower than the interval is slow, and a paused process does not answer at all.
        let within = Duration::from_millis(args.interval.clamp(300, 2_000));
        if args.nodes.is_empty() {
            let card = control::card(&args.dir)?;
            let places = in_folder(&args.dir, &card, within).map_err(|why| Stop::harness(why.to_string()))?;
            return Ok(Source { places, folder: Some((args.dir.clone(), card.control)), within });
        }
        let mut nodes: Vec<(String, Endpoint)> = Vec::new();
        for node in &args.nodes {
            let wrong = || Stop::usage(format!("`{node}` is no node; write --nodes as NAME=HOST:PORT,…"));
            let (name, address) = node.split_once('=').filter(|(name, _)| is_name(name)).ok_or_else(wrong)?;
            nodes.push((name.to_owned(), endpoint(address)?));
        }
        let names: BTreeSet<&str> = nodes.iter().map(|(name, _)| &**name).collect();
        if names.len() < nodes.len() {
            return Err(Stop::usage("two of --nodes have the same name"));
        }
        let store = args.store_metrics.as_deref().map(endpoint).transpose()?;
        let files = Files {
            certificate: args.tls_cert.clone(),
            key: args.tls_key.clone(),
            authority: args.tls_ca.clone(),
            mutual: false,
        };
        let tls = args.tls_ca.is_some().then(|| files.load()).transpose()?;
        let asker = Arc::new(Asker { tls, within });
        Ok(Source { places: Places { nodes, store, asker }, folder: None, within })
    }

    /// Rereads the addresses: another cluster may have started in the same folder, on other ports.
    fn refresh(&mut self) {
        let Some((folder, known)) = &mut self.folder else { return };
        let Ok(card) = control::card(folder) else { return };
        if card.control != *known
            && let Ok(places) = in_folder(folder, &card, self.within)
        {
            (*known, self.places) = (card.control, places);
        }
    }
}

/// The addresses of a cluster on this machine, by its card.
fn in_folder(folder: &Path, card: &control::Card, within: Duration) -> Result<Places, TlsError> {
    let file = |name: &str| Some(folder.join(name)).filter(|file| file.exists());
    let (certificate, key, authority) = (file(CERTIFICATE), file(KEY), file(AUTHORITY));
    let tls = authority.is_some().then(|| Files { certificate, key, authority, mutual: false }.load()).transpose()?;
    let at = |address: &SocketAddr| Endpoint { host: address.ip().to_string(), port: address.port() };
    let nodes = card.nodes.iter().map(|(name, address)| (name.clone(), at(address))).collect();
    Ok(Places { nodes, store: card.store_metrics.as_ref().map(at), asker: Arc::new(Asker { tls, within }) })
}

/// Polls until nobody listens any more.
fn looks(mut source: Source, interval: Duration) -> Receiver<Look> {
    let (tell, looks) = channel(1);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            source.refresh();
            if tell.send(Look::take(&source.places).await).await.is_err() {
                return;
            }
        }
    });
    looks
}

fn json(look: &Look) -> String {
    // Numbers and text always serialise.
    serde_json::to_string(look).unwrap_or_default()
}

/// One look; the exit code tells whether exactly one leader acts.
async fn once(places: &Places, as_json: bool) -> u8 {
    let mut fleet = Fleet::default();
    fleet.take(Look::take(places).await);
    let text = if as_json { fleet.last().map(json).unwrap_or_default() } else { plain::table(&fleet) };
    crate::terminal::output::print(&text);
    let acts = fleet.last().is_some_and(|look| look.acting().next().is_some());
    match (fleet.is_broken(), acts) {
        (true, _) => VIOLATED,
        (false, true) => 0,
        (false, false) => NOBODY_ACTS,
    }
}

/// Calls `show` with each look until asked to end, or until nobody reads any more.
async fn follow(
    mut looks: Receiver<Look>,
    end: impl Future<Output = ()>,
    mut show: impl FnMut(Look) -> io::Result<()>,
) -> Result<u8, Stop> {
    let mut end = std::pin::pin!(end);
    loop {
        tokio::select! {
            biased;
            () = &mut end => return Ok(0),
            look = looks.recv() => {
                let shown = look.map(&mut show);
                // A reader that has gone away wants no more.
                if !matches!(shown, Some(Ok(()))) || io::stdout().flush().is_err() {
                    return Ok(0);
                }
            }
        }
    }
}

/// The table once, and then a line for each event.
async fn lines(looks: Receiver<Look>, end: impl Future<Output = ()>) -> Result<u8, Stop> {
    let mut fleet = Fleet::default();
    let show = |look| {
        let first = fleet.last().is_none();
        let news = fleet.take(look);
        let mut out = io::stdout();
        if first {
            return writeln!(out, "{}", plain::table(&fleet));
        }
        news.iter().try_for_each(|news| writeln!(out, "{} UTC  {}", time_of_day(news.at_ms), news.text))
    };
    follow(looks, end, show).await
}

/// The dashboard, until `q`.
async fn dashboard(mut looks: Receiver<Look>, end: impl Future<Output = ()>, interval_ms: u64) -> Result<u8, Stop> {
    let lost = |e: io::Error| Stop::harness(format!("the terminal cannot be drawn on: {e}"));
    let mut fleet = Fleet::default();
    let paint = Paint { colour: Show::default().colour() };
    let mut screen = Screen::open().map_err(lost)?;
    let mut end = std::pin::pin!(end);
    loop {
        screen.draw(|frame| draw::draw(frame, &fleet, interval_ms, paint)).map_err(lost)?;
        tokio::select! {
            biased;
            () = &mut end => return Ok(0),
            done = screen.next() => match done {
                Done::Quit => return Ok(0),
                Done::Resized => {}
            },
            look = looks.recv() => match look {
                Some(look) => drop(fleet.take(look)),
                None => return Ok(0),
            },
        }
    }
}

#[cfg(test)]
mod tests;
