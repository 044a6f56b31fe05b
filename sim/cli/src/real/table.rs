//! The state of a running cluster, as a table that is redrawn when something changes.

use super::{
    ask::{Asker, Status},
    words::DEFAULT_DIR,
};
use crate::terminal::output::{Show, print};
use protocols::election::Protocol;
use protocols_clients::site::Endpoint;
use protocols_real::tls::Tls;
use sim_real::{control::Card, secret::AUTHORITY};
use std::{
    fmt::Write as _,
    io::{IsTerminal, Write},
    net::SocketAddr,
    path::Path,
    time::Duration,
};

/// Polling interval.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Most letters of the reason why a node does not act; `/status` has all of it.
const WHY_MAX: usize = 44;
/// Timeout of a node's answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(200);

/// Prints what the cluster consists of, and commands to try.
pub fn introduce(card: &Card, protocol: &Protocol, folder: &Path, tls: bool, postgres: Option<&str>) {
    let backend = protocol.name;
    let mut text = format!("A cluster of real processes on this machine, by `{backend}`. Ctrl-C ends it.\n\n");
    let first = card.nodes.first().map_or_else(String::new, |(_, address)| address.to_string());
    // Writing to a String cannot fail.
    let services: String = card.services.iter().map(|(name, address)| format!("{name} {address}   ")).collect();
    let services = if card.services.len() > 1 { services.trim_end().to_owned() + "\n  " } else { services };
    let _ = writeln!(text, "  {services}store {}   files in {}", card.store, folder.display());
    let _ = match tls {
        false => writeln!(text, "  a number:    curl -sL -X POST 'http://{first}/next?redirect'"),
        true => writeln!(
            text,
            "  a number:    curl -sL --cacert {} -X POST 'https://{first}/next?redirect'",
            folder.join(AUTHORITY).display()
        ),
    };
    let scheme = if tls { "https" } else { "http" };
    if let Some(address) = card.store_metrics {
        let _ = writeln!(
            text,
            "  metrics:     {scheme}://{first}/metrics of each node, {scheme}://{address}/metrics of the store"
        );
    }
    let which = if folder == Path::new(DEFAULT_DIR) { String::new() } else { format!("   --dir {}", folder.display()) };
    let _ = writeln!(text, "  watch it:    cargo real watch{}", which.replace("   ", " "));
    let _ = writeln!(
        text,
        "  break it:    cargo real chaos kill-leader | partition-leader | gc-pause-leader | resign-leader{which}"
    );
    if !protocol.tokened {
        let _ = writeln!(
            text,
            "  note:        `{backend}` has no fencing token: the store accepts what a leader writes after its lease has ended"
        );
    }
    let keep = match postgres {
        Some(url) => format!("--postgres {url}"),
        None => format!("--data {}/store.redb", folder.display()),
    };
    let _ = writeln!(text, "  then judge:  cargo real audit {keep} | cargo real check -\n");
    print(&text);
}

/// Polls the nodes for ever. On a terminal the table stays in place; elsewhere each change is a line.
pub async fn show(card: Card, tls: Option<Tls>, show: Show) {
    let terminal = std::io::stdout().is_terminal();
    let (mut drawn, mut last) = (false, Vec::new());
    let asker = Asker { tls, within: ANSWER_WITHIN };
    loop {
        let mut rows = Vec::new();
        for (name, address) in &card.nodes {
            let at = Endpoint { host: address.ip().to_string(), port: address.port() };
            rows.push((name.clone(), *address, asker.status(&at).await.ok()));
        }
        if terminal {
            let up = if drawn { format!("\x1b[{}A", rows.len() + 1) } else { String::new() };
            let table = table(&rows, show.colour());
            let _ = write!(std::io::stdout(), "{up}{table}").and_then(|()| std::io::stdout().flush());
            drawn = true;
        } else {
            tell_changes(&rows, &mut last);
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

type Row = (String, SocketAddr, Option<Status>);

fn table(rows: &[Row], colour: bool) -> String {
    let mut text = String::from("\x1b[2K  node      address            role        token  lease left\n");
    for (name, address, status) in rows {
        let address = address.to_string();
        let line = match status {
            None => format!("  {name:<9} {address:<18} silent"),
            Some(status) => {
                let token = status.fence_token.map_or_else(String::new, token);
                let left =
                    status.lease_ttl_remaining_ms.map_or_else(String::new, |ms| format!("{:.1} s", ms as f64 / 1e3));
                let role = if status.acting { "leader" } else { &status.role };
                // A line that wraps would draw the table askew.
                let why = status.reason.iter().flat_map(|why| why.chars()).take(WHY_MAX).collect::<String>();
                format!("  {name:<9} {address:<18} {role:<10} {token:>6}  {left:>10}  {why}")
            }
        };
        let leads = status.as_ref().is_some_and(Status::leads);
        // Writing to a String cannot fail.
        let _ = if leads && colour {
            writeln!(text, "\x1b[2K\x1b[1;32m{line}\x1b[0m")
        } else {
            writeln!(text, "\x1b[2K{line}")
        };
    }
    text
}

fn tell_changes(rows: &[Row], last: &mut Vec<(String, String)>) {
    let now: Vec<(String, String)> =
        rows.iter().map(|(name, _, status)| (name.clone(), word(status.as_ref()))).collect();
    for (name, is) in &now {
        if !last.contains(&(name.clone(), is.clone())) {
            print(&format!("{name}: {is}"));
        }
    }
    *last = now;
}

/// A token; a protocol without tokens has 0.
fn token(value: u64) -> String {
    if value == 0 { "none".to_owned() } else { value.to_string() }
}

fn word(status: Option<&Status>) -> String {
    match status {
        None => "silent".to_owned(),
        Some(Status { role, fence_token: Some(value), .. }) => format!("{role}, token {}", token(*value)),
        Some(Status { role, leader: Some(leader), .. }) => format!("{role} of {leader}"),
        Some(Status { role, .. }) => role.clone(),
    }
}
