//! `node`: a member of the fleet.

use super::{
    args::NodeArgs,
    process::{asked_to_end, block_on, files, start_logs, tls},
    store,
};
use crate::terminal::exit::Stop;
use protocols::{
    bug::Bugs,
    election::{Protocol, Timer, Timers, Timings},
    node::Tenure,
    service::zookeeper,
    types::{MILLISECOND, NodeId},
};
use protocols_clients::{
    env::tokio::{self as env, Clocks, Points, TokioEnv},
    site::{Endpoint, Site},
};
use protocols_real::{
    directory::{Directory, is_name},
    http,
    log::Log,
    node::{self, NodeSettings},
    points::{self, Directed},
    store::{Auth, link},
    tls::{Files, Mutual, Secure, Tls},
};
use rustls_pki_types::ServerName;
use scenarios::{
    Params,
    plan::LONGEST_MS,
    sense,
    topology::{member_name, names_member},
    units::Unread,
};
use sim::identity::identity;
use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    path::PathBuf,
    sync::Arc,
};

/// Largest offset of a wall clock, milliseconds, as in plans.
const OFFSET_MAX_MS: u64 = scenarios::plan::OFFSET_MAX_MS;
/// Largest error of a clock's rate, parts per million, as in plans.
const PPM_MAX: u64 = scenarios::plan::PPM_MAX;

/// How connections are wrapped that this process opens, and those that it accepts.
type ElectionsTls = (Option<Arc<dyn env::Wrap>>, Option<Arc<dyn env::Accept>>);

/// Runs a node until it is asked to end.
pub fn run(args: &NodeArgs) -> Result<u8, Stop> {
    let _traces = start_logs(&args.id, args.logs.log)?;
    let (names, addresses) = peers(args)?;
    let tls = tls(&args.tls)?;
    let timings = timings(args.backend, args)?;
    let auth = store::auth(&args.auth)?;
    let site = site(args, &names[..addresses.len()], timings)?;
    let directory = Arc::new(Directory::new(names));
    let log = match &args.history {
        Some(file) => Log::append(file, directory.clone())
            .map_err(|e| Stop::usage(format!("cannot write {}: {e}", file.display())))?,
        None => Log::off(),
    };
    clocks(args)?;
    let entropy = RandomState::new().build_hasher().finish();
    let (wrap, accept) = elections_tls(args)?;
    block_on(async {
        let end = asked_to_end()?;
        let listener = http::listen(args.listen).await?;
        let own = Clocks::new(args.clock_skew, args.clock_drift);
        if let Some(director) = args.points {
            points::follow_clocks(director, &args.id, own.clone())
                .map_err(|e| Stop::harness(format!("no director sets clocks at {director}: {e}")))?;
        }
        let points = match args.points {
            Some(address) => Some(
                Directed::connect(address, &args.id)
                    .map_err(|e| Stop::harness(format!("no director answers for named points at {address}: {e}")))?,
            ),
            None => None,
        };
        let clocks = env::EnvSettings {
            seed: entropy,
            clocks: Some(own.clone()),
            wrap,
            accept,
            points: points.map(|p| Arc::new(p) as Arc<dyn Points>),
            listen_on: args.elect_listen.map(|address| address.ip()),
            folder: data(args)?,
            routes: routes(args)?,
        };
        let settings = NodeSettings {
            name: args.id.clone(),
            addresses,
            directory: directory.clone(),
            protocol: args.backend,
            timings,
            read_lease: args.read_lease,
            tick: bounded("--tick", args.tick)?,
            tenure: tenure(args)?,
            // Leadership counts of two lives differ, so that one is never taken for the other; the token tells them
            // apart anyway.
            starts: args.starts.unwrap_or((entropy >> 32) as u32) & 0x7fff,
            site,
            service_env: TokioEnv::with(env::EnvSettings { wrap: service_tls(args, &tls)?, ..clocks.clone() }),
            env: TokioEnv::with(clocks),
            store: store_link(args, auth, &tls, directory.clone())?,
            listener,
            tls: tls.acceptor,
            log,
            commit: identity().commit,
        };
        node::run(settings, end).await?;
        Ok(0)
    })
}

