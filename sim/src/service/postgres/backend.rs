//! A session's process: reads messages, executes statements, waits for locks, and ends.
//!
//! As in PostgreSQL, it reads nothing while it waits for a lock, so it does not notice that its client is gone; and it
//! learns that a silent connection was given up only when it reads (postgres/postgres 15, `src/backend/tcop/postgres.c:
//! PostgresMain, ReadCommand`; `client_connection_check_interval` is 0 by default).

use super::{
    analyse::Prepared,
    answers::Writer,
    error::Error,
    messages::{Message, Reader, format_of},
    model::{Pid, Step},
    portal::Portal,
    server::Server,
    settings::Settings,
    sql::Statement,
    value::Value,
};
use crate::world::keepalive::Keepalive;
use protocols_clients::env::Env;
use std::{collections::BTreeMap, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};

#[derive(Debug)]
pub enum End {
    /// The client is gone, or gets no message.
    Silent,
    /// The last bytes for the client.
    Told(Vec<u8>),
}

/// The messages after a successful start.
pub(super) fn welcome(out: &mut Writer, settings: &Settings, pid: Pid) {
    out.authenticated();
    let told = [
        ("application_name", settings.application_name()),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("integer_datetimes", "on"),
        ("server_encoding", "UTF8"),
        ("server_version", "15.14"),
        ("standard_conforming_strings", "on"),
        ("TimeZone", "Etc/UTC"),
    ];
    told.into_iter().for_each(|(name, value)| out.parameter(name, value));
    out.key(pid);
    out.ready(b'I');
}

pub struct Backend<E> {
    env: E,
    pub(super) server: Arc<Server>,
    pub(super) pid: Pid,
    signal: Arc<Notify>,
    reader: Reader,
    pub(super) out: Writer,
    pub(super) statements: BTreeMap<String, Arc<Prepared>>,
    pub(super) portals: BTreeMap<String, Portal>,
    /// After an error: skips messages until `Sync`.
    skipping: bool,
    /// The last message began or continued an exchange that has not ended yet.
    asks: bool,
}

impl<E: Env> Backend<E> {
    pub fn new(env: E, server: Arc<Server>, pid: Pid, signal: Arc<Notify>, reader: Reader) -> Self {
        let (statements, portals) = (BTreeMap::new(), BTreeMap::new());
        Backend {
            env,
            server,
            pid,
            signal,
            reader,
            out: Writer::default(),
            statements,
            portals,
            skipping: false,
            asks: false,
        }
    }

    /// Serves until the session ends.
    pub async fn run(&mut self, stream: &mut E::Stream) -> End {
        let settings = self.server.model().settings(self.pid);
        welcome(&mut self.out, &settings, self.pid);
        loop {
            if !self.out.0.is_empty() {
                let bytes = std::mem::take(&mut self.out.0);
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return End::Silent;
                }
            }
            // Handles what has arrived, then waits for more.
            loop {
                let handled = match self.reader.message() {
                    Ok(None) => break,
                    Ok(Some(Message::Terminate)) => return End::Silent,
                    Ok(Some(message)) => self.handle(message).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = handled {
                    if error.fatal {
                        return self.told(&error);
                    }
                    self.failed(&error);
                }
            }
            if self.out.0.is_empty()
                && let Err(end) = self.listen(stream).await
            {
                return end;
            }
        }
    }

    /// Answers one message forwarded by a pool; `false` if the session is over.
    pub(super) async fn answer(&mut self, message: Message) -> (Vec<u8>, bool) {
        self.asks = !matches!(message, Message::Query(_) | Message::Sync);
        let handled = if self.is_terminated() { Err(Error::terminated()) } else { self.handle(message).await };
        let goes_on = match handled {
            Err(error) if error.fatal => {
                self.out.error(&error);
                false
            }
            Err(error) => {
                self.failed(&error);
                true
            }
            Ok(()) => true,
        };
        (std::mem::take(&mut self.out.0), goes_on)
    }

    /// Whether the next message may come from another client.
    pub(super) fn is_between_transactions(&self) -> bool {
        !self.asks && self.server.model().status(self.pid) == b'I'
    }

    pub(super) fn is_terminated(&self) -> bool {
        self.server.model().is_terminated(self.pid)
    }

    /// Sets the session's application name.
    pub(super) fn be_named(&self, name: &str) {
        let (pid, now) = (self.pid, self.env.now());
        self.server.apply(now, Some(pid), |model| model.be_named(pid, name));
    }

    pub(super) fn close(self) {
        self.server.close(self.env.now(), self.pid);
    }

    fn told(&mut self, error: &Error) -> End {
        self.out.error(error);
        End::Told(std::mem::take(&mut self.out.0))
    }

