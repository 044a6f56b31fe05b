//! A world with a coordination service, a store, and three nodes that run a service as it is.

use fencepost_process::Main;
use protocols::{
    election::program,
    fence::checks::Fencing,
    history,
    message::WriteVerdict,
    service::{self, etcd, kubernetes, postgres, redis},
    types::NodeId,
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::{
    program::{From, Line, Pattern, Program},
    recorder::KEPT_MAX,
    registry::Registry,
    run::{self, Options},
};

/// A service, and what it finds.
#[derive(Clone, Copy)]
pub struct Service {
    pub name: &'static str,
    pub main: Main,
    pub finds: &'static service::Service,
    pub env: (&'static str, &'static str),
    /// How long its lease lasts.
    pub lease_s: f64,
}

pub const fn on_redis(main: Main) -> Service {
    Service { name: "", main, finds: &redis::SERVICE, env: ("REDIS_URL", "redis://redis:6379"), lease_s: 3.0 }
}

pub const fn on_kubernetes(main: Main, lease_s: f64) -> Service {
    Service { name: "", main, finds: &kubernetes::SERVICE, env: ("KUBERNETES_URL", "http://apiserver:6443"), lease_s }
}

pub const fn on_etcd(main: Main) -> Service {
    Service { name: "", main, finds: &etcd::SERVICE, env: ("ETCD_URL", "http://etcd:2379"), lease_s: 10.0 }
}

/// A session ends when the kernel of PostgreSQL's machine has heard nothing of it for six seconds, rather than two hours.
pub const fn on_postgres(main: Main) -> Service {
    const URL: &str = "postgres://service@postgres:5432/service?options=-c%20tcp_keepalives_idle%3D3\
                       %20-c%20tcp_keepalives_interval%3D1%20-c%20tcp_keepalives_count%3D3";
    let env = ("POSTGRES_URL", URL);
    Service { name: "", main, finds: &postgres::SESSIONS, env, lease_s: 10.0 }
}

impl Service {
    pub const fn named(self, name: &'static str) -> Service {
        Service { name, ..self }
    }
}

/// What happens in a world, and for how long it runs.
#[derive(Clone)]
pub struct Story {
    pub seed: u64,
    pub duration_s: f64,
    pub fencing: Fencing,
    pub faults: Vec<(Trigger, Fault)>,
}

impl Story {
    /// Nothing happens. Without fencing, as most of these crates have no tokens.
    pub fn quiet(seed: u64) -> Story {
        Story { seed, duration_s: 20.0, fencing: Fencing::Off, faults: Vec::new() }
    }

    pub fn lasting(self, duration_s: f64) -> Story {
        Story { duration_s, ..self }
    }

    pub fn with(mut self, when: Trigger, what: Fault) -> Story {
        self.faults.push((when, what));
        self
    }
}

/// What came of it.
pub struct Told {
    pub lines: Vec<Line>,
    /// When each write took effect, and whose it was.
    pub writes: Vec<(f64, NodeId)>,
    /// The invariants that the store's history violates.
    pub violated: Vec<String>,
    /// How many faults struck.
    pub faults: u64,
}

pub fn at(second: f64) -> Trigger {
    Trigger::At { ms: second * 1_000.0 }
}

/// Before a node's message of this number from `second` on.
pub fn before_send(node: &Who, nth: u64, second: f64) -> Trigger {
    let after = Some(Box::new(at(second)));
    Trigger::Passage { point: "before_send".to_owned(), node: node.clone(), nth, after, delay_ms: 0.0, matching: None }
}

pub fn cut_off(node: Who, for_s: f64) -> Fault {
    Fault::Partition { from: vec![node], to: vec![Who::Service], one_way: false, for_ms: Some(for_s * 1_000.0) }
}

pub fn kill(node: Who) -> Fault {
    Fault::Kill { node, restart_after_ms: None }
}

pub fn pause(node: Who, for_s: f64) -> Fault {
    Fault::Pause { node, for_ms: for_s * 1_000.0 }
}

pub fn named(node: NodeId) -> Who {
    Who::Named(format!("n{}", node.0 + 1))
}

fn plan(service: &Service, story: &Story) -> Plan {
    let protocol = program::of(&[service.finds], story.fencing.checks().token);
    let steady = scenario::find("steady").expect("the scenario exists");
    let params = Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() };
    let mut plan = steady.compile(&params, protocol, story.seed).expect("it has no parameters");
    plan.duration_ms = (story.duration_s * 1_000.0) as u64;
    plan.requires.clear();
    // How soon another leads is for each test to say.
    plan.liveness_bound_ms = plan.duration_ms;
    plan.fencing = story.fencing;
    let planned = |(when, what): &(Trigger, Fault)| PlannedFault { when: when.clone(), what: what.clone(), group: 0 };
    plan.faults = story.faults.iter().map(planned).collect();
    plan
}

