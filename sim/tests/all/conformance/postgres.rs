//! PostgreSQL: its arms and scripts.
//!
//! A statement is sent in the simple protocol, or, if it is one of the elections' own, by name in the extended one:
//! `@take leader n1/a 60000`. The result is shown one row per line, after any notices, and with the number of rows at
//! the end. A statement that waits for a lock shows `waits`; its result appears with the statement that released it.
//! `{b}` is the process id of session b.

use super::{
    postgres_session::{DEADLOCK, Session},
    report,
    script::{self, Arm},
};
use protocols::service::postgres::SCHEMA;
use protocols_clients::env::{Env, tokio::TokioEnv};
use servers::{Access, Folder};
use sim::service::postgres::Postgres as Model;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio_postgres::types::Type;

/// Every sequence starts with this table.
const TABLES: &str = "CREATE TABLE IF NOT EXISTS t (name text PRIMARY KEY, value bigint NOT NULL, note text)";

/// The implementation of an arm.
enum Served {
    Real { real: Box<servers::Postgres>, _folder: Folder },
    Model(Arc<Model>, u16, <TokioEnv as Env>::Task),
}

/// A server and its sessions.
pub struct Postgres {
    served: Served,
    control: Option<Session>,
    sessions: BTreeMap<String, Session>,
}

fn serve(model: &Arc<Model>, port: u16) -> <TokioEnv as Env>::Task {
    let (env, model) = (TokioEnv::new(1), model.clone());
    env.clone().spawn(async move { model.serve_on(env, port).await.expect("the port is free") })
}

impl Postgres {
    /// The model, served over a socket.
    pub fn model() -> Postgres {
        let (model, port) = (Arc::new(Model::empty()), servers::free_address().port());
        let task = serve(&model, port);
        Postgres { served: Served::Model(model, port, task), control: None, sessions: BTreeMap::new() }
    }

    /// The real server, if available.
    pub fn real() -> Option<Postgres> {
        let folder = Folder::new();
        let real = servers::postgres(&folder, "the comparison with PostgreSQL", Access::Anybody)?;
        Some(Postgres {
            served: Served::Real { real: Box::new(real), _folder: folder },
            control: None,
            sessions: BTreeMap::new(),
        })
    }

    fn port(&self) -> u16 {
        match &self.served {
            Served::Real { real, .. } => real.server.address.port(),
            Served::Model(_, port, _) => *port,
        }
    }

    async fn open(&mut self, name: &str) {
        if !self.sessions.contains_key(name) {
            let session = Session::open(self.port()).await;
            self.sessions.insert(name.to_owned(), session);
        }
    }

    /// The count that a query about the real server's processes returns.
    async fn count(&mut self, question: &str, pid: i32) -> i64 {
        if self.control.as_ref().is_none_or(|control| control.client.is_closed()) {
            self.control = Some(Session::open(self.port()).await);
        }
        let control = self.control.as_ref().expect("it was opened");
        let rows = control.client.query_typed(question, &[(&pid, Type::INT4)]).await;
        rows.expect("the server answers")[0].get(0)
    }

    async fn is_waiting(&mut self, pid: i32) -> bool {
        match &self.served {
            Served::Model(model, ..) => model.is_waiting(pid),
            Served::Real { .. } => {
                self.count("SELECT count(*) FROM pg_locks WHERE pid = $1 AND NOT granted", pid).await > 0
            }
        }
    }