    /// Waits for bytes until the session is terminated, has been idle for too long, or its connection is given up.
    async fn listen(&mut self, stream: &mut E::Stream) -> Result<(), End> {
        let (limit, settings) = {
            let model = self.server.model();
            (model.idle_limit(self.pid), model.settings(self.pid))
        };
        let since = self.env.now().mono;
        let idle_until = limit.as_ref().map(|(length, _)| since.saturating_add(*length));
        let mut keepalive = Keepalive::new(settings.probing(), since);
        let mut bytes = vec![0; 4096];
        loop {
            if self.server.model().is_terminated(self.pid) {
                return Err(self.told(&Error::terminated()));
            }
            let until = idle_until.map_or(keepalive.due(), |idle| idle.min(keepalive.due()));
            tokio::select! {
                biased;
                () = self.signal.notified() => {}
                read = stream.read(&mut bytes) => match read {
                    Ok(count @ 1..) => {
                        self.reader.feed(&bytes[..count]);
                        return Ok(());
                    }
                    _ => return Err(End::Silent),
                },
                () = self.env.sleep_until(until) => {
                    let now = self.env.now().mono;
                    if idle_until.is_some_and(|idle| idle <= now)
                        && let Some((_, why)) = &limit
                    {
                        return Err(self.told(why));
                    }
                    if now >= keepalive.due() && keepalive.probe(self.env.peer(stream), now) {
                        protocols::mark!("postgres server: gives a silent connection up");
                        return Err(End::Silent);
                    }
                }
            }
        }
    }

    /// Handles a failed statement or message.
    fn failed(&mut self, error: &Error) {
        let (pid, now) = (self.pid, self.env.now());
        self.server.apply(now, Some(pid), |model| model.fail(pid));
        self.portals.clear();
        self.out.error(error);
        self.skipping = true;
    }

    fn ready(&mut self) {
        let status = self.server.model().status(self.pid);
        if status == b'I' {
            self.portals.clear();
        }
        self.out.ready(status);
    }

    async fn handle(&mut self, message: Message) -> Result<(), Error> {
        match message {
            Message::Sync => {
                let (pid, now) = (self.pid, self.env.now());
                self.server.apply(now, Some(pid), |model| model.end_command(pid));
                self.skipping = false;
                self.ready();
                Ok(())
            }
            Message::Query(text) => {
                self.skipping = false;
                if let Err(error) = self.query(&text).await {
                    if error.fatal {
                        return Err(error);
                    }
                    self.failed(&error);
                    self.skipping = false;
                }
                self.ready();
                Ok(())
            }
            _ if self.skipping => Ok(()),
            Message::Parse { name, text, types } => self.parse(name, &text, &types),
            Message::Bind(bind) => self.bind(bind),
            Message::Describe { portal, name } => self.describe(portal, &name),
            Message::Execute { portal } => self.execute(&portal).await,
            Message::Close { portal, name } => {
                if portal {
                    self.portals.remove(&name);
                } else {
                    self.statements.remove(&name);
                }
                self.out.bare(b'3');
                Ok(())
            }
            Message::Flush | Message::Terminate => Ok(()),
        }
    }

    pub(super) fn begin_command(&self) {
        let (pid, now) = (self.pid, self.env.now());
        self.server.apply(now, Some(pid), |model| model.begin_command(pid, now));
    }

    /// The simple protocol: the statements form one transaction unless they say otherwise.
    async fn query(&mut self, text: &str) -> Result<(), Error> {
        self.begin_command();
        let statements = self.server.model().parse(text)?;
        if statements.is_empty() {
            self.out.bare(b'I');
        }
        for statement in statements {
            self.begin_command();
            let prepared = self.server.model().prepare(self.pid, statement, &[])?;
            if let Some(place) = prepared.parameters.len().checked_sub(1) {
                return Err(Error::new("42P02", format!("there is no parameter ${}", place + 1)));
            }
            self.carry_out(&prepared, &[], &[], true).await?;
        }
        let (pid, now) = (self.pid, self.env.now());
        self.server.apply(now, Some(pid), |model| model.end_command(pid));
        Ok(())
    }

    /// Executes a statement, waiting for locks as needed, and sends the result.
    pub(super) async fn carry_out(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
        results: &[bool],
        described: bool,
    ) -> Result<(), Error> {
        let answer = loop {
            let (pid, now) = (self.pid, self.env.now());
            match self.server.apply(now, Some(pid), |model| model.run(pid, prepared, values, now))? {
                // A session that terminates itself gets no answer.
                Step::Done(_) if self.is_terminated() => return Err(Error::terminated()),
                Step::Done(answer) => break answer,
                Step::Wait => self.wait().await?,
            }
        };
        answer.notices.iter().for_each(|notice| self.out.notice(notice));
        answer.reported.iter().for_each(|(name, value)| self.out.parameter(name, value));
        if prepared.statement == Statement::Empty {
            self.out.bare(b'I');
            return Ok(());
        }
        if let Some(columns) = prepared.columns.as_ref().filter(|_| described) {
            self.out.columns(columns, |_| false);
        }
        if prepared.columns.is_some() {
            answer.rows.iter().for_each(|row| self.out.row(row, |place| format_of(results, place)));
        }
        self.out.complete(&answer.tag);
        Ok(())
    }

    /// Waits until the session has the lock, has waited too long, or is terminated.
    async fn wait(&self) -> Result<(), Error> {
        loop {
            let until = self.server.model().waits_until(self.pid);
            tokio::select! {
                biased;
                () = self.signal.notified() => {}
                () = self.env.sleep_until(until.unwrap_or(u64::MAX)), if until.is_some() => {}
            }
            let now = self.env.now();
            let mut model = self.server.model();
            if model.is_terminated(self.pid) {
                return Err(Error::terminated());
            }
            if !model.is_waiting(self.pid) {
                return Ok(());
            }
            model.check_wait(self.pid, now)?;
        }
    }
}
