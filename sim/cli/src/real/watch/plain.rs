//! A fleet as a table of plain text, for pipes and for `--once`.

use super::{fleet::Fleet, fleet::seconds, news::leaders_text};
use std::fmt::Write as _;

/// The last look as text.
pub fn table(fleet: &Fleet) -> String {
    let Some(look) = fleet.last() else { return String::new() };
    let (_, headline) = fleet.headline();
    // Writing to a String cannot fail.
    let mut text = format!("{headline}\n\n");
    let names = look.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).max("node".len());
    let addresses = look.nodes.iter().map(|node| node.address.len()).max().unwrap_or(0).max("address".len());
    let _ =
        writeln!(text, "  {:<names$}  {:<addresses$}  role           token  lease left  refused", "node", "address");
    for node in &look.nodes {
        let _ = write!(text, "  {:<names$}  {:<addresses$}", node.name, node.address);
        let _ = match &node.status {
            None => writeln!(text, "  silent: {}", node.silence.as_deref().unwrap_or("no answer")),
            Some(status) => {
                let token = match status.fence_token {
                    Some(0) => "none".to_owned(),
                    Some(token) => token.to_string(),
                    None => String::new(),
                };
                let left = status.lease_ttl_remaining_ms.map_or_else(String::new, seconds);
                let refused = node.counts.as_ref().map_or(0, |counts| counts.refused);
                let why = status.reason.as_deref().unwrap_or_default();
                let line = format!("  {:<10}  {token:>8}  {left:>10}  {refused:>7}  {why}", status.role);
                writeln!(text, "{}", line.trim_end())
            }
        };
    }
    let _ = match look.store.as_ref().map(|store| (store, &store.figures)) {
        None => writeln!(text, "\nThe store was not asked: give --store-metrics HOST:PORT to know who takes effect"),
        Some((store, None)) => {
            writeln!(text, "\nThe store's metrics do not answer: {}", store.silence.as_deref().unwrap_or("no answer"))
        }
        Some((_, Some(figures))) => {
            let _ = match figures.leaders.first() {
                None => writeln!(text, "\nNobody took effect in the last 10 s"),
                Some(_) => writeln!(
                    text,
                    "\nTook effect in the last 10 s: {}; {} at once, {} stale writes accepted",
                    leaders_text(figures),
                    figures.leaders_acting,
                    figures.stale_accepted
                ),
            };
            let _ = writeln!(text, "\n  resource          token  last number   accepted   refused");
            look.resources().into_iter().try_for_each(|r| {
                let (name, token, seq) = (&r.name, r.highest_token, r.last_seq);
                writeln!(text, "  {name:<12}  {token:>9}  {seq:>11}  {:>9}  {:>8}", r.accepted, r.refused)
            })
        }
    };
    text
}
