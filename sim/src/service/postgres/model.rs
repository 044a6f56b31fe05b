//! A PostgreSQL server's state and answers, without I/O and without a clock.
//!
//! Modelled on postgres/postgres 15: `src/backend/access/transam/xact.c` (transactions and blocks),
//! `src/backend/storage/lmgr/lock.c, proc.c, deadlock.c` (locks, queues, deadlocks),
//! `src/backend/utils/adt/lockfuncs.c` (advisory locks), `src/backend/executor/nodeModifyTable.c, nodeLockRows.c,
//! execMain.c: EvalPlanQual` (rows that change while a session waits for them), `src/backend/executor/execIndexing.c`
//! (conflicts).
//!
//! A row has at most two versions: the committed one, and that of the transaction that has locked it. Every transaction
//! is "read committed". A statement that had to wait restarts with what is committed by then; it has changed nothing
//! before. So where PostgreSQL rechecks only the row that it waited for, the model rechecks all rows: statements that
//! name a row by its key cannot tell the difference.

mod audit;
mod holders;
mod insert;
mod locks;
mod rows;
mod select;
mod sessions;

pub use audit::{Audited, Effect};
pub use holders::Watched;
pub use locks::{Key, Locks, Scope};
pub use rows::Table;

use super::{
    analyse::{Prepared, analyse},
    error::{Error, Notice},
    evaluate::Stop,
    settings::Settings,
    sql::{Output, Statement, parse},
    value::{Type, Value, timestamp},
};
use protocols::{clock::Now, service::postgres::SCHEMA};
use std::{collections::BTreeMap, sync::Arc};

/// A session's process id.
pub type Pid = i32;

#[derive(Clone, Debug, Default)]
pub struct Model {
    tables: BTreeMap<String, Table>,
    sessions: BTreeMap<Pid, Session>,
    locks: Locks,
    opened: Pid,
    /// Sessions that got their lock, or are to end.
    woken: Vec<Pid>,
    /// What leadership is.
    watched: Watched,
    granted: holders::Granted,
    /// The table whose changes are told, and those that were not told yet.
    audited: Option<Audited>,
    effects: Vec<Effect>,
    /// Resolved statements by text and given types, at most [`ANALYSED_MAX`]: clients repeat the same few.
    analysed: BTreeMap<String, (Vec<u32>, Arc<Prepared>)>,
}

/// The most resolved statements remembered.
const ANALYSED_MAX: usize = 64;

#[derive(Clone, Debug, Default)]
struct Session {
    settings: Settings,
    transaction: Option<Transaction>,
    waiting: Option<Waiting>,
    terminated: bool,
}

#[derive(Clone, Debug)]
struct Transaction {
    began: i64,
    /// Whether `BEGIN` began it.
    is_block: bool,
    failed: bool,
    /// The settings before the transaction, and the former values of those local to it.
    settings: Settings,
    local: BTreeMap<String, String>,
    touched: Vec<(String, Value)>,
}

#[derive(Clone, Debug)]
struct Waiting {
    key: Key,
    scope: Scope,
    since: u64,
    looked_for_deadlock: bool,
}

