//! One look at a fleet: the status of its nodes and its store at one moment. `--json` prints it, and tests have
//! recorded it.

use super::samples::Samples;
use crate::real::ask::{Asker, Status};
use protocols_clients::site::Endpoint;
use serde::{Deserialize, Serialize};
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Version of the JSON format.
const SCHEMA: u32 = 1;

/// The addresses of a fleet.
#[derive(Clone)]
pub struct Places {
    /// Nodes by name.
    pub nodes: Vec<(String, Endpoint)>,
    /// The store's metrics.
    pub store: Option<Endpoint>,
    pub asker: Arc<Asker>,
}

/// The observations of one look.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct Look {
    /// Version of the JSON format.
    pub schema: u32,
    /// Milliseconds of Unix time.
    pub at_ms: u64,
    /// The nodes, in the order given.
    pub nodes: Vec<NodeLook>,
    /// The store, if it was asked.
    pub store: Option<StoreLook>,
}

/// A node's answers.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct NodeLook {
    pub name: String,
    /// Its HTTP address.
    pub address: String,
    /// Null if it does not answer.
    pub status: Option<Status>,
    /// Why it does not answer.
    pub silence: Option<String>,
    /// Its counters since its start.
    pub counts: Option<Counts>,
}

/// A node's counters.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Writes that the store has answered.
    pub writes: u64,
    /// Writes and seals that the store refused for their token.
    pub refused: u64,
    /// Renewals that failed while it led.
    pub renewal_failures: u64,
}

/// The store's answer.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct StoreLook {
    /// The address of its metrics.
    pub address: String,
    /// Null if it does not answer.
    pub figures: Option<StoreFigures>,
    /// Why it does not answer.
    pub silence: Option<String>,
}

/// What the store has accepted and refused since its start.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
pub struct StoreFigures {
    /// How many leaders took effect at once in the last 10 s.
    pub leaders_acting: u64,
    /// Writes that were accepted although a later leader had taken effect.
    pub stale_accepted: u64,
    /// The leaders whose writes took effect in the last 10 s, latest first.
    pub leaders: Vec<Effect>,
    pub resources: Vec<Resource>,
}

/// A leadership whose writes take effect.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    pub node: String,
    /// 0 if the protocol has no tokens.
    pub token: u64,
    /// How long ago its last write was accepted.
    pub accepted_ms_ago: u64,
}

/// A resource that the store protects.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    pub name: String,
    /// The highest token it has accepted.
    pub highest_token: u64,
    /// Its last number.
    pub last_seq: u64,
    /// Writes accepted.
    pub accepted: u64,
    /// Seals and writes refused for their token.
    pub refused: u64,
}

impl Look {
    /// Asks all nodes and the store at once.
    pub async fn take(places: &Places) -> Look {
        let asked: Vec<_> = places
            .nodes
            .iter()
            .map(|(name, at)| tokio::spawn(node(places.asker.clone(), name.clone(), at.clone())))
            .collect();
        let store = places.store.clone().map(|at| tokio::spawn(store(places.asker.clone(), at)));
        let mut look = Look { schema: SCHEMA, at_ms: 0, nodes: Vec::new(), store: None };
        for answer in asked {
            // A task fails only by a panic, which is reported by itself.
            look.nodes.extend(answer.await.ok());
        }
        if let Some(store) = store {
            look.store = store.await.ok();
        }
        look.at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        look
    }

    /// The nodes that believe that they lead, with their statuses.
    pub fn leading(&self) -> impl Iterator<Item = (&str, &Status)> {
        let status = |node| NodeLook::status(node).filter(|(_, status)| status.leads());
        self.nodes.iter().filter_map(status)
    }

    /// Those of them that report that they act.
    pub fn acting(&self) -> impl Iterator<Item = (&str, &Status)> {
        self.leading().filter(|(_, status)| status.acting)
    }

    /// The resources that a leader has touched.
    pub fn resources(&self) -> Vec<&Resource> {
        let touched = |r: &&Resource| r.highest_token + r.last_seq + r.accepted + r.refused > 0;
        self.figures().into_iter().flat_map(|figures| &figures.resources).filter(touched).collect()
    }

    /// The store's figures, if it answered.
    pub fn figures(&self) -> Option<&StoreFigures> {
        self.store.as_ref()?.figures.as_ref()
    }
}

impl NodeLook {
    fn status(&self) -> Option<(&str, &Status)> {
        self.status.as_ref().map(|status| (&*self.name, status))
    }
}

fn shown(at: &Endpoint) -> String {
    if at.host.contains(':') { format!("[{}]:{}", at.host, at.port) } else { format!("{}:{}", at.host, at.port) }
}

