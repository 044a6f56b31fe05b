//! `cluster`: starts a cluster on this machine.

use super::{
    args::{ClusterArgs, WorldArgs},
    node::only_timers,
    process::{asked_to_end, block_on, nobody_reads},
    table,
    words::DEFAULT_DIR,
};
use crate::terminal::{exit::Stop, output::Show, parse};
use protocols_real::{
    store::postgres,
    tls::{Files, Tls},
};
use scenarios::{
    Params, Registry,
    plan::{Plan, Tenure},
    sense,
};
use sim_real::{
    control::{self, Card},
    director::{Director, resolve_address},
    secret::{self, AUTHORITY},
    spec::Spec,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{net::TcpListener, sync::mpsc};

/// Starts a cluster, shows its state, and ends it.
pub fn run(args: &ClusterArgs) -> Result<u8, Stop> {
    let params = args.own.add_to(Params {
        nodes: args.nodes,
        lease_ttl_ms: args.lease_ttl,
        election_timeout_ms: args.election_timeout,
        fencing: args.fencing.into(),
        renew_interval_ms: args.renew_interval,
        clock_skew_ms: args.clock_skew,
        clock_drift_ppm: 0,
        clients: 1,
        read_lease: Some(false),
        reads_per_s: Some(0),
        tenure: Tenure { step_down_after_ms: args.step_down_after.unwrap_or(0), ..Tenure::default() },
        ..Params::default()
    });
    sense::options(&params)?;
    sense::own_timers(&params, args.backend)?;
    only_timers(&params)?;
    sense::timers(&params, args.backend)?;
    // An operator's faults take the place of a plan's.
    let mut plan = parse::scenario("steady")?.compile(&params, args.backend, 0)?;
    plan.candidates.iter_mut().for_each(|c| c.starts_at_ms = 0);
    let folder = args.world.dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DIR));
    fresh(&folder)?;
    let spec = spec(&args.world, plan, folder)?;
    block_on(async {
        let asked = asked_to_end()?;
        let end = async {
            tokio::select! {
                biased;
                () = asked => {}
                () = nobody_reads() => {}
            }
        };
        let show = Show::default();
        let mut director = Director::new(spec).await?;
        let card = publish(&director).await?;
        let (orders, to_director) = mpsc::unbounded_channel();
        tokio::spawn(control::serve(card.1, card.0.secret.clone(), orders));
        director.begin(false)?;
        let tls = certificates(&args.world, director.folder())?;
        let postgres = args.world.postgres.as_deref();
        table::introduce(&card.0, args.backend, director.folder(), tls.is_some(), postgres);
        let table = tokio::spawn(table::show(card.0, tls, show));
        let obeyed = director.obey(to_director, end).await;
        table.abort();
        show.banner("ending: the leader resigns, then store and service stop");
        let file = director.folder().join(control::FILE);
        director.end().await;
        // Nobody can send orders any more.
        let _ = std::fs::remove_file(file);
        obeyed.map(|()| 0).map_err(Stop::from)
    })
}

/// How to poll the nodes: with TLS if they use it.
fn certificates(world: &WorldArgs, folder: &Path) -> Result<Option<Tls>, Stop> {
    let authority = world.tls.then(|| folder.join(AUTHORITY));
    let files = authority.map(|file| Files { authority: Some(file), ..Files::default() });
    files.map(|f| f.load()).transpose().map_err(|why| Stop::harness(why.to_string()))
}

async fn publish(director: &Director) -> Result<(Card, TcpListener), Stop> {
    let wrong = |e: std::io::Error| Stop::harness(format!("no port on loopback: {e}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(wrong)?;
    let (nodes, store, service) = director.addresses()?;
    let (control, secret) = (listener.local_addr().map_err(wrong)?, secret::draw());
    let store_metrics = director.cluster().store_metrics();
    let services = director.cluster().services();
    let card = Card { control, secret, nodes, store, store_metrics, service, services };
    control::publish(director.folder(), &card)?;
    Ok((card, listener))
}

/// The specification of the cluster.
pub fn spec(world: &WorldArgs, plan: Plan, folder: PathBuf) -> Result<Spec, Stop> {
    let program = std::env::current_exe().map_err(|e| Stop::harness(format!("cannot find this program: {e}")))?;
    if let Some(url) = &world.postgres {
        // Checked before it gets onto the store's command line, where a password would be visible to everybody.
        postgres::PostgresSettings::from_env(url, None)?;
    }
    let Some(protocol) = plan.election() else {
        return Err(Stop::usage(format!("there is no protocol `{}`", plan.protocol)));
    };
    if !plan.service_members.is_empty() && protocol.service.usual_members == 1 {
        return Err(Stop::usage("services have one member each here; leave `service_members` out".to_owned()));
    }
    if world.service.is_some() && !plan.service_members.is_empty() {
        let name = &plan.protocol;
        return Err(Stop::usage(format!(
            "--service is given, but the servers of `{name}` are started here; leave it out"
        )));
    }
    if plan.groups > 1 {
        return Err(Stop::usage("real processes form one group; leave `groups` out".to_owned()));
    }
    if !(Tenure { step_down_after_ms: 0, ..plan.tenure }).is_nothing() {
        let why = "real leaders have neither a warm-up nor mistaken health checks; in `tenure`, keep only \
                   `step_down_after_ms`";
        return Err(Stop::usage(why.to_owned()));
    }
    if !plan.bugs.is_empty() {
        return Err(Stop::usage("bugs are switched on in the simulation only; leave `bugs` out".to_owned()));
    }
    if protocol.elects_among_peers() && !protocol.service.is_embedded {
        return Err(Stop::usage(format!("`{}` runs only in the simulation; use `raft` here", plan.protocol)));
    }
    if world.service.is_some() && protocol.service.process.is_none() {
        return Err(Stop::usage(format!("--service is given, but `{}` asks no service", plan.protocol)));
    }
    let service = world.service.as_deref().map(resolve_address).transpose()?;
    let topology = Arc::new(Registry::default().topology(&plan, protocol)?);
    Ok(Spec {
        program,
        folder,
        plan: Arc::new(plan),
        topology,
        service,
        postgres: world.postgres.clone(),
        tls: world.tls,
    })
}

/// Empties a folder: removes what an earlier cluster left there, and refuses if a cluster is still running.
pub fn fresh(folder: &Path) -> Result<(), Stop> {
    if let Ok(card) = control::card(folder)
        && std::net::TcpStream::connect(card.control).is_ok()
    {
        return Err(Stop::usage(format!("a cluster runs in {} already; end it, or give --dir", folder.display())));
    }
    if folder.exists() && !folder.join(MARK).exists() && folder.read_dir().is_ok_and(|mut d| d.next().is_some()) {
        return Err(Stop::usage(format!(
            "{} holds files that are not a cluster's; give another --dir",
            folder.display()
        )));
    }
    let wrong = |e: std::io::Error| Stop::harness(format!("cannot clear {}: {e}", folder.display()));
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(wrong)?;
    }
    std::fs::create_dir_all(folder).map_err(wrong)?;
    std::fs::write(folder.join(MARK), "A cluster's data, logs and histories; removed when the next one starts here.\n")
        .map_err(wrong)
}

/// Marks a folder as a cluster's.
const MARK: &str = "README.txt";
