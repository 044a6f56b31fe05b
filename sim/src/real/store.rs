//! `store` and `audit`.

use super::{
    args::{AuthArgs, KeepArgs, StoreArgs},
    asked_to_end, block_on, start_logs, tls,
};
use crate::terminal::exit::Stop;
use protocols::real::{
    store::{self, Auth, Keep, Settings, Store, books::Rules, postgres, server::Limits},
    tls::Files,
};
use std::io::{self, Write};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Runs the fenced store until it is asked to end.
pub fn run(args: &StoreArgs) -> Result<u8, Stop> {
    start_logs(args.logs.log);
    let settings = Settings {
        keep: keep(&args.keep)?,
        rules: Rules { fencing: args.fencing, ..Rules::default() },
        auth: auth(&args.auth)?,
        limits: Limits::default(),
        tls: tls(&args.tls)?.acceptor,
    };
    block_on(async {
        let end = asked_to_end()?;
        let listener = TcpListener::bind(args.listen).await;
        let listener = listener.map_err(|e| Stop::usage(format!("cannot listen on {}: {e}", args.listen)))?;
        let store = Store::open(settings).await.map_err(Stop::harness)?;
        tracing::info!(listen = %args.listen, fencing = args.fencing, "store serves");
        let stop = CancellationToken::new();
        let stopper = stop.clone();
        tokio::spawn(async move {
            end.await;
            stopper.cancel();
        });
        store.serve(listener, stop).await.map_err(Stop::harness)?;
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
        store::export(&keep, out).await.map_err(Stop::harness)?;
        // A reader that has gone away is no error.
        let _ = io::stdout().flush();
        Ok(0)
    })
}

/// Where the ledgers are.
pub fn keep(args: &KeepArgs) -> Result<Keep, Stop> {
    match (&args.data, &args.postgres) {
        (Some(path), _) => Ok(Keep::Embedded(path.clone())),
        (None, Some(url)) => {
            let files = Files { authority: args.postgres_ca.clone(), ..Files::default() };
            let tls = files.load().map_err(Stop::usage)?.client();
            postgres::Settings::from_env(url, tls).map(Keep::Postgres).map_err(Stop::usage)
        }
        (None, None) => Err(Stop::usage("say where the ledgers are: --data FILE or --postgres URL")),
    }
}

/// Who is believed.
pub fn auth(args: &AuthArgs) -> Result<Auth, Stop> {
    Auth::from_options(args.token_key.as_deref(), args.insecure).map_err(Stop::usage)
}
