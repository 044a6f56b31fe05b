//! Creates the processes of a plan: candidates with their clients, the coordination service, the store, the load.

use crate::{
    host::Main,
    program::{self, Program},
    registry::Registry,
    service,
    world::{Driver, env::SimEnv, with},
};
use protocols::{
    address::{Claim, Directory, Resolver},
    bug::Bugs,
    copies::{Disk as CopyDisk, Guard, Holder, Seat},
    core::{Core, Input, TimerId},
    division::Division,
    election::{
        Protocol, Setup,
        k8s::{ONE_IDENTITY_TWICE, SAME_HOST},
        raft_core::{self, COPIED, IDENTITY_COPIED},
    },
    elector::ServiceOutput,
    fence::{
        checks::Checks,
        power::PowerSwitch,
        store::{FORGOTTEN_ON_RESTART, Store},
    },
    history::Kind,
    load::Client,
    message::Message,
    multiplexer::{self, Multiplexer},
    node::{Node, Place},
    payload::Opaque,
    service::Service,
    sharding::{Places, Sharded},
    types::{MILLISECOND, NodeId, SECOND},
    work::Works,
};
use protocols_clients::{
    env::{Disk, Env},
    registry::Clients,
    site::{Endpoint, Site},
    task_driver::{self, Port},
};
use scenarios::{
    plan::Plan,
    registry::Missing,
    streams,
    topology::{self, Role, Topology},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU64},
};
use tokio::sync::mpsc;

pub struct Fleet {
    plan: Arc<Plan>,
    protocol: &'static Protocol,
    topology: Arc<Topology>,
    works: Arc<Works>,
    bugs: Bugs,
    /// The store's checks by the place of a leader's resource.
    checks: Vec<Checks>,
    clients: Arc<Clients<SimEnv>>,
    /// The states of the service's members.
    members: BTreeMap<NodeId, service::State>,
    /// The disks of the copies, if every candidate's node has one.
    disks: Vec<CopyDisk>,
    /// See [`Seat::told`].
    told: Arc<AtomicU64>,
    /// What candidates run in place of the protocol, and the store that they write to.
    program: Option<(Program, program::store::Store)>,
}

/// Passes a core's messages and history to the simulated world.
struct SimPort(NodeId);

