//! The director plays a plan's faults, or an operator's, on a cluster of real processes, and records what it does.

mod clocks;
mod operator;
mod possible;
mod questions;
mod strike;

use crate::{
    cluster::Cluster,
    control::Ordered,
    error::Failed,
    load::{Asking, Load},
    spec::Spec,
    stalls::{Stalls, Watch},
};
use clocks::Clocks;
pub use possible::service_runs_true;
use protocols::{
    history::{Kind, NodeState},
    point::Point,
    types::{MICROSECOND, MILLISECOND, NodeId, SECOND},
};
use protocols_real::{
    directory::Directory,
    log::{Log, true_time_us},
};
use questions::{Event, Struck};
use scenarios::{
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
    streams,
    topology::Topology,
    triggers::Triggers,
    units::Unread,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
};

pub struct Played {
    /// Start, in microseconds of the machine's clock.
    pub start_us: u64,
    /// End, in microseconds of the machine's clock.
    pub end_us: u64,
    /// How long the machine stood still meanwhile.
    pub stalls: Stalls,
}

/// Nodes by name.
pub type NamedAddresses = Vec<(String, SocketAddr)>;

pub struct Director {
    cluster: Cluster,
    plan: Arc<Plan>,
    topology: Arc<Topology>,
    faults: Vec<PlannedFault>,
    triggers: Triggers,
    directory: Arc<Directory>,
    log: Log,
    history: PathBuf,
    start_us: u64,
    events: UnboundedSender<Event>,
    to_me: UnboundedReceiver<Event>,
    believers: Vec<NodeId>,
    struck: BTreeMap<u32, Struck>,
    waiting: Vec<u32>,
    pauses: BTreeMap<NodeId, u32>,
    clocks: Clocks,
    /// Nodes without power: their links are silent.
    dark: BTreeSet<NodeId>,
    /// Whether each process should be running; if one that should has ended, the run fails.
    up: BTreeMap<NodeId, bool>,
    load: Vec<Asking>,
}

