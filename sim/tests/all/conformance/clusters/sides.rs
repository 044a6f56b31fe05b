//! Plays a fault on either side: in a real cluster of processes on this machine, and in the simulated world.

use super::{
    client::{Service, hold, probe},
    fault::{Fault, ttl_s},
    seen::{Came, Log, Times, came},
};
use protocols::{election, types::MILLISECOND};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    site::Endpoint,
};
use scenarios::{Params, scenario};
use servers::{
    SOON, eventually,
    members::{Kind, Members},
};
use sim::{
    fleet::Fleet,
    host::{self, Main},
    recorder::{Listeners, Recorder},
    registry::Registry,
    world::{self, Driver, World, env::SimEnv},
};
use std::{
    sync::Arc,
    thread::{self, sleep},
    time::Duration,
};
use tokio::sync::oneshot;

// Plays a fault in a real cluster of processes on this machine.

/// The wait after the cluster first serves clients, and the random addition in milliseconds.
const STRIKES: (Duration, u64) = (Duration::from_millis(3_000), 2_000);

/// Plays the fault on a new cluster. With `through_agent`, Consul's clients ask an agent on their own machine, as
/// recommended.
pub fn play_real(service: Service, kind: Kind, fault: Fault, through_agent: bool, seed: u64) -> Came {
    let mut members = Members::start(kind);
    let endpoint = |at: &std::net::SocketAddr| Endpoint { host: at.ip().to_string(), port: at.port() };
    let asked = if through_agent { members.clients() } else { members.servers() };
    let endpoints: Vec<Endpoint> = asked.iter().map(endpoint).collect();
    let env = TokioEnv::new(seed);
    let [holder, prober] = [(); 2].map(|()| {
        let env = env.clone();
        Log::new(move || env.now().mono)
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let clients = {
        let (env, holder, prober) = (env.clone(), holder.clone(), prober.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let _holds = env.spawn(hold(service, env.clone(), endpoints.clone(), ttl_s(service), holder));
                let _probes = env.spawn(probe(service, env.clone(), endpoints, ttl_s(service), prober));
                // The sender may be gone.
                let _ = stopped.await;
            });
        })
    };
    eventually("clients are answered", 4 * SOON, || (holder.was_answered() && prober.was_answered()).then_some(()));
    sleep(STRIKES.0 + Duration::from_millis(seed.wrapping_mul(617) % STRIKES.1));
    let struck = env.now().mono;
    let leader = members.await_leader();
    let two = [0, 1];
    match fault {
        Fault::Kill => members.kill(leader),
        Fault::Pause | Fault::Stall => members.pause(leader),
        Fault::CutOff => members.cut_off(leader),
        Fault::QuorumLoss => two.into_iter().for_each(|member| members.kill(member)),
    }
    sleep(Duration::from_millis(fault.lasts_ms(service)));
    match fault {
        Fault::Kill => members.restart(leader),
        Fault::Pause | Fault::Stall => members.resume(leader),
        Fault::CutOff => members.heal(),
        Fault::QuorumLoss => two.into_iter().for_each(|member| members.restart(member)),
    }
    let over = env.now().mono;
    sleep(Duration::from_millis(fault.shows_ms()));
    let times = Times { struck, over, ended: env.now().mono };
    // The client waits for nothing else.
    let _ = stop.send(());
    clients.join().expect("the clients only ask");
    came(&holder, &prober, times, fault.is_without_service())
}

// Plays a fault in the simulated world: modelled members, and the clients in place of candidates.

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
pub fn play_model(service: Service, fault: Fault, bugs: &[&str], seed: u64) -> Came {
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
