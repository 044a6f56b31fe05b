//! Plays a fault in the simulated world: modelled members, and the clients in place of candidates.

use super::{
    client::{Service, hold, probe},
    fault::{Fault, ttl_s},
    seen::{Came, Log, Times, came},
};
use protocols::{election, types::MILLISECOND};
use protocols_clients::site::Endpoint;
use scenarios::{Params, scenario};
use sim::{
    fleet::Fleet,
    host::{self, Main},
    recorder::{Listeners, Recorder},
    registry::Registry,
    world::{self, Driver, World, env::SimEnv},
};
use std::sync::Arc;

/// The earliest time of the fault, and the random addition, in milliseconds.
const STRIKES_MS: (u64, u64) = (6_000, 2_000);

const fn protocol(service: Service) -> &'static str {
    match service {
        Service::Etcd => "etcd-election",
        Service::Zookeeper => "zk-election",
        Service::Consul => "consul-session",
    }
}

/// Plays the fault; `bugs` are those of the modelled version.
pub fn play(service: Service, fault: Fault, bugs: &[&str], seed: u64) -> Came {
    let registry = Registry::default();
    let protocol = election::find(protocol(service)).expect("a protocol");
    let params = Params {
        nodes: 2,
        rate: 50,
        service_members: Some(3),
        clock_skew_ms: 0,
        clock_drift_ppm: 0,
        ..Params::default()
    };
    let steady = scenario::find("steady").expect("a scenario");
    let mut plan = steady.compile(&params, protocol, seed).expect("the parameters make sense");
    let topology = Arc::new(registry.plans.topology(&plan, protocol).expect("a topology"));
    let members: Vec<&str> = topology.asked().map(|member| topology.name(member)).collect();
    let struck_ms = STRIKES_MS.0 + seed.wrapping_mul(617) % STRIKES_MS.1;
    let over_ms = struck_ms + fault.lasts_ms(service);
    plan.duration_ms = over_ms + fault.shows_ms();
    plan.bugs = bugs.iter().map(|bug| (*bug).to_owned()).collect();
    plan.faults = fault.planned(service, struck_ms as f64, &members);
    registry.plans.validate(&plan).expect("a plan");
    let endpoint = |host: &&str| Endpoint { host: (*host).to_owned(), port: protocol.service.port };
    let endpoints: Vec<Endpoint> = members.iter().map(endpoint).collect();
    let plan = Arc::new(plan);
    let fleet = Fleet::new(plan.clone(), topology.clone(), &registry).expect("a fleet");
    let [holder, prober] = [(); 2].map(|()| Log::new(|| world::with(|world| world.now())));
    let logs = (holder.clone(), prober.clone());
    let header = plan.header_of(protocol, &topology);
    let (invariants, seed) = (registry.invariants.clone(), plan.seed);
    let make_world = move || {
        let recorder = Recorder::new(Listeners::new(&header, &invariants, false, None));
        World::new(plan, protocol, topology, Driver::Inline, recorder, None)
    };
    let start = move |node: protocols::types::NodeId| -> Option<Main> {
        let (endpoints, (holder, prober)) = (endpoints.clone(), logs.clone());
        match node.index() {
            0 => Some(Box::new(move || {
                Box::pin(hold(service, SimEnv::new(node), endpoints.clone(), ttl_s(service), holder.clone()))
            })),
            1 => Some(Box::new(move || {
                Box::pin(probe(service, SimEnv::new(node), endpoints.clone(), ttl_s(service), prober.clone()))
            })),
            _ => fleet.start(node),
        }
    };
    let ended = over_ms + fault.shows_ms();
    host::run(seed, make_world, Box::new(start)).expect("the run ends");
    let [struck, over, ended] = [struck_ms, over_ms, ended].map(|ms| ms * MILLISECOND);
    assert!(holder.was_answered() && prober.was_answered(), "nobody was answered: {service:?}, seed {seed}");
    came(&holder, &prober, Times { struck, over, ended }, fault.is_without_service())
}
