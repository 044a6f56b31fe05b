//! `raise-token`: raises a service's tokens.

use super::{args::RaiseArgs, node::endpoint, process::block_on};
use crate::terminal::{exit::Stop, output::print};
use protocols_clients::env::tokio::TokioEnv;
use protocols_real::raise::{self, Raised};

/// Raises a service's tokens above the highest that the resource has seen.
pub fn run(args: &RaiseArgs) -> Result<u8, Stop> {
    let protocol = args.backend;
    if !protocol.tokened || protocol.service.process.is_none() {
        let why = format!("`{}` draws no tokens from a service; there are etcd and redis", protocol.name);
        return Err(Stop::usage(why));
    }
    let at = endpoint(&args.service)?;
    let raised =
        block_on(async { raise::raise(TokioEnv::new(0), protocol.service, at, args.above).await.map_err(Stop::from) })?;
    let Raised { from, to } = raised;
    print(&match from >= args.above {
        true => format!("nothing to do: the tokens of {} are at {from} already", args.service),
        false => format!("the tokens of {} were at {from} and are at {to} now; the next one is higher", args.service),
    });
    Ok(0)
}
