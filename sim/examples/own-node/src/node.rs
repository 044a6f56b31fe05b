//! A node of a fleet of three.

use crate::{PORT, any, run, setting};
use protocols::{
    bug::Bugs,
    election::{self, Timings},
    node::Tenure,
    types::NodeId,
};
use protocols_clients::{
    env::tokio::{Clocks, EnvSettings, TokioEnv},
    site::{Endpoint, Site},
};
use protocols_real::{
    directory::Directory,
    http,
    log::Log,
    node::{self, NodeSettings},
    store::link::LinkSettings,
};
use std::{
    collections::hash_map::RandomState,
    future,
    hash::{BuildHasher, Hasher},
    sync::Arc,
};

/// `--lease-ttl 3s`, nanoseconds. The other timers follow from it, as on the command line.
const LEASE: u64 = 3_000_000_000;
/// How often the leader writes, nanoseconds.
const TICK: u64 = 500_000_000;
const MEMBERS: [&str; 3] = ["n1", "n2", "n3"];

/// Campaigns by the protocol that `PROTOCOL` names, and writes to the schedule when it leads.
pub fn main() {
    run("info", async {
        node::run(settings().await, future::pending()).await.expect("the node runs");
    });
}

async fn settings() -> NodeSettings {
    let (name, protocol) = (setting("HOSTNAME"), setting("PROTOCOL"));
    let protocol = election::find(&protocol).unwrap_or_else(|| panic!("there is no protocol {protocol}"));
    let service = protocol.service.process.expect("its election asks a service");
    let names = MEMBERS.into_iter().chain([service, "store"]).map(str::to_owned).collect();
    let directory = Arc::new(Directory::new(names));
    let granted = (protocol.granted_ttl)(LEASE);
    let timings = Timings {
        lease_ttl: LEASE,
        renew_interval: (protocol.renew_interval)(granted),
        request_timeout: LEASE / 3,
        election_timeout: None,
        own: protocol.timers.defaults(granted),
        rules: Default::default(),
    };
    let entropy = RandomState::new().build_hasher().finish();
    let at = |host: &str, port| Endpoint { host: host.to_owned(), port };
    let number = directory.member(&name).expect("it is a member");
    let env = EnvSettings { seed: entropy, clocks: Some(Clocks::new(0, 0)), ..EnvSettings::default() };
    NodeSettings {
        addresses: MEMBERS.map(|member| format!("{member}:{PORT}")).to_vec(),
        protocol,
        timings,
        read_lease: false,
        tick: TICK,
        tenure: Tenure::default(),
        starts: (entropy >> 32) as u32 & 0x7fff,
        site: Site {
            service: vec![at(service, protocol.service.port)],
            node: number,
            peers: Vec::new(),
            port: 0,
            founders: (0..MEMBERS.len() as u16).map(NodeId).collect(),
            timings,
            bugs: Bugs::default(),
        },
        service_env: TokioEnv::with(env.clone()),
        env: TokioEnv::with(env),
        store: LinkSettings::new(at("store", PORT), name.clone(), directory.clone(), None),
        listener: http::listen(any(PORT)).await.expect("the node listens"),
        tls: None,
        log: Log::off(),
        commit: "simulated",
        name,
        directory,
    }
}
