//! The single connection, and which session a request needs.

use super::{
    session::{Options, Session},
    statements,
};
use crate::{env::Env, site::Endpoint};
use protocols::{
    error::Failure,
    service::{
        Service,
        postgres::{Reply, Request, SCHEMA},
    },
};
use std::sync::{Mutex, PoisonError};
use tokio::sync::{Mutex as Turns, watch};
use tokio_postgres::{Error, NoTls, config::SslMode, error::SqlState};

/// Connects when first needed, and keeps the connection.
pub(super) struct Connector<E: Env> {
    pub(super) env: E,
    endpoint: Endpoint,
    options: Options,
    slot: Mutex<Slot<E>>,
    /// Electors that share the connection take turns. Otherwise, each that found it in use would make another.
    turn: Turns<()>,
}

/// The connection while it is idle, and how many have been made.
struct Slot<E: Env> {
    sessions: u64,
    /// Says why the last one has ended, and closes with it.
    ends: Option<watch::Receiver<Option<String>>>,
    live: Option<Session<E>>,
    /// Sessions that a pool has taken back and does not lend again, since it has others: see [`Lent`].
    back: Vec<Session<E>>,
}

/// The session of a request under way. If the request is given up, the session is dropped with it, and the server ends
/// it along with any lock that it took unnoticed. A pool that is not told takes the session back as it is.
struct Lent<'a, E: Env> {
    session: Option<Session<E>>,
    /// The pool that takes it back in that case.
    pool: Option<&'a Connector<E>>,
}

impl<E: Env> Drop for Lent<'_, E> {
    fn drop(&mut self) {
        if let (Some(pool), Some(session)) = (self.pool, self.session.take()) {
            pool.slot().back.push(session);
        }
    }
}

impl<E: Env> Connector<E> {
    pub(super) fn new(env: E, endpoint: Endpoint, options: Options) -> Self {
        let slot = Mutex::new(Slot { sessions: 0, ends: None, live: None, back: Vec::new() });
        Connector { env, endpoint, options, slot, turn: Turns::new(()) }
    }

    pub(super) fn service(&self) -> &'static Service {
        self.options.service
    }

    /// Carries out one request, connecting first if necessary. The connection is kept if the request was answered; it
    /// is closed if this future is dropped or the outcome is unknown.
    pub(super) async fn carry_out(&self, request: &Request) -> Result<Reply, Failure> {
        let _turn = self.turn.lock().await;
        let pool = self.options.keeps_dropped.then_some(self);
        let mut lent = Lent { session: Some(self.session(request).await?), pool };
        let Some(session) = &mut lent.session else { return Err(Failure::Unknown("no connection".to_owned())) };
        let mut answer = self.ask(session, request).await;
        if answer.as_ref().is_err_and(is_without_table) && !self.options.pooled {
            self.prepare(session).await?;
            answer = self.ask(session, request).await;
        }
        let Some(session) = lent.session.take() else { return answer.map_err(failure) };
        let usable = match &answer {
            Ok(_) => true,
            // An open transaction must end with its connection.
            Err(error) => error.as_db_error().is_some() && !session.in_transaction && !session.client.is_closed(),
        };
        if usable {
            self.slot().live = Some(session);
        }
        answer.map_err(failure)
    }

    async fn ask(&self, session: &mut Session<E>, request: &Request) -> Result<Reply, Error> {
        if self.options.pooled {
            statements::ask_simply(&session.client, session.number, request).await
        } else {
            let number = session.number;
            statements::ask(session, number, request).await
        }
    }

    /// The session that the request needs: a new one if any will do and none is usable.
    async fn session(&self, request: &Request) -> Result<Session<E>, Failure> {
        let live = self.slot().live.take().filter(|session| !session.client.is_closed());
        let gone = |what: &str| Err(Failure::Rejected(format!("the {what} is gone with its connection")));
        match (request, live) {
            (Request::End { .. }, live) => match live.filter(|session| session.in_transaction) {
                Some(session) => Ok(session),
                None => gone("transaction"),
            },
            (Request::Ping { session: number } | Request::Unlock { session: number, .. }, live) => {
                match live.filter(|session| session.number == *number) {
                    Some(session) => Ok(session),
                    None => gone("session"),
                }
            }
            // A new attempt has no use for the transaction of an earlier one.
            (_, Some(session)) if !session.in_transaction => Ok(session),
            (_, _) => self.connect(request.who()).await,
        }
    }

    async fn connect(&self, who: Option<&str>) -> Result<Session<E>, Failure> {
        let unknown = |error: std::io::Error| Failure::Unknown(format!("no connection: {error}"));
        let stream = self.env.connect(&self.endpoint).await.map_err(unknown)?;
        let mut config = self.options.login.clone();
        config.ssl_mode(SslMode::Disable).application_name(who.unwrap_or("fencepost"));
        if let Some(keepalive) = self.options.keepalive {
            config.options(keepalive.options());
        }
        let (client, connection) = config.connect_raw(stream, NoTls).await.map_err(failure)?;
        // The next request learns that it has ended, and whoever watches the session why.
        let (ends, told) = watch::channel(None);
        let driver = self.env.spawn(async move {
            if let Err(why) = connection.await {
                ends.send_replace(Some(
                    why.as_db_error().map_or_else(|| why.to_string(), |told| told.message().to_owned()),
                ));
            }
        });
        let mut slot = self.slot();
        slot.sessions += 1;
        slot.ends = Some(told);
        Ok(Session { client, number: slot.sessions, in_transaction: false, _driver: driver })
    }

    /// Waits until this session has ended, and says why.
    pub(super) async fn ended(&self, session: u64) -> Failure {
        let told = {
            let slot = self.slot();
            slot.ends.clone().filter(|_| slot.sessions == session)
        };
        let why = match told {
            Some(mut told) => {
                // An error: the connection is gone, and has left its last word.
                while told.changed().await.is_ok() {}
                told.borrow().clone()
            }
            None => None,
        };
        Failure::Rejected(
            why.map_or_else(|| "the session has ended".to_owned(), |why| format!("the session has ended: {why}")),
        )
    }

    /// Creates missing tables. Another client may be doing the same: "if not exists" is checked before the name is
    /// taken, so one of the two may be told that the table already exists.
    async fn prepare(&self, session: &mut Session<E>) -> Result<(), Failure> {
        if std::mem::take(&mut session.in_transaction) {
            session.client.batch_execute("ROLLBACK").await.map_err(failure)?;
        }
        for statement in SCHEMA {
            match session.client.batch_execute(statement).await {
                Err(error) if !is_there(&error) => return Err(failure(error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Slot<E>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_without_table(error: &Error) -> bool {
    error.code() == Some(&SqlState::UNDEFINED_TABLE)
}

fn is_there(error: &Error) -> bool {
    let told = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    error.code().is_some_and(|code| told.contains(code))
}

/// An error that the server reports is a refusal, unless it reports an unknown outcome itself. After any other error
/// the statement may have taken effect.
fn failure(error: Error) -> Failure {
    match error.as_db_error() {
        Some(told) if told.code().code() != "40003" && !told.code().code().starts_with("08") => {
            Failure::Rejected(format!("{} ({})", told.message(), told.code().code()))
        }
        _ => Failure::Unknown(error.to_string()),
    }
}