/// The result of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    Done(Answer),
    /// The session waits for a lock; run the statement again when it is woken.
    Wait,
}

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Answer {
    /// `SELECT 1`, for example; empty for the empty statement.
    pub tag: String,
    pub rows: Vec<Vec<Value>>,
    pub notices: Vec<Notice>,
    /// Changed settings to report to the client.
    pub reported: Vec<(&'static str, String)>,
}

impl Answer {
    fn tagged(tag: impl Into<String>) -> Answer {
        Answer { tag: tag.into(), ..Answer::default() }
    }
}

impl Model {
    /// A server without tables; `watched` says what leadership is.
    pub fn new(watched: Watched) -> Model {
        Model { watched, ..Model::default() }
    }

    /// The same with the elections' tables, as an operator would create them.
    pub fn with_schema(watched: Watched) -> Model {
        let mut model = Model::new(watched);
        for text in SCHEMA {
            let created = parse(text).ok().and_then(|mut statements| statements.pop());
            if let Some(Statement::Create(create)) = created {
                model.tables.insert(create.table.clone(), Table::new(&create));
            }
        }
        model
    }

    /// A server set up like this one, with an empty disk.
    pub fn anew(&self) -> Model {
        Model::with_schema(self.watched)
    }

    /// Parses a text of statements.
    ///
    /// # Errors
    /// The text cannot be parsed.
    pub fn parse(&self, text: &str) -> Result<Vec<Statement>, Error> {
        parse(text)
    }

    /// A remembered resolved statement, for use in a session.
    ///
    /// # Errors
    /// As for [`Model::prepare`].
    pub fn recall(&self, pid: Pid, text: &str, types: &[u32]) -> Result<Option<Arc<Prepared>>, Error> {
        match self.analysed.get(text) {
            Some((given, prepared)) if given == types => {
                self.check_not_failed(pid, &prepared.statement)?;
                Ok(Some(prepared.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Remembers a resolved statement until a table is added.
    pub fn remember(&mut self, text: &str, types: &[u32], prepared: &Arc<Prepared>) {
        if self.analysed.len() < ANALYSED_MAX {
            self.analysed.insert(text.to_owned(), (types.to_vec(), prepared.clone()));
        }
    }

    /// Resolves a statement.
    ///
    /// # Errors
    /// The statement cannot be executed, or the session's transaction has failed.
    pub fn prepare(&self, pid: Pid, statement: Statement, given: &[Option<Type>]) -> Result<Prepared, Error> {
        self.check_not_failed(pid, &statement)?;
        analyse(statement, given, &|name: &str| self.tables.get(name).map(|table| &**table))
    }

    /// Refuses a statement, other than the end, in a failed transaction.
    ///
    /// # Errors
    /// The transaction has failed.
    pub fn check_not_failed(&self, pid: Pid, statement: &Statement) -> Result<(), Error> {
        let failed = self.transaction(pid).is_some_and(|transaction| transaction.failed);
        if failed && !matches!(statement, Statement::Commit | Statement::Rollback | Statement::Empty) {
            let why = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(Error::new("25P02", why));
        }
        Ok(())
    }

    /// Executes a statement in the transaction that [`Model::begin_command`] provides.
    ///
    /// # Errors
    /// The statement's error; the caller reports it to [`Model::fail`].
    pub fn run(&mut self, pid: Pid, prepared: &Prepared, parameters: &[Value], now: Now) -> Result<Step, Error> {
        self.check_not_failed(pid, &prepared.statement)?;
        // The lock that it waited for may be its own by now.
        let waited = self.sessions.get_mut(&pid).and_then(|session| session.waiting.take());
        let granted = waited.filter(|waiting| waiting.scope != Scope::Glance).map(|waiting| waiting.key);
        let mut run = Run { pid, parameters, now, granted };
        match self.statement(&mut run, &prepared.statement) {
            Ok(answer) => Ok(Step::Done(answer)),
            Err(Stop::Wait) => Ok(Step::Wait),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn statement(&mut self, run: &mut Run, statement: &Statement) -> Result<Answer, Stop> {
        match statement {
            Statement::Empty => Ok(Answer::default()),
            Statement::Begin => Ok(self.begin_block(run.pid)),
            Statement::Commit => Ok(self.end_block(run.pid, true)),
            Statement::Rollback => Ok(self.end_block(run.pid, false)),
            Statement::Set { name, value, local } => {
                let reported = self.set(run.pid, name, value.as_deref(), *local)?;
                let mut answer = Answer { reported, ..Answer::tagged("SET") };
                if *local && self.transaction(run.pid).is_none_or(|transaction| !transaction.is_block) {
                    let why = "SET LOCAL can only be used in transaction blocks".to_owned();
                    answer.notices.push(("WARNING", "25P01", why));
                }
                Ok(answer)
            }
            Statement::Show(name) => {
                let value = self.settings(run.pid).show(name)?;
                Ok(Answer { rows: vec![vec![Value::Text(value)]], ..Answer::tagged("SHOW") })
            }
            Statement::Select(select) if select.table.is_none() => self.call(run, select),
            Statement::Select(select) => self.select(run, select),
            Statement::Insert(insert) => self.insert(run, insert),
            Statement::Update(update) => self.update(run, update),
            Statement::Delete(delete) => self.delete(run, delete),
            Statement::Create(create) => Ok(self.create(create)?),
        }
    }

    fn transaction(&self, pid: Pid) -> Option<&Transaction> {
        self.sessions.get(&pid)?.transaction.as_ref()
    }

    /// `SELECT` without a table: clocks, sessions and locks.
    fn call(&mut self, run: &mut Run, select: &super::sql::Select) -> Result<Answer, Stop> {
        let (parameters, clock) = (run.parameters, timestamp(run.now.wall));
        let began = self.transaction(run.pid).map_or(clock, |transaction| transaction.began);
        let context = super::evaluate::Context { row: &[], excluded: &[], parameters, rows: &[], began, clock };
        let mut answer = Answer::tagged("SELECT 1");
        if !context.holds(select.condition.as_ref())? {
            return Ok(Answer::tagged("SELECT 0"));
        }
        let mut row = Vec::new();
        for output in &select.outputs {
            if let Output::One(expression, _) = output {
                let mut call = |name: &str, arguments: &[Value]| self.function(run, name, arguments, &mut answer);
                row.push(context.evaluate(expression, &mut call)?);
            }
        }
        answer.rows.push(row);
        Ok(answer)
    }

    fn function(&mut self, run: &mut Run, name: &str, values: &[Value], out: &mut Answer) -> Result<Value, Stop> {
        let pid = run.pid;
        match (name, values) {
            ("pg_backend_pid", _) => Ok(Value::Int4(pid)),
            ("pg_terminate_backend", [Value::Int4(other)]) => {
                let found = self.terminate(*other);
                if !found {
                    let why = format!("PID {other} is not a PostgreSQL backend process");
                    out.notices.push(("WARNING", "01000", why));
                }
                Ok(Value::Bool(found))
            }
            ("pg_try_advisory_lock", [Value::Int8(key)]) => {
                Ok(Value::Bool(self.locks.take(pid, &Key::Advisory(*key), Scope::Session)))
            }
            ("pg_try_advisory_xact_lock", [Value::Int8(key)]) => {
                Ok(Value::Bool(self.locks.take(pid, &Key::Advisory(*key), Scope::Transaction)))
            }
            ("pg_advisory_lock", [Value::Int8(key)]) => {
                self.acquire(run, Key::Advisory(*key), Scope::Session)?;
                Ok(Value::Void)
            }
            ("pg_advisory_xact_lock", [Value::Int8(key)]) => {
                self.acquire(run, Key::Advisory(*key), Scope::Transaction)?;
                Ok(Value::Void)
            }
            ("pg_advisory_unlock", [Value::Int8(key)]) => {
                let had = self.locks.give_back(pid, &Key::Advisory(*key), &mut self.woken);
                if !had {
                    let why = "you don't own a lock of type ExclusiveLock".to_owned();
                    out.notices.push(("WARNING", "01000", why));
                }
                Ok(Value::Bool(had))
            }
            ("pg_advisory_unlock_all", _) => {
                self.locks.give_all_back(pid, Scope::Session, &mut self.woken);
                Ok(Value::Void)
            }
            ("set_config", [Value::Text(name), Value::Text(value), Value::Bool(local)]) => {
                out.reported = self.set(pid, name, Some(value), *local)?;
                Ok(Value::Text(value.clone()))
            }
            _ => Err(Stop::Error(Error::unsupported(format!("{name} of these")))),
        }
    }

    /// Takes a lock, or waits for it.
    fn acquire(&mut self, run: &mut Run, key: Key, scope: Scope) -> Result<(), Stop> {
        if run.granted.take_if(|granted| *granted == key).is_some() || self.locks.take(run.pid, &key, scope) {
            return Ok(());
        }
        protocols::mark!("postgres server: a statement waits for a lock");
        self.locks.wait(run.pid, &key, scope);
        if let Some(session) = self.sessions.get_mut(&run.pid) {
            session.waiting = Some(Waiting { key, scope, since: run.now.mono, looked_for_deadlock: false });
        }
        Err(Stop::Wait)
    }
}

/// A statement in execution.
struct Run<'a> {
    pid: Pid,
    parameters: &'a [Value],
    now: Now,
    /// The lock that it waited for and got.
    granted: Option<Key>,
}
