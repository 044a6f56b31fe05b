//! `store` and `audit`: the fenced store, and its decisions.

use super::{
    args::{AuthArgs, KeepArgs, StoreArgs},
    process::{asked_to_end, block_on, start_logs, tls},
};
use crate::terminal::exit::Stop;
use protocols_real::{
    http,
    store::{
        self, Auth, Keep, Store, StoreSettings, audit::Retention, loaded::Rules, metrics, postgres, server::Limits,
    },
    tls::Files,
};
use sim::identity::identity;
use std::io::{self, Write};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Runs the fenced store until it is asked to end.
pub fn run(args: &StoreArgs) -> Result<u8, Stop> {
    let _traces = start_logs("store", args.logs.log)?;
    let settings = StoreSettings {
        keep: keep(&args.keep)?,
        rules: Rules { fencing: args.fencing, audit: args.audit_keep, ..Rules::default() },
        auth: auth(&args.auth)?,
        limits: Limits::default(),
        tls: tls(&args.tls)?.acceptor,
        commit: identity().commit,
    };
    if matches!(settings.keep, Keep::Postgres(_)) && args.audit_keep != Retention::ALL {
        return Err(Stop::usage(
            "--audit-keep is for --data; PostgreSQL's audit may be cut by `delete from fenced_audit where id < …`, the \
             ledgers do not need it",
        ));
    }
    block_on(async {
        let end = asked_to_end()?;
        let metrics_at = match args.metrics {
            Some(address) => Some(http::listen(address).await?),
            None => None,
        };
        let listener = TcpListener::bind(args.listen).await;
        let listener = listener.map_err(|e| Stop::usage(format!("cannot listen on {}: {e}", args.listen)))?;
        let store = Store::open(settings).await?;
        tracing::info!(listen = %args.listen, fencing = args.fencing, "store serves");
        let stop = CancellationToken::new();
        if let Some(listener) = metrics_at {
            let (router, stop) = (metrics::router(store.metrics()), stop.clone());
            let tls = tls(&args.tls)?.acceptor;
            tokio::spawn(async move { http::serve(listener, tls, router, stop.cancelled()).await });
        }
        let stopper = stop.clone();
        tokio::spawn(async move {
            end.await;
            stopper.cancel();
        });
        // With its time, for the log; the command's own last sentence has none.
        store.serve(listener, stop).await.inspect_err(|why| tracing::error!("store ends: {why}"))?;
        tracing::info!("store ended");
        Ok(0)
    })
}

/// Writes a store's audit to standard output.
pub fn audit(args: &KeepArgs) -> Result<u8, Stop> {
    let keep = keep(args)?;
    if let Keep::Embedded(path) = &keep
        && !path.exists()
    {
        return Err(Stop::usage(format!("there is no store at {}", path.display())));
    }
    block_on(async {
        let out = io::BufWriter::new(io::stdout());
        store::audit(&keep, out).await?;
        // Standard output is for the history; standard error tells if its beginning is missing.
        if let Some(dropped) = store::dropped(&keep).await? {
            eprintln!("{dropped}");
        }
        // A reader that has gone away is no error.
        let _ = io::stdout().flush();
        Ok(0)
    })
}

/// Where the ledgers are kept.
pub fn keep(args: &KeepArgs) -> Result<Keep, Stop> {
    match (&args.data, &args.postgres) {
        (Some(path), _) => Ok(Keep::Embedded(path.clone())),
        (None, Some(url)) => {
            let files = Files { authority: args.postgres_ca.clone(), ..Files::default() };
            let tls = files.load()?.client();
            postgres::PostgresSettings::from_env(url, tls).map(Keep::Postgres).map_err(Stop::from)
        }
        (None, None) => Err(Stop::usage("say where the ledgers are: --data FILE or --postgres URL")),
    }
}

/// How writers are authenticated.
pub fn auth(args: &AuthArgs) -> Result<Auth, Stop> {
    Auth::from_options(args.token_key.as_deref(), args.insecure).map_err(Stop::from)
}
