//! What each process of a plan is: candidates with their clients, the coordination service, the store, the load.

use crate::{
    service,
    world::{Driver, env::SimEnv, with},
};
use protocols::{
    core::{Core, Input},
    election::{Protocol, Setup},
    elector::ServiceOutput,
    fence::{power::PowerSwitch, store::Store},
    history::Kind,
    load::Client,
    message::Message,
    node::{Node, Place},
    payload::Opaque,
    registry::OURS,
    service::Service,
    types::{MILLISECOND, NodeId, SECOND},
};
use protocols_clients::{
    env::{Disk, Env},
    registry::Clients,
    site::{Endpoint, Site},
    task_driver::{self, Port},
};
use scenarios::{plan::Plan, streams};
use std::{future::Future, pin::Pin, sync::Arc};
use tokio::sync::mpsc;

/// What a process's first task runs.
pub type Main = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The processes of a plan.
pub struct Fleet {
    plan: Arc<Plan>,
    protocol: &'static Protocol,
    /// The state of the service, if it is one that is served.
    service: Option<service::State>,
}

/// Where a driven core's messages and history go in the simulation.
struct SimPort(NodeId);

impl Port for SimPort {
    fn send(&mut self, to: NodeId, message: Message) {
        with(|world| world.send(self.0, to, message));
    }
    fn tell(&mut self, to: NodeId, message: Opaque) {
        with(|world| world.tell(self.0, to, message));
    }
    fn redial(&mut self, to: NodeId) {
        with(|world| world.redial(self.0, to));
    }
    fn record(&mut self, kind: Kind) {
        with(|world| world.record(kind));
    }
    fn asks(&mut self, output: &ServiceOutput) {
        with(|world| world.count_request(output));
    }
    fn power_off(&mut self, node: NodeId, restart_after: Option<u64>) {
        with(|world| world.power_off(node, restart_after));
    }
    fn disk_failed(&mut self, _: &std::io::Error) {
        with(|world| world.crash(self.0));
    }
}

impl Fleet {
    /// The fleet of `plan`.
    ///
    /// # Errors
    /// The plan names a protocol that there is not.
    pub fn new(plan: Arc<Plan>) -> Result<Self, String> {
        let protocol = OURS.find(&plan.protocol).ok_or_else(|| format!("no protocol `{}`", plan.protocol))?;
        let service = protocol.service.process().and_then(service::find);
        Ok(Fleet { plan, protocol, service })
    }

    /// Starts a process. Gives back its first task, if it has any; what is only a core is stepped by the world.
    pub fn start(&self, node: NodeId) -> Option<Main> {
        let plan = &self.plan;
        match node {
            node if plan.candidate_nodes().contains(&node.0) => Some(self.candidate(node)),
            node if plan.service_node() == Some(node) && self.protocol.cuts_power() => {
                let outlets = plan.candidate_nodes().end;
                with(|world| world.set_core(node, Box::new(PowerSwitch::new(outlets))));
                None
            }
            node if plan.service_node() == Some(node) => self.service_host(node),
            node if plan.store_node() == node => {
                with(|world| match world.has_core(node) {
                    // Its disk has survived; so has what it is.
                    true => world.input(node, Input::Start),
                    false => world.set_core(node, Box::new(Store::new(self.plan.fencing))),
                });
                None
            }
            node => self.client(node, (node.0 - plan.client_nodes().start).into()),
        }
    }

    fn service_host(&self, node: NodeId) -> Option<Main> {
        let (state, port) = (self.service.clone()?, self.protocol.service.port);
        with(|world| world.set_service_state(state.clone()));
        Some(Box::new(move || Box::pin(service::serve(state.clone(), SimEnv { node }, port))))
    }