/// The addresses of the coordination service; empty for a backend without one.
fn service(args: &NodeArgs) -> Result<Vec<Endpoint>, Stop> {
    let name = args.backend.name;
    match (&args.service, args.backend.service.process) {
        (Some(addresses), Some(service)) => {
            let all = addresses.split(',').map(endpoint).collect::<Result<Vec<_>, _>>()?;
            // ZooKeeper's client takes all servers of an ensemble; the simulation has one of them.
            let most =
                if zookeeper::SERVICE.process == Some(service) { u16::MAX } else { args.backend.service.members.most };
            if all.len() > usize::from(most) {
                let (number, is_many) = (all.len(), if most == 1 { "one server" } else { "fewer" });
                return Err(Stop::usage(format!("--service has {number} addresses; `{name}` uses {is_many}")));
            }
            Ok(all)
        }
        (None, None) => Ok(Vec::new()),
        (None, Some(service)) => Err(Stop::usage(format!("--service HOST:PORT is missing: `{name}` needs {service}"))),
        (Some(_), None) => Err(Stop::usage(format!("--service is given, but `{name}` asks no service"))),
    }
}

/// Addresses to connect to in place of those that the service names.
fn routes(args: &NodeArgs) -> Result<Vec<(Endpoint, Endpoint)>, Stop> {
    let route = |text: &String| {
        let wrong = || Stop::usage(format!("`{text}` is no route; write --routes as HOST:PORT=HOST:PORT,…"));
        let (from, to) = text.split_once('=').ok_or_else(wrong)?;
        Ok((endpoint(from)?, endpoint(to)?))
    };
    args.routes.iter().map(route).collect()
}

/// The addresses of the service or the other members, and the one that this member serves them on. In real mode every
/// member is a founder.
fn site(args: &NodeArgs, members: &[String], timings: Timings) -> Result<Site, Stop> {
    let node = members.iter().position(|name| *name == args.id).unwrap_or_default();
    let nodes = (0..members.len() as u16).map(NodeId);
    let (mut peers, mut port) = (Vec::new(), 0);
    let name = args.backend.name;
    let electing = args.elect_listen.is_some() || !args.electors.is_empty() || args.elect_insecure;
    if electing && !args.backend.elects_among_peers() {
        return Err(Stop::usage(format!(
            "--elect-listen, --electors and --elect-insecure are for nodes that elect among themselves; `{name}` asks a service"
        )));
    }
    if args.backend.elects_among_peers() {
        if !args.backend.service.is_embedded {
            return Err(Stop::usage(format!("`{name}` runs only in the simulation; use `raft` here")));
        }
        let missing = |option: &str| Stop::usage(format!("{option} is missing: `{name}` elects among its members"));
        port = args.elect_listen.ok_or_else(|| missing("--elect-listen HOST:PORT"))?.port();
        if args.data.is_none() {
            return Err(missing("--data DIR"));
        }
        let (electors, addresses) = named("--electors", &args.electors)?;
        for member in members {
            let own = electors.iter().position(|elector| elector == member);
            let own = own.ok_or_else(|| missing(&format!("`{member}=HOST:PORT` among --electors")))?;
            peers.push(endpoint(&addresses[own])?);
        }
    }
    let (service, node, founders) = (service(args)?, NodeId(node as u16), nodes.collect());
    Ok(Site { service, node, peers, port, founders, timings, bugs: Bugs::default() })
}

/// The folder for persistent state, created if it does not exist.
fn data(args: &NodeArgs) -> Result<Option<PathBuf>, Stop> {
    let Some(folder) = &args.data else { return Ok(None) };
    std::fs::create_dir_all(folder).map_err(|e| Stop::usage(format!("cannot make {}: {e}", folder.display())))?;
    Ok(Some(folder.clone()))
}

/// The settings of the link to the store.
fn store_link(args: &NodeArgs, auth: Auth, tls: &Tls, directory: Arc<Directory>) -> Result<link::LinkSettings, Stop> {
    let key = match auth {
        Auth::Key(key) => Some(key),
        Auth::Insecure => None,
    };
    let store = endpoint(&args.store)?;
    let secure = args.store_tls.then(|| {
        let name = ServerName::try_from(store.host.clone())
            .map_err(|e| Unread::of(&store.host, format!("is no server's name: {e}")));
        Ok::<_, Stop>((tls.connector("")?, name?))
    });
    let mut settings = link::LinkSettings::new(store, args.id.clone(), directory, key);
    settings.tls = secure.transpose()?;
    Ok(settings)
}

