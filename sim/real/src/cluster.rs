//! A cluster of real processes on loopback: coordination service, fenced store, nodes, and a proxy on every link.

use super::{
    process::{Recipe, Running, free_address, listens},
    proxy::{Direction, Line, Proxy},
    secret, service,
    spec::{Spec, history_file},
};
use crate::{error::Failed, leash};
use protocols::{
    election::{Protocol, Timer},
    types::{MILLISECOND, NodeId},
};
use std::{collections::BTreeMap, ffi::OsString, fs, net::SocketAddr, path::PathBuf, time::Duration};

/// How long a node may take to finish its work and resign when the cluster ends.
const NODE_PATIENCE: Duration = Duration::from_secs(5);

struct Slot {
    recipe: Recipe,
    address: SocketAddr,
    running: Option<Running>,
    starts: u32,
}

/// A running cluster. Dropping it kills everything that it started.
pub struct Cluster {
    spec: Spec,
    /// By node number. A service that was already running has no slot, nor have clients.
    slots: BTreeMap<NodeId, Slot>,
    /// By source and destination.
    links: BTreeMap<(NodeId, NodeId), Proxy>,
    /// The peer addresses of candidates that elect among themselves.
    electors: BTreeMap<NodeId, SocketAddr>,
    points: SocketAddr,
    /// The address of each member of the coordination service.
    services: BTreeMap<NodeId, SocketAddr>,
    store_metrics: Option<SocketAddr>,
}

impl Cluster {
    /// Starts the service, the store and the proxies; nodes are started one by one. Nodes report named points to
    /// `points`.
    pub async fn start(spec: Spec, points: SocketAddr) -> Result<Cluster, Failed> {
        let topology = spec.topology.clone();
        fs::create_dir_all(&spec.folder).map_err(Failed::cannot(format!("make {}", spec.folder.display())))?;
        secret::write(&spec.token_key(), &secret::draw())?;
        if spec.tls {
            super::secret::write_certificates(&spec.folder)?;
        }
        let (slots, links, electors, services) = Default::default();
        let mut cluster = Cluster { spec, slots, links, electors, points, services, store_metrics: None };
        cluster.start_service().await?;
        let store = cluster.start_store().await?;
        let nodes: Vec<NodeId> = topology.candidates().collect();
        for node in &nodes {
            let address = free_address()?;
            let program = cluster.spec.program.clone();
            let recipe = Recipe { leash: program.clone(), program, arguments: Vec::new(), output: PathBuf::new() };
            cluster.slots.insert(*node, Slot { recipe, address, running: None, starts: 0 });
            for (member, service) in cluster.services.clone() {
                cluster.link(*node, member, service).await?;
            }
            cluster.link(*node, topology.store(), store).await?;
            for client in topology.clients() {
                cluster.link(client, *node, address).await?;
            }
        }
        cluster.link_candidates(&nodes).await?;
        Ok(cluster)
    }

    async fn link(&mut self, from: NodeId, to: NodeId, address: SocketAddr) -> Result<(), Failed> {
        let network = &self.spec.plan.network;
        let line = Line { latency_us: network.latency_us, jitter_us: network.jitter_us, loss: network.loss };
        let (plan, topology) = (&self.spec.plan, &self.spec.topology);
        // After this long, the service's kernel would give up the connection of a client that is cut off.
        let is_held = |protocol: &&Protocol| protocol.service.outlasts_pauses && topology.is_member(to);
        let granted = |protocol: &Protocol| (protocol.granted_ttl)(plan.timings.lease_ttl_ms * MILLISECOND);
        let gives_up_after = plan.election().filter(is_held).map(|protocol| Duration::from_nanos(granted(protocol)));
        let proxy = Proxy::start(address, line, gives_up_after).await;
        let proxy = proxy.map_err(Failed::cannot("start a proxy"))?;
        self.links.insert((from, to), proxy);
        Ok(())
    }

    /// Candidates that elect among themselves also reach each other through proxies.
    async fn link_candidates(&mut self, nodes: &[NodeId]) -> Result<(), Failed> {
        if !self.spec.plan.election().is_some_and(Protocol::elects_among_peers) {
            return Ok(());
        }
        for node in nodes {
            let address = free_address()?;
            self.electors.insert(*node, address);
            for other in nodes.iter().filter(|other| *other != node) {
                self.link(*other, *node, address).await?;
            }
        }
        Ok(())
    }

    async fn start_service(&mut self) -> Result<(), Failed> {
        let topology = self.spec.topology.clone();
        if let (Some(running), Some(node)) = (self.spec.service, topology.only_member()) {
            self.services.insert(node, running);
            return Ok(());
        }
        let Some(protocol) = self.spec.plan.election() else {
            return Err(Failed::Harness("the plan's protocol is unknown".into()));
        };
        let services: Vec<_> = protocol.service.all().zip(topology.services()).collect();
        // Watched services start before those that watch them.
        for (service, known) in services.into_iter().rev() {
            let mut first = self.services.values().next().copied();
            for node in known.nodes() {
                let (recipe, address) = service::recipe(service, topology.name(node), first, &self.spec)?;
                self.boot(node, recipe, address).await?;
                self.services.insert(node, address);
                if service.members.led {
                    // Later members follow the first.
                    first = first.or(Some(address));
                }
            }
        }
        Ok(())
    }