    fn client(&self, node: NodeId, index: usize) -> Option<Main> {
        let load = self.plan.load;
        let interval = SECOND * u64::from(load.clients) / load.rate;
        let mut random = streams::stream(self.plan.seed, &format!("workload/{index}"));
        let phase = rand_core::RngCore::next_u64(&mut random) % interval.max(1);
        let reads = (SECOND * u64::from(load.clients)).checked_div(load.reads_per_s);
        let reads = reads.map(|interval| (interval, rand_core::RngCore::next_u64(&mut random) % interval.max(1)));
        let candidates = self.plan.candidates.len() as u16;
        let attempt_timeout = self.plan.network.attempt_timeout_ms() * MILLISECOND;
        let core = move || {
            let starts = with(|world| world.process(node).starts) - 1;
            let client = Client::new(node, candidates, interval, phase, starts).with_attempt_timeout(attempt_timeout);
            Box::new(match reads {
                Some((interval, phase)) => client.with_reads(interval, phase),
                None => client,
            })
        };
        if with(|world| world.driver()) == Driver::Inline {
            let core = core();
            with(|world| world.set_core(node, core));
            return None;
        }
        Some(Box::new(move || Box::pin(drive(SimEnv { node }, core(), None))))
    }

    fn candidate(&self, node: NodeId) -> Main {
        let (plan, protocol) = (self.plan.clone(), self.protocol);
        Box::new(move || {
            let (env, plan) = (SimEnv { node }, plan.clone());
            Box::pin(async move {
                let core = candidate_core(&plan, protocol, env).await;
                run_candidate(env, core, protocol.service, site(&plan, protocol.service, node)).await;
            })
        })
    }
}

/// What a candidate's client is told: in the simulation, processes are reached by their names.
fn site(plan: &Plan, service: &'static Service, node: NodeId) -> Site {
    let (port, joins_later) = (service.port, |n: &NodeId| plan.candidates[n.index()].joins_later);
    let endpoint = |host: &str| Endpoint { host: host.to_owned(), port };
    Site {
        service: endpoint(service.process().unwrap_or_default()),
        node,
        peers: plan.candidates.iter().map(|c| endpoint(&c.name)).collect(),
        port,
        founders: plan.candidate_nodes().map(NodeId).filter(|n| !joins_later(n)).collect(),
        timings: plan.timings.resolved(),
    }
}

async fn candidate_core(plan: &Plan, protocol: &Protocol, env: SimEnv) -> Box<dyn Core> {
    let timings = plan.timings.resolved();
    // A simulated disk can always be read.
    let stored = env.disk().read(task_driver::STATE).await.unwrap_or_default();
    let names = plan.candidates.iter().map(|c| c.name.clone()).collect();
    let elector = (protocol.elector)(Setup { node: env.node, names, timings, nonce: env.random(), stored });
    let starts = with(|world| world.process(env.node).starts) - 1;
    let (store, tick, read_lease) = (plan.store_node(), plan.load.tick_ms * MILLISECOND, plan.read_lease);
    let silence = plan.network.store_silence_ms() * MILLISECOND;
    let place = Place { node: env.node, store, starts, tick, silence, read_lease };
    Box::new(Node::new(place, elector))
}

async fn run_candidate(env: SimEnv, core: Box<dyn Core>, service: &'static Service, site: Site) {
    let (outputs, requests) = mpsc::unbounded_channel();
    if with(|world| world.driver()) == Driver::Inline {
        with(|world| {
            world.set_service(env.node, outputs);
            world.set_core(env.node, core);
        });
        let deliver = move |input| with(|world| world.input(env.node, Input::Service(Box::new(input))));
        Clients::ours().run(env, service, site, requests, deliver).await;
    } else {
        let deliver = move |input| with(|world| world.input(env.node, Input::Service(Box::new(input))));
        env.spawn_detached(async move { Clients::ours().run(env, service, site, requests, deliver).await });
        drive(env, core, Some(outputs)).await;
    }
    // A process does not end by itself.
    std::future::pending::<()>().await;
}

async fn drive(
    env: SimEnv,
    core: Box<dyn Core>,
    service: Option<mpsc::UnboundedSender<protocols::elector::ServiceOutput>>,
) {
    let (sender, inputs) = mpsc::unbounded_channel();
    with(|world| world.set_inputs(env.node, sender));
    task_driver::drive(env, SimPort(env.node), core, service, inputs).await;
}