impl Director {
    /// Starts the service, the store and the proxies. No fault strikes yet.
    ///
    /// # Errors
    /// A process does not start, or real processes cannot play the plan.
    pub async fn new(spec: Spec) -> Result<Director, Failed> {
        let plan = spec.plan.clone();
        let topology = spec.topology.clone();
        possible::playable(&plan)?;
        let wrong = |e: std::io::Error| Failed::Harness(format!("no port on loopback: {e}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(wrong)?;
        let points = listener.local_addr().map_err(wrong)?;
        let history = spec.folder.join("director.jsonl");
        let cluster = Cluster::start(spec, points).await?;
        let directory = Arc::new(Directory::new(topology.names().to_vec()));
        let log = Log::append(&history, directory.clone());
        let log = log.map_err(Failed::unwritten(&history))?;
        let (events, to_me) = mpsc::unbounded_channel();
        let triggers = Triggers::new(&plan);
        let mut armed = triggers.points();
        // The first two points tell who leads; operators often strike at the third.
        armed.extend([Point::AfterElected, Point::AfterDeposed, Point::LeaseChecked]);
        tokio::spawn(questions::listen(listener, directory.clone(), armed, events.clone()));
        Ok(Director {
            cluster,
            faults: plan.faults.clone(),
            clocks: Clocks::new(&plan),
            plan,
            topology,
            triggers,
            directory,
            log,
            history,
            start_us: true_time_us(),
            events,
            to_me,
            believers: Vec::new(),
            struck: BTreeMap::new(),
            waiting: Vec::new(),
            pauses: BTreeMap::new(),
            dark: BTreeSet::new(),
            up: BTreeMap::new(),
            load: Vec::new(),
        })
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Begins the run: time counts from here, nodes start as planned, and clients ask if `with_load`.
    pub fn begin(&mut self, with_load: bool) -> Result<(), Failed> {
        self.start_us = true_time_us();
        for node in self.topology.clone().members().chain([self.topology.store()]) {
            self.up.insert(node, true);
            self.log.record(Kind::Node { node, state: NodeState::Up });
        }
        for (index, candidate) in self.plan.candidates.iter().enumerate() {
            self.after(candidate.starts_at_ms * MILLISECOND, Event::Start(NodeId(index as u16)));
        }
        for (at, fault) in self.triggers.scheduled().to_vec() {
            self.after(at, Event::Strike(fault));
        }
        if with_load {
            self.start_load();
        }
        Ok(())
    }

    fn start_load(&mut self) {
        let plan = self.plan.clone();
        let interval = SECOND * u64::from(plan.load.clients) / plan.load.rate.max(1);
        let nodes: Vec<NodeId> = (0..plan.candidates.len() as u16).map(NodeId).collect();
        for (index, client) in self.topology.clone().clients().enumerate() {
            let mut random = streams::stream(plan.seed, &format!("workload/{index}"));
            let phase = rand_core::RngCore::next_u64(&mut random) % interval.max(1);
            let reads = (SECOND * u64::from(plan.load.clients)).checked_div(plan.load.reads_per_s);
            let load = Load {
                me: client,
                name: self.directory.fleet()[client.index()].clone(),
                nodes: nodes.iter().filter_map(|node| self.cluster.through(client, *node)).collect(),
                interval,
                phase,
                reads: reads.map(|interval| (interval, rand_core::RngCore::next_u64(&mut random) % interval.max(1))),
            };
            self.load.push(load.start(self.log.clone(), self.directory.clone()));
        }
    }

    /// Plays the plan to its end, and leaves the parts of the history in the cluster's folder.
    ///
    /// # Errors
    /// A process ended that should not have, or a client was refused everything.
    pub async fn play(&mut self) -> Result<Played, Failed> {
        let watch = Watch::start(self.folder());
        let watch = watch.map_err(Failed::cannot(format!("write into {}", self.folder().display())))?;
        self.begin(true)?;
        let end = tokio::time::sleep(Duration::from_millis(self.plan.duration_ms));
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                biased;
                () = &mut end => break,
                Some(event) = self.to_me.recv() => self.handle(event)?,
            }
        }
        let complaint = self.load.iter().find_map(Asking::complaint);
        self.load.clear();
        if let Some(complaint) = complaint {
            return Err(Failed::Harness(complaint));
        }
        let end_us = true_time_us();
        self.log.record(Kind::End { messages: 0, by_kind: BTreeMap::new() });
        self.check_all_up()?;
        Ok(Played { start_us: self.start_us, end_us: end_us + 1, stalls: watch.end() })
    }

    /// Carries out an operator's orders until `until` completes.
    pub async fn obey(
        &mut self,
        mut orders: UnboundedReceiver<Ordered>,
        until: impl Future<Output = ()>,
    ) -> Result<(), Failed> {
        let mut until = std::pin::pin!(until);
        loop {
            tokio::select! {
                biased;
                () = &mut until => return Ok(()),
                Some(event) = self.to_me.recv() => self.handle(event)?,
                Some(Ordered { fault, at, answer }) = orders.recv() => {
                    // The operator may have gone away.
                    let _ = answer.send(self.order(fault, at).map_err(|why| why.to_string()));
                }
            }
        }
    }

    fn order(&mut self, fault: Fault, at: Option<Point>) -> Result<String, Failed> {
        possible::possible(&fault)?;
        if let Some(protocol) = self.plan.election()
            && matches!(fault, Fault::Transfer { .. })
            && !protocol.transfers
        {
            let why = format!("`{}` cannot name a successor; ask the leader to resign", protocol.name);
            return Err(Failed::Unplayable(why));
        }
        if self.believers.is_empty() && fault.whom().contains(&&Who::Leader) {
            return Err(Failed::Harness("nobody leads at the moment; try again".to_owned()));
        }
        let index = self.faults.len() as u32;
        let Some(point) = at else {
            self.faults.push(PlannedFault { when: Trigger::At { ms: 0.0 }, what: fault, group: 0 });
            self.strike(index, None)?;
            let struck = self.struck.get(&index);
            let names = |nodes: Option<&Vec<NodeId>>| self.names(nodes.map_or(&[], Vec::as_slice));
            let what = &self.faults[index as usize].what;
            return Ok(what.describe(&names(struck.map(|s| &s.on)), &names(struck.map(|s| &s.to))));
        };
        let when = Trigger::Passage {
            point: point.name().to_owned(),
            node: Who::Leader,
            nth: 1,
            after: None,
            delay_ms: 0.0,
            matching: None,
        };
        let planned = PlannedFault { when, what: fault, group: 0 };
        let told =
            format!("{}, when the leader next passes `{}`", planned.what.describe("the leader", ""), point.name());
        self.triggers.add(index, &planned);
        self.faults.push(planned);
        Ok(told)
    }

    /// Ends nodes, store and service, in order.
    pub async fn end(mut self) {
        self.load.clear();
        // Nodes pass points while they resign.
        let Director { cluster, to_me, .. } = &mut self;
        tokio::select! {
            biased;
            () = cluster.end() => {}
            () = questions::answer_go(to_me) => {}
        }
    }

    /// Kills everything at once: durable data must already be on disk.
    pub async fn kill(&mut self) {
        for node in (0..=self.topology.store().0).map(NodeId) {
            if let Some(running) = self.cluster.running(node) {
                running.kill().await;
            }
        }
    }

    /// The parts of the history, except the store's, in the order in which to merge them.
    pub fn parts(&self) -> Vec<PathBuf> {
        let mut parts = vec![self.history.clone()];
        parts.extend(self.cluster.spec().node_histories());
        parts
    }

    /// The name and HTTP address of each node, and the addresses of store and service.
    ///
    /// # Errors
    /// One of them has no address.
    pub fn addresses(&self) -> Result<(NamedAddresses, SocketAddr, Option<SocketAddr>), Failed> {
        let node = |index: usize| {
            Some((self.plan.candidates[index].name.clone(), self.cluster.address(NodeId(index as u16))?))
        };
        let nodes: Option<Vec<_>> = (0..self.plan.candidates.len()).map(node).collect();
        let (store, service) = (self.cluster.address(self.topology.store()), self.cluster.service());
        let (Some(nodes), Some(store)) = (nodes, store) else {
            return Err(Failed::Harness("a process of the cluster has no address".to_owned()));
        };
        Ok((nodes, store, service))
    }

    /// The cluster's folder.
    pub fn folder(&self) -> &Path {
        &self.cluster.spec().folder
    }

    fn check_all_up(&mut self) -> Result<(), Failed> {
        let expected: Vec<NodeId> = self.up.iter().filter(|(_, up)| **up).map(|(node, _)| *node).collect();
        for node in expected {
            let owned = self.cluster.address(node).is_some();
            if owned && self.cluster.running(node).is_none() {
                let name = self.cluster.name(node).to_owned();
                return Err(Failed::Ended { log: self.folder().join(format!("{name}.log")), name });
            }
        }
        Ok(())
    }

    /// Nanoseconds since the run began.
    fn now(&self) -> u64 {
        (true_time_us() - self.start_us) * MICROSECOND
    }

    /// Delivers `event` after `nanoseconds`.
    fn after(&self, nanoseconds: u64, event: Event) {
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_nanos(nanoseconds)).await;
            // The director may have ended.
            let _ = events.send(event);
        });
    }

    fn handle(&mut self, event: Event) -> Result<(), Failed> {
        match event {
            Event::Passed { node, point, answer } => {
                let stop = self.passed(node, point)?;
                // The node may have been killed at the point.
                let _ = answer.send(stop);
                Ok(())
            }
            Event::Clocks { node, listener } => {
                self.clocks.heard_by(node, listener, self.now());
                Ok(())
            }
            Event::Strike(fault) => self.strike(fault, None),
            Event::Heal(fault) => self.heal(fault),
            Event::Start(node) => self.start(node),
        }
    }

    fn start(&mut self, node: NodeId) -> Result<(), Failed> {
        if self.dark.remove(&node) {
            self.silence(node, false);
        }
        self.cluster.start_process(node)?;
        self.pauses.remove(&node);
        self.up.insert(node, true);
        self.log.record(Kind::Node { node, state: NodeState::Up });
        Ok(())
    }

    /// A node passed a point. Returns whether it is to stop itself.
    fn passed(&mut self, node: NodeId, point: Point) -> Result<bool, Failed> {
        match point {
            Point::AfterElected => {
                self.believers.push(node);
                for fault in std::mem::take(&mut self.waiting) {
                    self.after(0, Event::Strike(fault));
                }
            }
            Point::AfterDeposed => self.believers.retain(|b| *b != node),
            _ => {}
        }
        if !self.triggers.watches(point) {
            return Ok(false);
        }
        let (topology, moment) = (self.topology.clone(), self.moment(Some(node)));
        let is_meant = |who: &Who| topology.resolve_at(who, moment).is_some_and(|nodes| nodes.contains(&node));
        let paused_before = self.pauses.get(&node).copied().unwrap_or(0);
        for fault in self.triggers.passage(self.now(), (0, point), &[], is_meant) {
            self.strike(fault, Some(node))?;
        }
        Ok(self.pauses.get(&node).copied().unwrap_or(0) > paused_before)
    }
}

/// The address of a running service that the user named.
pub fn resolve_address(text: &str) -> Result<SocketAddr, Unread> {
    use std::net::ToSocketAddrs;
    let mut found = text.to_socket_addrs().map_err(|e| Unread::of(text, format!("is no HOST:PORT: {e}")))?;
    found.next().ok_or_else(|| Unread::of(text, "has no address"))
}