    async fn start_store(&mut self) -> Result<SocketAddr, Failed> {
        let (address, spec) = (free_address()?, &self.spec);
        let path = |path: PathBuf| path.into_os_string();
        let mut arguments: Vec<OsString> =
            [leash::REAL, "store", "--listen", &address.to_string()].map(Into::into).into();
        let metrics = free_address()?;
        arguments.extend(["--metrics".into(), metrics.to_string().into()]);
        arguments.extend(["--token-key".into(), path(spec.token_key())]);
        arguments.extend(["--fencing", spec.plan.fencing.word()].map(Into::into));
        match &spec.postgres {
            Some(url) => arguments.extend(["--postgres".into(), url.into()]),
            None => arguments.extend(["--data".into(), path(spec.store_data())]),
        }
        arguments.extend(self.tls_arguments());
        if spec.tls {
            arguments.push("--tls-mutual".into());
        }
        let output = spec.folder.join("store.log");
        let recipe = Recipe { leash: spec.program.clone(), program: spec.program.clone(), arguments, output };
        self.boot(spec.topology.store(), recipe, address).await?;
        self.store_metrics = Some(metrics);
        Ok(address)
    }

    /// The address of the store's metrics.
    pub fn store_metrics(&self) -> Option<SocketAddr> {
        self.store_metrics
    }

    fn tls_arguments(&self) -> Vec<OsString> {
        let Spec { folder, tls, .. } = &self.spec;
        let option = |name: &str, file: &str| [OsString::from(name), folder.join(file).into_os_string()];
        let all = [
            option("--tls-cert", super::secret::CERTIFICATE),
            option("--tls-key", super::secret::KEY),
            option("--tls-ca", super::secret::AUTHORITY),
        ];
        if *tls { all.into_iter().flatten().collect() } else { Vec::new() }
    }

    async fn boot(&mut self, node: NodeId, recipe: Recipe, address: SocketAddr) -> Result<(), Failed> {
        let mut running = recipe.start()?;
        listens(address, &mut running, &recipe).await?;
        self.slots.insert(node, Slot { recipe, address, running: Some(running), starts: 1 });
        Ok(())
    }

    /// Starts a process that is not running.
    pub fn start_process(&mut self, node: NodeId) -> Result<(), Failed> {
        let starts = self.slots.get(&node).map_or(0, |s| s.starts);
        let is_node = self.spec.topology.is_candidate(node);
        let arguments = is_node.then(|| self.node_arguments(node, starts));
        let name = self.name(node).to_owned();
        let output = self.spec.folder.join(format!("{name}.log"));
        let Some(slot) = self.slots.get_mut(&node) else {
            return Err(Failed::Harness(format!("{name} is not the cluster's to start")));
        };
        if slot.running.as_mut().is_some_and(|r| !r.has_ended()) {
            return Ok(());
        }
        if let Some(arguments) = arguments {
            slot.recipe.arguments = arguments;
            slot.recipe.output = output;
        }
        slot.running = Some(slot.recipe.start()?);
        slot.starts += 1;
        Ok(())
    }

    /// Waits until a started process listens.
    ///
    /// # Errors
    /// The process has ended, or does not listen in time.
    pub async fn listens(&mut self, node: NodeId) -> Result<(), Failed> {
        let Some(Slot { address, running: Some(running), recipe, .. }) = self.slots.get_mut(&node) else {
            return Ok(());
        };
        listens(*address, running, recipe).await
    }