pub fn tell(service: &Service, story: &Story) -> Told {
    let (name, value) = service.env;
    let says = |part| Pattern::new(part).expect("some text");
    let program = Program::new(service.main).expect("this executable links fencepost-libc");
    let program = program.with_env(name, value).with_env("STORE_URL", "http://store");
    // A write without a token does not say to which leadership it belongs.
    let program = program.leads_when(says(": leads")).stops_when(says("no more"));
    let registry = Registry::default().with_program(program, &[service.finds], story.fencing.checks().token);
    let registry = registry.expect("there is no other program");
    let run = run::run(&plan(service, story), Options { registry, keep: KEPT_MAX, ..Options::default() });
    let run = run.expect("the plan is one");
    let violated = run.judgement.violated().filter(|name| *name != "vacuity").map(str::to_owned).collect();
    let writes = run.kept.iter().flatten().filter_map(written).collect();
    Told { lines: run.printed, writes, violated, faults: run.faults }
}

/// When a write took effect, and whose it was.
fn written(event: &history::Event) -> Option<(f64, NodeId)> {
    match &event.kind {
        history::Kind::Apply { node, verdict: WriteVerdict::Ok, .. } => Some((event.t_us as f64 / 1e6, *node)),
        _ => None,
    }
}

impl Told {
    /// Whose the last write before a second was.
    pub fn leader(&self, second: f64) -> NodeId {
        let last = self.writes.iter().rev().find(|(at, _)| *at < second);
        last.unwrap_or_else(|| panic!("nobody wrote: {}", self.log())).1
    }

    /// When anybody but this node first wrote after a second.
    pub fn successor(&self, node: NodeId, second: f64) -> Option<f64> {
        self.writes.iter().find(|(at, by)| *at > second && *by != node).map(|(at, _)| *at)
    }

    /// Whether two leaders took effect at once.
    pub fn two_lead(&self) -> bool {
        self.violated.iter().any(|name| name == "leaders_acting_by_effect")
    }

    /// A node's last write.
    pub fn last_write(&self, node: NodeId) -> f64 {
        self.writes.iter().rev().find(|(_, by)| *by == node).map_or(0.0, |(at, _)| *at)
    }

    /// The lines with these words: when, and of which node.
    pub fn said(&self, words: &str) -> Vec<(f64, NodeId)> {
        let said = self.lines.iter().filter(|line| line.text.contains(words));
        said.map(|line| (line.now as f64 / 1e9, line.node)).collect()
    }

    /// The lines, each with its time.
    pub fn log(&self) -> String {
        let line =
            |line: &Line| format!("{:.3} n{} {:?} {}\n", line.now as f64 / 1e9, line.node.0 + 1, line.from, line.text);
        self.lines.iter().map(line).collect()
    }

    /// Lines that are not the service's own: what was refused, and who ended.
    pub fn unusual(&self) -> Vec<&Line> {
        self.lines.iter().filter(|line| line.from != From::Output).collect()
    }
}