/// TLS on both ends of the connections between members that elect among themselves; none if that is asked for.
fn elections_tls(args: &NodeArgs) -> Result<ElectionsTls, Stop> {
    if !args.backend.elects_among_peers() || args.elect_insecure {
        if let Some(address) = args.elect_listen.filter(|address| !address.ip().is_loopback()) {
            tracing::warn!(%address, "elections are neither encrypted nor authenticated: whoever reaches this address can vote");
        }
        return Ok((None, None));
    }
    let files = Files { mutual: true, ..files(&args.tls) };
    if files.certificate.is_none() || files.key.is_none() || files.authority.is_none() {
        return Err(Stop::usage(format!(
            "`{}` elects among its members, who must know each other: give --tls-cert, --tls-key and --tls-ca; or, where nobody else reaches --elect-listen, --elect-insecure",
            args.backend.name
        )));
    }
    let tls = files.load()?;
    let secure = Secure { connector: tls.connector("")?, name: None, asks: false };
    Ok((Some(Arc::new(secure)), tls.acceptor.map(|acceptor| Arc::new(Mutual(acceptor)) as _)))
}

/// gRPC requires HTTP/2 to be negotiated.
fn service_tls(args: &NodeArgs, tls: &Tls) -> Result<Option<Arc<dyn env::Wrap>>, Stop> {
    if !args.service_tls {
        return Ok(None);
    }
    let protocol = match args.backend.service.name {
        "etcd" => "h2",
        _ => "",
    };
    let connector = tls.connector(protocol)?;
    Ok(Some(Arc::new(Secure { connector, name: None, asks: args.backend.service.name == "postgres" })))
}

/// Names and addresses of `NAME=HOST:PORT,…`.
fn named(option: &str, list: &[String]) -> Result<(Vec<String>, Vec<String>), Stop> {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    for peer in list {
        let wrong = || Stop::usage(format!("`{peer}` is no peer; write {option} as NAME=HOST:PORT,…"));
        let (name, address) = peer.split_once('=').ok_or_else(wrong)?;
        if !is_name(name) || address.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            return Err(wrong());
        }
        if names.iter().any(|n| n == name) {
            return Err(Stop::usage(format!("two peers are called `{name}`")));
        }
        names.push(name.to_owned());
        addresses.push(address.to_owned());
    }
    Ok((names, addresses))
}

/// Names in the order of their numbers, and the members' addresses.
fn peers(args: &NodeArgs) -> Result<(Vec<String>, Vec<String>), Stop> {
    let (mut names, addresses) = named("--peers", &args.peers)?;
    if !names.contains(&args.id) {
        return Err(Stop::usage(format!("--id {} is not among the peers: {}", args.id, names.join(", "))));
    }
    let (service, store) = (args.backend.service.process, scenarios::plan::STORE);
    let is_taken = |name: &str| name == store || service.is_some_and(|service| names_member(name, service));
    if let Some(taken) = names.iter().find(|name| is_taken(name)) {
        return Err(Stop::usage(format!(
            "a peer must not be called `{taken}`: histories use that name for the {taken}"
        )));
    }
    match &args.others[..] {
        [] => {
            let count = args.service.as_ref().map_or(1, |addresses| addresses.split(',').count()) as u16;
            let members = service.into_iter().flat_map(|service| (1..=count).map(|n| member_name(service, n, count)));
            names.extend(members.chain([store.to_owned()]));
        }
        others => names.extend(others.iter().cloned()),
    }
    Ok((names, addresses))
}

/// Rejects clocks that plans may not have: such a clock would stand still, run backwards, or leave the calendar.
fn clocks(args: &NodeArgs) -> Result<(), Stop> {
    if args.clock_skew.unsigned_abs() > OFFSET_MAX_MS {
        return Err(Stop::usage(format!("--clock-skew must be within {OFFSET_MAX_MS} ms, a year, either way")));
    }
    if args.clock_drift.unsigned_abs() > PPM_MAX {
        return Err(Stop::usage(format!("--clock-drift must be within {PPM_MAX} ppm either way")));
    }
    Ok(())
}

pub fn endpoint(text: &str) -> Result<Endpoint, Stop> {
    let wrong = || Stop::usage(format!("`{text}` is no HOST:PORT"));
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains('/') || host.contains('@') {
        return Err(wrong());
    }
    Ok(Endpoint { host: host.to_owned(), port: port.parse().map_err(|_| wrong())? })
}

/// A duration in nanoseconds that is positive and no longer than plans allow.
fn bounded(option: &str, ms: u64) -> Result<u64, Stop> {
    let fits = (1..=LONGEST_MS).contains(&ms);
    fits.then_some(ms * MILLISECOND).ok_or_else(|| Stop::usage(format!("{option} must be between 1ms and a day")))
}