impl Port for SimPort {
    fn send(&mut self, to: NodeId, message: Message) {
        with(|world| world.send(self.0, to, &message));
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
    fn record_in(&mut self, group: u16, kind: Kind) {
        with(|world| world.record_in(group, kind));
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
    /// The fleet of `plan`, built from the registry.
    ///
    /// # Errors
    /// The registry lacks the plan's protocol or a bug.
    pub fn new(plan: Arc<Plan>, topology: Arc<Topology>, registry: &Registry) -> Result<Self, Missing> {
        let (protocol, bugs) = (registry.plans.protocol(&plan.protocol)?, registry.plans.bugs(&plan.bugs)?);
        let works = Arc::new(topology.works().clone().with_bugs(bugs.clone()).shared_by(plan.groups));
        let states = |(service, known): (&Service, &topology::Service)| {
            let states = service::of_members(&registry.models, service, known.nodes().len(), &bugs);
            known.nodes().zip(states).collect::<Vec<_>>()
        };
        let members = protocol.service.all().zip(topology.services()).flat_map(states).collect();
        let clients = Arc::new(registry.clients.clone());
        let checks = works.checks(plan.fencing.checks()).into_iter().enumerate();
        let checks: Vec<Checks> = checks.map(|(place, checks)| checks.but_for(&bugs, place)).collect();
        let disks = plan.copies.map(|_| topology.candidates().map(|_| CopyDisk::new(checks.clone())).collect());
        let (disks, told) = (disks.unwrap_or_default(), Arc::default());
        // The protocol of programs has no core of its own, and other protocols have nothing else.
        let program = match (protocol.is_program(), &registry.program) {
            (false, _) => None,
            (true, Some(program)) => Some((program.clone(), program.store(plan.fencing))),
            (true, None) => return Err(Missing { what: "program", name: protocol.name.to_owned() }),
        };
        Ok(Fleet { plan, protocol, topology, works, bugs, checks, clients, members, disks, told, program })
    }

    /// Starts a process and returns its first task, if any; the world steps processes that are only a core.
    pub fn start(&self, node: NodeId) -> Option<Main> {
        match self.topology.role(node) {
            Role::Candidate(_) => Some(match &self.program {
                Some((program, _)) => program.main(node),
                None => self.candidate(node),
            }),
            Role::Member { .. } if self.protocol.cuts_power() => {
                let outlets = self.topology.candidates().len() as u16;
                let switch = |_| -> Box<dyn Core> { Box::new(PowerSwitch::new(outlets)) };
                let division = self.plan.division(&self.topology);
                with(|world| world.set_core(node, of_groups(division, PowerSwitch::TIMERS, Vec::new(), switch)));
                None
            }
            Role::Member { .. } => self.member(node),
            Role::Store => match &self.program {
                Some((_, store)) => {
                    let store = store.clone();
                    Some(Box::new(move || Box::pin(store.clone().serve(SimEnv::new(node)))))
                }
                None => self.start_store(node),
            },
            Role::Directory => {
                let (address, clients) = (self.plan.address?, self.topology.clients());
                let first = self.topology.store().0 + 1;
                with(|world| match world.has_core(node) {
                    true => world.input(node, Input::Start),
                    false => {
                        let directory = Directory::new(address.kind, first..first + clients.len() as u16);
                        world.set_core(node, Box::new(directory));
                    }
                });
                None
            }
            Role::Client(index) => self.client(node, index),
        }
    }

    fn start_store(&self, node: NodeId) -> Option<Main> {
        let forgets = self.bugs.has(&FORGOTTEN_ON_RESTART);
        with(|world| match world.has_core(node) && !forgets {
            // Its disk has survived, and the core with it.
            true => world.input(node, Input::Start),
            false => world.set_core(node, Box::new(self.store())),
        });
        None
    }

    fn store(&self) -> Store {
        let store = Store::new(&self.checks, self.plan.groups.into());
        match (self.bugs.has(&ONE_IDENTITY_TWICE), self.bugs.has(&IDENTITY_COPIED)) {
            (true, _) => store.with_one_identity(SAME_HOST.0, SAME_HOST.1),
            (_, true) => store.with_one_identity(COPIED.0, COPIED.1),
            _ => store,
        }
    }

    fn member(&self, node: NodeId) -> Option<Main> {
        let Role::Member { service, .. } = self.topology.role(node) else { return None };
        // A restored state may have replaced the original one.
        let state = with(|world| world.member_state(node)).or_else(|| self.members.get(&node).cloned())?;
        let port = self.protocol.service.all().nth(service)?.port;
        with(|world| world.set_member_state(node, state.clone()));
        Some(Box::new(move || Box::pin(service::serve(state.clone(), SimEnv::new(node), port))))
    }

    fn client(&self, node: NodeId, index: usize) -> Option<Main> {
        let load = self.plan.load;
        let interval = SECOND * u64::from(load.clients) / load.rate;
        let (group, index) = (index / usize::from(load.clients), index % usize::from(load.clients));
        let of_group = if group == 0 { String::new() } else { format!("{group}/") };
        let mut random = streams::stream(self.plan.seed, &format!("workload/{of_group}{index}"));
        let phase = rand_core::RngCore::next_u64(&mut random) % interval.max(1);
        let reads = (SECOND * u64::from(load.clients)).checked_div(load.reads_per_s);
        let reads = reads.map(|interval| (interval, rand_core::RngCore::next_u64(&mut random) % interval.max(1)));
        let candidates = self.topology.candidates().len() as u16;
        let attempt_timeout = self.plan.network.attempt_timeout_ms() * MILLISECOND;
        let address = self.plan.address.zip(self.topology.directory());
        let resolver = address.map(|(address, directory)| {
            Resolver::new(directory, address.ttl_ms.saturating_mul(MILLISECOND), attempt_timeout)
        });
        let core = move || {
            let starts = with(|world| world.process(node).starts) - 1;
            let client = Client::new(node, candidates, interval, phase, starts).with_attempt_timeout(attempt_timeout);
            let client = match reads {
                Some((interval, phase)) => client.with_reads(interval, phase),
                None => client,
            };
            Box::new(match resolver.clone() {
                Some(resolver) => client.with_address(resolver),
                None => client,
            })
        };
        if with(|world| world.driver()) == Driver::Inline {
            let core = core();
            with(|world| world.set_core(node, core));
            return None;
        }
        Some(Box::new(move || Box::pin(drive(SimEnv::new(node), core(), Vec::new()))))
    }

    /// The node's copy, if it has one.
    fn seat(&self, node: NodeId) -> Option<Seat> {
        let (mode, copies) = (self.plan.copies?, self.disks.len() as u16);
        let (disk, told) = (self.disks.get(node.index())?.clone(), self.told.clone());
        let guard = raft_core::guard(&self.plan.resolved_of(node, self.protocol));
        let guard = guard.map(|(lease, bound)| Guard::new(node, lease, bound, self.plan.read_lease, &self.bugs));
        Some(Seat { node, copies, mode, disk, told, guard })
    }

    fn candidate(&self, node: NodeId) -> Main {
        let told = Arc::new(Told {
            plan: self.plan.clone(),
            protocol: self.protocol,
            topology: self.topology.clone(),
            works: self.works.clone(),
            bugs: self.bugs.clone(),
            clients: self.clients.clone(),
            copy: self.seat(node),
        });
        Box::new(move || {
            let (env, told) = (SimEnv::new(node), told.clone());
            Box::pin(async move {
                let core = candidate_core(&told, env).await;
                run_candidate(env, core, &told).await;
            })
        })
    }
}

/// What a candidate is built from.
struct Told {
    plan: Arc<Plan>,
    protocol: &'static Protocol,
    topology: Arc<Topology>,
    works: Arc<Works>,
    bugs: Bugs,
    clients: Arc<Clients<SimEnv>>,
    /// Its copy, if it has one.
    copy: Option<Seat>,
}

/// The addresses for a candidate's client; in the simulation, processes are addressed by name. Members inside the
/// candidates' processes have one port per group.
fn site(told: &Told, node: NodeId, group: u16) -> Site {
    let Told { plan, protocol, topology, .. } = told;
    let (service, joins_later) = (protocol.service.port, |n: &NodeId| plan.candidates[n.index()].joins_later);
    let endpoint = |host: &str, port: u16| Endpoint { host: host.to_owned(), port };
    let port = service + group;
    Site {
        service: topology.asked().map(|member| endpoint(topology.name(member), service)).collect(),
        node,
        peers: plan.candidates.iter().map(|c| endpoint(&c.name, port)).collect(),
        port,
        founders: topology.candidates().filter(|n| !joins_later(n)).collect(),
        timings: plan.resolved_of(node, protocol),
        bugs: told.bugs.clone(),
    }
}

/// One core per group, or the only core.
fn of_groups(
    division: Division,
    timers: TimerId,
    stored: Vec<Option<Vec<u8>>>,
    core: impl FnMut(u16) -> Box<dyn Core>,
) -> Box<dyn Core> {
    let mut cores: Vec<Box<dyn Core>> = (0..division.groups).map(core).collect();
    match cores.pop() {
        Some(only) if cores.is_empty() => only,
        last => {
            cores.extend(last);
            Box::new(Multiplexer::new(cores, division, timers, stored))
        }
    }
}

async fn candidate_core(told: &Told, env: SimEnv) -> Box<dyn Core> {
    let Told { plan, protocol, topology, works, bugs, .. } = told;
    let timings = plan.resolved_of(env.node, protocol);
    // A simulated disk can always be read.
    let stored = env.disk().read(task_driver::STATE).await.unwrap_or_default();
    let division = plan.division(topology);
    let stored = if division.is_real() { multiplexer::parts(stored.as_deref(), plan.groups) } else { vec![stored] };
    let names: Vec<String> = plan.candidates.iter().map(|c| c.name.clone()).collect();
    let in_store = protocol.service.in_store.then_some(topology.store());
    let service: Vec<NodeId> = in_store.into_iter().chain(topology.asked()).collect();
    let starts = with(|world| world.process(env.node).starts) - 1;
    // A node with a copy writes to its copy.
    let store = told.copy.as_ref().map_or(topology.store(), |seat| seat.node);
    let tick = plan.load.tick_ms * MILLISECOND;
    // With LeaseGuard the copy knows whether a lease allows an answer, and owes its answers to writes until an earlier
    // lease has ended.
    let guarded = told.copy.as_ref().and_then(|seat| seat.guard.as_ref());
    let read_lease = plan.read_lease && guarded.is_none();
    let silence = plan.network.store_silence_ms() * MILLISECOND + guarded.map_or(0, Guard::longest_wait);
    let place = Place { node: env.node, store, starts, tick, silence, read_lease };
    let node = |group: u16| -> Box<dyn Core> {
        let setup = Setup {
            node: env.node,
            group,
            seat: None,
            names: names.clone(),
            timings,
            nonce: env.random(),
            stored: stored[usize::from(group)].clone(),
            service: service.clone(),
            bugs: bugs.clone(),
        };
        let node = Node::new(place, (protocol.elector)(setup)).with_works(works.clone()).with_bugs(bugs.clone());
        let address = plan.address.zip(topology.directory());
        let address = address.map(|(address, directory)| Claim { directory, kind: address.kind, held: false });
        let tenure = protocols::node::Tenure { address, ..tenure(plan, env.node, group, starts) };
        let node = node.with_tenure(tenure);
        match told.copy.clone() {
            Some(seat) => Box::new(Holder::new(node, seat, works)),
            None => Box::new(node),
        }
    };
    let groups = of_groups(division, Node::timers(works), stored.clone(), node);
    match plan.placement {
        None => groups,
        Some(placement) => {
            let (timers, places) = (plan.groups * Node::timers(works), Places::new(placement, &names));
            Box::new(Sharded::new(groups, plan.groups, timers, places, env.node, names.len() as u16))
        }
    }
}

/// The tenure of a node that leads a group. Its health checks err differently in each of its lives.
fn tenure(plan: &Plan, node: NodeId, group: u16, starts: u32) -> protocols::node::Tenure {
    let of = format!("health/{}/{group}/{starts}", node.index());
    plan.tenure.resolved(rand_core::RngCore::next_u64(&mut streams::stream(plan.seed, &of)))
}

async fn run_candidate(env: SimEnv, core: Box<dyn Core>, told: &Told) {
    let groups = told.plan.groups;
    let (outputs, requests): (Vec<_>, Vec<_>) = (0..groups).map(|_| mpsc::unbounded_channel()).unzip();
    let mut client = (0..groups).zip(requests).map(|(group, requests)| {
        let (clients, service, site) = (told.clients.clone(), told.protocol.service, site(told, env.node, group));
        let answer = move |input| Input::Service(Box::new(input)).of_group(group);
        let deliver = move |input| with(|world| world.input(env.node, answer(input)));
        async move { clients.run(env.of_group(group), service, site, requests, deliver).await }
    });
    let first = client.next();
    if with(|world| world.driver()) == Driver::Inline {
        with(|world| {
            world.set_service(env.node, outputs);
            world.set_core(env.node, core);
        });
        client.for_each(|client| env.spawn_detached(client));
        if let Some(first) = first {
            first.await;
        }
    } else {
        first.into_iter().chain(client).for_each(|client| env.spawn_detached(client));
        drive(env, core, outputs).await;
    }
    // A process does not end by itself.
    std::future::pending::<()>().await;
}

async fn drive(env: SimEnv, core: Box<dyn Core>, services: Vec<mpsc::UnboundedSender<ServiceOutput>>) {
    let (sender, inputs) = mpsc::unbounded_channel();
    with(|world| world.set_inputs(env.node, sender));
    task_driver::drive(env, SimPort(env.node), core, services, inputs).await;
}