    async fn is_there(&mut self, pid: i32) -> bool {
        match &self.served {
            Served::Model(model, ..) => model.has_session(pid),
            Served::Real { .. } => self.count("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid).await > 0,
        }
    }

    async fn is_gone(&mut self, pid: i32) {
        while self.is_there(pid).await {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }

    /// The result of a session's statement; `None` while it waits for a lock.
    async fn outcome(&mut self, name: &str) -> Option<Vec<String>> {
        loop {
            let session = self.sessions.get_mut(name)?;
            let pid = session.pid;
            if session.under_way.as_ref()?.is_finished() {
                return session.under_way.take()?.await.ok();
            }
            if self.is_waiting(pid).await {
                return None;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Adds the results of sessions that had been waiting, in order of their names.
    async fn settle(&mut self, lines: &mut Vec<String>) {
        loop {
            let waiting: Vec<String> =
                self.sessions.iter().filter(|(_, s)| s.under_way.is_some()).map(|(name, _)| name.clone()).collect();
            let mut moved = false;
            for name in waiting {
                if let Some(brought) = self.outcome(&name).await {
                    lines.extend(brought.into_iter().map(|line| format!("{name}: {line}")));
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn with_pids(&self, text: &str) -> String {
        let put = |text: String, (name, session): (&String, &Session)| {
            text.replace(&format!("{{{name}}}"), &session.pid.to_string())
        };
        self.sessions.iter().fold(text.to_owned(), put)
    }

    /// Whether the session waits for a lock and so cannot be asked anything.
    pub fn is_busy(&self, name: &str) -> bool {
        self.sessions.get(name).is_some_and(|session| session.under_way.is_some())
    }

    /// Whether any session waits for a lock. The order of concurrent inserts of one key is then undetermined.
    pub fn somebody_waits(&self) -> bool {
        self.sessions.values().any(|session| session.under_way.is_some())
    }

    /// The sessions whose processes a statement may terminate.
    fn ended_by(&self, text: &str) -> Vec<i32> {
        let is_named = |name: &String| text.contains("terminate") && text.contains(&format!("{{{name}}}"));
        self.sessions.iter().filter(|(name, _)| is_named(name)).map(|(_, session)| session.pid).collect()
    }
}

impl Arm for Postgres {
    fn name(&self) -> String {
        match &self.served {
            Served::Real { .. } => "PostgreSQL 15".to_owned(),
            Served::Model(..) => "the model".to_owned(),
        }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model(..))
    }

    async fn reset(&mut self) {
        let pids: Vec<i32> = self.sessions.values().map(|session| session.pid).collect();
        // A session that waits does not notice that its client is gone.
        let control = self.sessions.remove("");
        self.sessions.clear();
        let control = match control {
            Some(control) if !control.client.is_closed() => control,
            _ => Session::open(self.port()).await,
        };
        for pid in pids.into_iter().filter(|pid| *pid != control.pid) {
            let ended = control.client.query_typed("SELECT pg_terminate_backend($1)", &[(&pid, Type::INT4)]).await;
            ended.expect("a superuser may");
            self.is_gone(pid).await;
        }
        for statement in SCHEMA.into_iter().chain([TABLES]) {
            control.client.batch_execute(statement).await.expect("tables can be made");
        }
        for table in ["t", "fencepost_lock", "fencepost_check_in"] {
            control.client.batch_execute(&format!("DELETE FROM {table}")).await.expect("rows can be deleted");
        }
        self.sessions.insert(String::new(), control);
    }

    async fn ask(&mut self, name: &str, text: &str) -> Vec<String> {
        self.open(name).await;
        // A session named in the text must have a process.
        for other in ["a", "b", "c"].iter().filter(|other| text.contains(&format!("{{{other}}}"))) {
            self.open(other).await;
        }
        let mut lines = Vec::new();
        let (ended, said) = (self.ended_by(text), self.with_pids(text));
        let session = self.sessions.get_mut(name).expect("it was opened");
        if session.under_way.is_some() {
            return vec!["is busy".to_owned()];
        }
        session.start(said);
        match self.outcome(name).await {
            Some(brought) => lines.extend(brought),
            None => {
                // By now, any deadlock has been detected.
                tokio::time::sleep(DEADLOCK.1).await;
                match self.outcome(name).await {
                    Some(brought) => lines.extend(brought),
                    None => lines.push("waits".to_owned()),
                }
            }
        }
        // Unless it was refused, or there was nothing to terminate.
        if lines.iter().any(|line| line == "t") {
            for pid in ended {
                self.is_gone(pid).await;
            }
        }
        self.settle(&mut lines).await;
        // Each server numbers its processes differently.
        for (name, session) in &self.sessions {
            let (number, named) = (format!("PID {} ", session.pid), format!("PID of {name} "));
            lines.iter_mut().for_each(|line| *line = line.replace(&number, &named));
        }
        lines
    }

    async fn reconnect(&mut self, name: &str) {
        if let Some(session) = self.sessions.remove(name) {
            let pid = session.pid;
            let waits = session.under_way.is_some();
            drop(session);
            // A session that waits for a lock does not notice.
            if !waits {
                self.is_gone(pid).await;
            }
        }
        self.open(name).await;
    }

    async fn restart(&mut self) {
        self.sessions.clear();
        self.control = None;
        match &mut self.served {
            Served::Real { real, .. } => real.restart(),
            Served::Model(model, port, task) => {
                *port = servers::free_address().port();
                *task = serve(model, *port);
            }
        }
    }

    async fn rest(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The real server and the model give every reply of every script.
#[test]
fn postgres_scripts() {
    super::run(async {
        let (mut model, mut real) = (Postgres::model(), Postgres::real());
        let (mut count, mut wrong) = (0, Vec::new());
        for mut script in script::all("postgres") {
            if let Some(real) = &mut real {
                if super::updating() {
                    let replies = script.play(real).await;
                    script.update(replies);
                }
                wrong.extend(script::check(&script, real).await);
                count += script.commands();
            }
            wrong.extend(script::check(&script, &mut model).await);
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
        if let Some(real) = real {
            report(&real.name(), count, "scripted");
        }
    });
}

/// A child that outlives the killed server keeps the new one from starting; here one stands still until it has.
#[test]
fn a_killed_server_starts_again_once_its_children_have_ended() {
    let folder = Folder::new();
    let Some(mut real) = servers::postgres(&folder, "a restart of PostgreSQL", Access::Anybody) else { return };
    let address = real.server.address;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let child = runtime.block_on(Session::open(address.port())).pid.to_string();
    let signal = |name: &str| std::process::Command::new("kill").args([name, &child]).status().expect("kill runs");
    assert!(signal("-STOP").success());
    let log = folder.path().join("postgres.log");
    let refused = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("shared memory block"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            servers::eventually("the new server is refused", servers::SOON, || refused().then_some(()));
            signal("-CONT");
        });
        real.restart();
    });
    assert!(refused(), "nothing kept it from starting");
    assert_eq!(real.psql("select 1").expect("it answers").trim(), "1");
}