async fn node(asker: Arc<Asker>, name: String, at: Endpoint) -> NodeLook {
    let address = shown(&at);
    let status = match asker.status(&at).await {
        Ok(status) => status,
        Err(why) => return NodeLook { name, address, status: None, silence: Some(why.to_string()), counts: None },
    };
    let counts = asker.get(&at, "/metrics").await.ok().map(|text| counts(&Samples::read(&text)));
    NodeLook { name, address, status: Some(status), silence: None, counts }
}

fn counts(samples: &Samples) -> Counts {
    let count = |name: &str| samples.sum(name, &[]).unwrap_or_default();
    Counts {
        writes: count("fencepost_write_seconds_count"),
        refused: count("fencepost_fencing_rejections_total"),
        renewal_failures: count("fencepost_renewal_failures_total"),
    }
}

async fn store(asker: Arc<Asker>, at: Endpoint) -> StoreLook {
    let address = shown(&at);
    match asker.get(&at, "/metrics").await.map(|text| figures(&Samples::read(&text))) {
        Ok(Some(figures)) => StoreLook { address, figures: Some(figures), silence: None },
        Ok(None) => StoreLook { address, figures: None, silence: Some("answers, but not as a store does".to_owned()) },
        Err(why) => StoreLook { address, figures: None, silence: Some(why.to_string()) },
    }
}

/// The figures in a store's metrics; `None` if they are not a store's.
fn figures(samples: &Samples) -> Option<StoreFigures> {
    let leaders_acting = samples.sum("fencepost_leaders_acting", &[])?;
    let token = |of: &str| samples.by("fencepost_store_leader_token", "node").find(|(node, _)| *node == of);
    let mut leaders: Vec<Effect> = samples
        .by("fencepost_store_leader_accepted_age_seconds", "node")
        .map(|(node, age)| Effect {
            node: node.to_owned(),
            token: token(node).map_or(0, |(_, token)| token as u64),
            accepted_ms_ago: (age * 1e3) as u64,
        })
        .collect();
    leaders.sort_by_key(|leader| leader.accepted_ms_ago);
    let mut resources: Vec<Resource> = samples
        .by("fencepost_store_last_seq", "resource")
        .map(|(name, last_seq)| {
            let of = |metric: &str, and: &[(&str, &str)]| {
                samples.sum(metric, &[&[("resource", name)], and].concat()).unwrap_or_default()
            };
            Resource {
                name: name.to_owned(),
                highest_token: of("fencepost_store_highest_token", &[]),
                last_seq: last_seq as u64,
                accepted: of("fencepost_store_decisions_total", &[("what", "write"), ("verdict", "ok")]),
                refused: of("fencepost_store_rejections_total", &[]),
            }
        })
        .collect();
    resources.sort_by(|a, b| a.name.cmp(&b.name));
    let stale_accepted = samples.sum("fencepost_store_stale_accepted_total", &[]).unwrap_or_default();
    Some(StoreFigures { leaders_acting, stale_accepted, leaders, resources })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_exposes_becomes_its_figures() {
        let text = "fencepost_leaders_acting 2\nfencepost_store_stale_accepted_total 1\n\
            fencepost_store_leader_token{node=\"n1\"} 5\nfencepost_store_leader_token{node=\"n2\"} 6\n\
            fencepost_store_leader_accepted_age_seconds{node=\"n1\"} 0.25\n\
            fencepost_store_leader_accepted_age_seconds{node=\"n2\"} 0.1\n\
            fencepost_store_last_seq{resource=\"sequence\"} 40\nfencepost_store_highest_token{resource=\"sequence\"} 6\n\
            fencepost_store_decisions_total{resource=\"sequence\",what=\"write\",verdict=\"ok\"} 40\n\
            fencepost_store_decisions_total{resource=\"sequence\",what=\"seal\",verdict=\"ok\"} 2\n\
            fencepost_store_rejections_total{resource=\"sequence\"} 3\nfencepost_store_rejections_total{resource=\"schedule\"} 0\n";
        let effect = |node: &str, token, accepted_ms_ago| Effect { node: node.to_owned(), token, accepted_ms_ago };
        let (name, refused) = ("sequence".to_owned(), 3);
        let resource = Resource { name, highest_token: 6, last_seq: 40, accepted: 40, refused };
        let leaders = vec![effect("n2", 6, 100), effect("n1", 5, 250)];
        let expected = StoreFigures { leaders_acting: 2, stale_accepted: 1, leaders, resources: vec![resource] };
        assert_eq!(figures(&Samples::read(text)), Some(expected));
        assert_eq!(figures(&Samples::read("up 1\n")), None);
    }
}