/// What makes a leader resign by itself.
fn tenure(args: &NodeArgs) -> Result<Tenure, Stop> {
    let step_down_after = args.step_down_after.map(|ms| bounded("--step-down-after", ms)).transpose()?;
    Ok(Tenure { step_down_after: step_down_after.unwrap_or(0), ..Tenure::default() })
}

/// The range of election timeouts: as asked for, one to two leases, or the protocol's own.
fn election_timeout(protocol: &Protocol, args: &NodeArgs, lease_ttl: Option<u64>) -> Result<Option<(u64, u64)>, Stop> {
    let Some(own) = protocol.election_timeout else {
        return match args.election_timeout {
            None => Ok(None),
            Some(_) => Err(Stop::usage(format!("`{}` draws no election timeouts; it has --lease-ttl", protocol.name))),
        };
    };
    let asked = args.election_timeout.map(|(min_ms, max_ms)| {
        Ok::<_, Stop>((bounded("--election-timeout", min_ms)?, bounded("--election-timeout", max_ms)?))
    });
    let of_lease = lease_ttl.map(|ttl| (ttl, ttl.saturating_mul(2)));
    Ok(Some(asked.transpose()?.or(of_lease).unwrap_or(own)))
}

fn timings(protocol: &Protocol, args: &NodeArgs) -> Result<Timings, Stop> {
    let lease_ttl = args.lease_ttl.map(|ms| bounded("--lease-ttl", ms)).transpose()?;
    let election_timeout = election_timeout(protocol, args, lease_ttl)?;
    let shortest = election_timeout.map(|(min, _)| min);
    let lease_ttl = lease_ttl.or(shortest).unwrap_or(protocol.default_lease_ttl);
    let granted = (protocol.granted_ttl)(lease_ttl);
    let own = own_timers(protocol, args, granted)?;
    let renews_at = own.retry_period.filter(|_| protocol.timers.renews_at_retry);
    let renews_at = renews_at.or(args.renew_interval.map(|ms| ms.saturating_mul(MILLISECOND)));
    let renew_interval = renews_at.unwrap_or_else(|| (protocol.renew_interval)(granted));
    if renew_interval == 0 || renew_interval >= granted {
        return Err(Stop::usage(format!(
            "--renew-interval must be above 0 and below the lease, which is {} ms",
            granted / MILLISECOND
        )));
    }
    let timeout_ms = args.request_timeout.unwrap_or((lease_ttl / MILLISECOND / 3).clamp(1, 1_000));
    let request_timeout = bounded("--request-timeout", timeout_ms)?;
    let timings =
        Timings { lease_ttl, renew_interval, request_timeout, election_timeout, own, rules: Default::default() };
    match (protocol.timers.refuses)(&timings) {
        Some(why) => Err(Stop::usage(format!("`{}` refuses these timers: {why}", protocol.name))),
        None => Ok(timings),
    }
}

/// The timers that only some protocols have, as given or the protocol's own, nanoseconds.
fn own_timers(protocol: &Protocol, args: &NodeArgs, granted: u64) -> Result<Timers, Stop> {
    let params = args.own.add_to(Params::default());
    sense::own_timers(&params, protocol)?;
    only_timers(&params)?;
    if params.set.timer(protocol, Timer::ReplicaLag).is_some() {
        return Err(Stop::usage("replica-lag is for simulated servers; a real replica's lag cannot be set"));
    }
    if let Some(ms) = params.retry_period_ms {
        bounded("--retry-period", ms)?;
    }
    let usual = protocol.timers.defaults(granted);
    let given_ms = |timer| match timer {
        Timer::RetryPeriod if protocol.timers.renews_at_retry => params.retry_period_ms.or(args.renew_interval),
        Timer::RetryPeriod => params.retry_period_ms,
        timer => params.set.timer(protocol, timer),
    };
    let given = |timer| given_ms(timer).map(|ms: u64| ms.saturating_mul(MILLISECOND));
    Ok(Timers::from(|timer| given(timer).or(usual.get(timer))))
}

/// Rejects what only simulated nodes can be told by `--set`.
pub(super) fn only_timers(params: &Params) -> Result<(), Stop> {
    match params.set.iter().find(|setting| !setting.is_timer()) {
        Some(other) => {
            Err(Stop::usage(format!("--set {other} is for the simulation; real nodes only take timers by it")))
        }
        None => Ok(()),
    }
}