    fn node_arguments(&self, node: NodeId, starts: u32) -> Vec<OsString> {
        let Spec { plan, topology, folder, .. } = &self.spec;
        let candidate = &plan.candidates[node.index()];
        let peers: Vec<String> = plan
            .candidates
            .iter()
            .enumerate()
            .map(|(index, c)| {
                format!("{}={}", c.name, self.slots.get(&NodeId(index as u16)).map_or(self.points, |s| s.address))
            })
            .collect();
        let others = topology.names()[plan.candidates.len()..].to_vec();
        let through = |to: NodeId| self.links.get(&(node, to)).map_or(self.points, |p| p.address).to_string();
        let ms = |ms: u64| format!("{ms}ms");
        let options = [
            ("--id", candidate.name.clone()),
            ("--backend", plan.protocol.clone()),
            ("--peers", peers.join(",")),
            ("--others", others.join(",")),
            ("--listen", self.slots.get(&node).map_or(self.points, |s| s.address).to_string()),
            ("--store", through(topology.store())),
            ("--lease-ttl", ms(plan.timings.lease_ttl_ms)),
            ("--renew-interval", ms(plan.timings.renew_interval_ms)),
            ("--request-timeout", ms(plan.timings.request_timeout_ms)),
            ("--tick", ms(plan.load.tick_ms)),
            ("--clock-skew", format!("{}ms", candidate.wall_offset_ms)),
            ("--clock-drift", candidate.rate_ppm.to_string()),
            ("--starts", starts.to_string()),
            ("--points", self.points.to_string()),
        ];
        let mut arguments = [leash::REAL, "node"].map(OsString::from).to_vec();
        let services: Vec<String> = topology.asked().map(through).collect();
        let service = (!services.is_empty()).then(|| ("--service", services.join(",")));
        // Members that the client learns of from others are reached through proxies too.
        let told = topology.members().skip(services.len());
        let route = |member: NodeId| Some(format!("{}={}", self.services.get(&member)?, through(member)));
        let routes: Vec<String> = told.filter_map(route).collect();
        let routes = (!routes.is_empty()).then(|| ("--routes", routes.join(",")));
        let own_ms = plan.timings.own_ms();
        let own = Timer::ALL.into_iter().filter_map(|timer| {
            let length = ms(own_ms.get(timer)?);
            Some(match plan.election().and_then(|protocol| protocol.parameter_of(timer)) {
                Some(set) => ("--set", format!("{}.{}={length}", plan.protocol, set.name)),
                None => ("--retry-period", length),
            })
        });
        let step_down_after_ms = plan.tenure.step_down_after_ms;
        let stuck = (step_down_after_ms > 0).then(|| ("--step-down-after", ms(step_down_after_ms)));
        for (name, value) in
            options.into_iter().chain(own).chain(stuck).chain(service).chain(routes).chain(self.electing(node))
        {
            arguments.push(format!("{name}={value}").into());
        }
        arguments.extend(["--token-key".into(), self.spec.token_key().into_os_string()]);
        arguments.extend(["--history".into(), history_file(folder, &candidate.name).into_os_string()]);
        arguments.extend(self.tls_arguments());
        if self.spec.tls {
            arguments.push("--store-tls".into());
        } else if self.electors.contains_key(&node) {
            arguments.push("--elect-insecure".into());
        }
        if plan.read_lease {
            arguments.push("--read-lease".into());
        }
        arguments
    }

    /// The options of a candidate that elects among its peers: its own address, the peers' addresses, its data folder.
    fn electing(&self, node: NodeId) -> Vec<(&'static str, String)> {
        let Spec { plan, folder, .. } = &self.spec;
        let Some(own) = self.electors.get(&node) else { return Vec::new() };
        let electors = plan.candidates.iter().enumerate().filter_map(|(index, candidate)| {
            let address = match NodeId(index as u16) {
                other if other == node => *own,
                other => self.links.get(&(node, other))?.address,
            };
            Some(format!("{}={address}", candidate.name))
        });
        let mut options = vec![
            ("--elect-listen", own.to_string()),
            ("--electors", electors.collect::<Vec<_>>().join(",")),
            ("--data", folder.join(&plan.candidates[node.index()].name).display().to_string()),
        ];
        if let Some((min_ms, max_ms)) = plan.timings.election_timeout_ms {
            options.push(("--election-timeout", format!("{min_ms}..{max_ms}ms")));
        }
        options
    }

    pub fn name(&self, node: NodeId) -> &str {
        self.spec.topology.name(node)
    }

    /// The address of a process that the cluster started.
    pub fn address(&self, node: NodeId) -> Option<SocketAddr> {
        self.slots.get(&node).map(|s| s.address)
    }

    /// The coordination service's address; with several members, the first one's.
    pub fn service(&self) -> Option<SocketAddr> {
        self.services.values().next().copied()
    }

    /// The name and address of each server of the coordination service.
    pub fn services(&self) -> Vec<(String, SocketAddr)> {
        self.services.iter().map(|(node, address)| (self.name(*node).to_owned(), *address)).collect()
    }

    /// The address at which `from` reaches `to`.
    pub fn through(&self, from: NodeId, to: NodeId) -> Option<SocketAddr> {
        self.links.get(&(from, to)).map(|p| p.address)
    }

    /// Everything that carries bytes from one process to another: requests on its own connections, and answers on the
    /// other's.
    pub fn directions(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = &Direction> {
        let own = self.links.get(&(from, to)).map(|p| &p.forward);
        own.into_iter().chain(self.links.get(&(to, from)).map(|p| &p.backward))
    }

    pub fn running(&mut self, node: NodeId) -> Option<&mut Running> {
        let running = self.slots.get_mut(&node)?.running.as_mut()?;
        if running.has_ended() { None } else { Some(running) }
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Ends everything in order: the nodes resign, then store and service stop.
    pub async fn end(&mut self) {
        let topology = self.spec.topology.clone();
        for node in topology.candidates().chain([topology.store()]).chain(topology.members()) {
            if let Some(running) = self.running(node) {
                running.end(NODE_PATIENCE).await;
            }
        }
    }
}
