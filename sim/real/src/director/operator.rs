//! An operator's interventions at the coordination service.

use crate::error::Failed;
use protocols::{election::Protocol, service::postgres};
use protocols_clients::postgres::{DATABASE, USER};
use std::net::SocketAddr;
use tokio_postgres::{Config, NoTls};

/// Ends a candidate's sessions that hold an advisory lock.
const END_SESSIONS: &str = "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid \
                            WHERE l.locktype = 'advisory' AND l.granted AND a.application_name = $1";
/// Ends a candidate's lock.
const END_LOCK: &str = "UPDATE fencepost_lock SET lock_until = now() WHERE split_part(holder, '/', 1) = $1";
/// Clears the holder of a candidate's row.
const END_CHECK_IN: &str = "UPDATE fencepost_check_in SET holder = '' WHERE split_part(holder, '/', 1) = $1";

/// The statement that takes leadership from a candidate, if the protocol has one.
pub(super) fn dropping(protocol: &Protocol) -> Option<&'static str> {
    match protocol.service.name {
        name if name == postgres::SERVICE.name => Some(END_LOCK),
        name if name == postgres::CHECK_INS.name => Some(END_CHECK_IN),
        name if name == postgres::SESSIONS.name => Some(END_SESSIONS),
        _ => None,
    }
}

/// Runs `statement` at the service for the named candidate.
pub(super) async fn carry_out(service: SocketAddr, statement: &str, candidate: &str) -> Result<(), Failed> {
    let mut config = Config::new();
    config.host(service.ip().to_string()).port(service.port()).user(USER).dbname(DATABASE);
    let asked = async {
        let (client, connection) = config.connect(NoTls).await?;
        let driver = tokio::spawn(connection);
        let done = client.execute(statement, &[&candidate]).await;
        driver.abort();
        done
    };
    asked.await.map(drop).map_err(Failed::cannot::<tokio_postgres::Error>(format!("take leadership from {candidate}")))
}
