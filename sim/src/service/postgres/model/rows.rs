//! Tables, and the statements on their rows. A statement first takes all locks it needs, possibly waiting, and only
//! then changes rows: so a statement that waited can restart.

use super::{
    super::{
        error::Error,
        evaluate::{Context, Stop},
        shape::Shape,
        sql::{Conflict, Create, Delete, Expression, Insert, Locking, Output, Select, Update},
        value::{Value, timestamp},
    },
    Answer, Key, Model, Pid, Run, Scope,
};
use std::{collections::BTreeMap, ops::Deref};

type Row = Vec<Value>;

#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    shape: Shape,
    rows: BTreeMap<Value, Versions>,
}

impl Deref for Table {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        &self.shape
    }
}

#[derive(Clone, PartialEq, Default, Debug)]
struct Versions {
    committed: Option<Row>,
    /// The version of the transaction that changed the row; the inner `None` if it deleted the row.
    pending: Option<(Pid, Option<Row>)>,
}

impl Versions {
    fn seen_by(&self, pid: Pid) -> Option<&Row> {
        match &self.pending {
            Some((of, row)) if *of == pid => row.as_ref(),
            _ => self.committed.as_ref(),
        }
    }
}

impl Table {
    /// An empty table.
    pub fn new(create: &Create) -> Table {
        Table { shape: Shape::new(create), rows: BTreeMap::new() }
    }

    pub(super) fn commit(&mut self, pid: Pid, key: &Value) {
        let Some(versions) = self.rows.get_mut(key) else { return };
        if let Some((_, row)) = versions.pending.take_if(|(of, _)| *of == pid) {
            versions.committed = row;
        }
        self.sweep(key);
    }

    pub(super) fn undo(&mut self, pid: Pid, key: &Value) {
        if let Some(versions) = self.rows.get_mut(key) {
            versions.pending.take_if(|(of, _)| *of == pid);
        }
        self.sweep(key);
    }

    fn sweep(&mut self, key: &Value) {
        if self.rows.get(key).is_some_and(|versions| *versions == Versions::default()) {
            self.rows.remove(key);
        }
    }

    /// The committed row under a key.
    pub(super) fn committed(&self, key: &Value) -> Option<&Row> {
        self.rows.get(key)?.committed.as_ref()
    }

    /// Changes a committed row from outside, ignoring locks.
    pub(super) fn change_committed(&mut self, key: &Value, column: &str, value: Value) {
        let place = self.place(column).ok();
        let row = self.rows.get_mut(key).and_then(|versions| versions.committed.as_mut());
        if let Some(cell) = place.zip(row).and_then(|(place, row)| row.get_mut(place)) {
            *cell = value;
        }
    }

    fn checked(&self, row: Row) -> Result<Row, Error> {
        let null = row.iter().zip(&self.columns).find(|(value, column)| column.not_null && **value == Value::Null);
        match null {
            Some((_, column)) => {
                let (column, table) = (&column.name, &self.name);
                let why =
                    format!("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint");
                Err(Error::new("23502", why))
            }
            None => Ok(row),
        }
    }
}

impl Model {
    fn table(&self, name: &str) -> Result<&Table, Error> {
        let none = || Error::new("42P01", format!("relation \"{name}\" does not exist"));
        self.tables.get(name).ok_or_else(none)
    }

    fn context<'a>(&self, run: &Run<'a>, row: &'a [Value], excluded: &'a [Value]) -> Context<'a> {
        let clock = timestamp(run.now.wall);
        let began = self.transaction(run.pid).map_or(clock, |transaction| transaction.began);
        Context { row, excluded, parameters: run.parameters, began, clock }
    }

    fn outputs(&self, run: &Run, row: &[Value], outputs: &[Output]) -> Result<Row, Error> {
        let context = self.context(run, row, &[]);
        let mut values = Vec::new();
        for output in outputs {
            match output {
                Output::All => values.extend_from_slice(row),
                Output::One(expression, _) => values.push(context.value(expression)?),
            }
        }
        Ok(values)
    }

    /// The keys of the rows that this session sees and that match the condition.
    fn matching(&self, run: &Run, table: &str, condition: Option<&Expression>) -> Result<Vec<Value>, Error> {
        let mut keys = Vec::new();
        for (key, versions) in &self.table(table)?.rows {
            if let Some(row) = versions.seen_by(run.pid)
                && self.context(run, row, &[]).holds(condition)?
            {
                keys.push(key.clone());
            }
        }
        Ok(keys)
    }

    fn lock_row(&mut self, run: &mut Run, table: &str, key: &Value) -> Result<(), Stop> {
        self.acquire(run, Key::Row(table.to_owned(), key.clone()), Scope::Transaction)
    }

    /// Whether another session has locked the row.
    fn is_anothers(&self, run: &Run, table: &str, key: &Value) -> bool {
        let lock = Key::Row(table.to_owned(), key.clone());
        self.locks.owner(&lock).is_some_and(|owner| owner != run.pid)
    }

    fn seen(&self, run: &Run, table: &str, key: &Value) -> Result<Option<Row>, Error> {
        Ok(self.table(table)?.rows.get(key).and_then(|versions| versions.seen_by(run.pid)).cloned())
    }

    /// Sets the row that this session's transaction sees.
    fn put(&mut self, pid: Pid, table: &str, key: &Value, row: Option<Row>) {
        if let Some(of) = self.tables.get_mut(table) {
            of.rows.entry(key.clone()).or_default().pending = Some((pid, row));
        }
        self.touch(pid, table, key);
    }

    pub(super) fn select(&mut self, run: &mut Run, select: &Select) -> Result<Answer, Stop> {
        let table = select.table.as_deref().unwrap_or_default();
        let mut rows = Vec::new();
        for key in self.matching(run, table, select.condition.as_ref())? {
            let is_anothers = select.locking.is_some() && self.is_anothers(run, table, &key);
            // The outputs are evaluated before the row is locked, and again after a wait.
            if is_anothers && let Some(row) = self.seen(run, table, &key)? {
                self.outputs(run, &row, &select.outputs)?;
            }
            match select.locking {
                Some(Locking::NoWait) if is_anothers => {
                    let why = format!("could not obtain lock on row in relation \"{table}\"");
                    return Err(Stop::Error(Error::new("55P03", why)));
                }
                Some(Locking::Skip) if is_anothers => continue,
                Some(_) => self.lock_row(run, table, &key)?,
                None => {}
            }
            if let Some(row) = self.seen(run, table, &key)? {
                rows.push(self.outputs(run, &row, &select.outputs)?);
            }
        }
        Ok(Answer { tag: format!("SELECT {}", rows.len()), rows, ..Answer::default() })
    }

    /// The row after the assignments.
    fn assigned(&self, context: &Context, table: &str, set: &[(String, Expression)]) -> Result<Row, Error> {
        let table = self.table(table)?;
        let mut row = context.row.to_vec();
        for (column, value) in set {
            row[table.place(column)?] = context.value(value)?;
        }
        table.checked(row)
    }

    pub(super) fn update(&mut self, run: &mut Run, update: &Update) -> Result<Answer, Stop> {
        let table = update.table.as_str();
        let keys = self.matching(run, table, update.condition.as_ref())?;
        for key in &keys {
            // The new values are evaluated, and may fail, before the row is locked, and again after a wait
            // (`nodeModifyTable.c: ExecUpdateAct`).
            if self.is_anothers(run, table, key)
                && let Some(row) = self.seen(run, table, key)?
            {
                self.assigned(&self.context(run, &row, &[]), table, &update.set)?;
            }
            self.lock_row(run, table, key)?;
        }
        let (mut rows, mut count) = (Vec::new(), 0_usize);
        for key in keys {
            let Some(row) = self.seen(run, table, &key)? else { continue };
            let row = self.assigned(&self.context(run, &row, &[]), table, &update.set)?;
            if !update.returning.is_empty() {
                rows.push(self.outputs(run, &row, &update.returning)?);
            }
            self.put(run.pid, table, &key, Some(row));
            count += 1;
        }
        Ok(Answer { tag: format!("UPDATE {count}"), rows, ..Answer::default() })
    }

    pub(super) fn delete(&mut self, run: &mut Run, delete: &Delete) -> Result<Answer, Stop> {
        let table = delete.table.as_str();
        let keys = self.matching(run, table, delete.condition.as_ref())?;
        for key in &keys {
            self.lock_row(run, table, key)?;
        }
        let mut rows = Vec::new();
        for key in &keys {
            if let Some(row) = self.seen(run, table, key)?
                && !delete.returning.is_empty()
            {
                rows.push(self.outputs(run, &row, &delete.returning)?);
            }
            self.put(run.pid, table, key, None);
        }
        Ok(Answer { tag: format!("DELETE {}", keys.len()), rows, ..Answer::default() })
    }

    pub(super) fn insert(&mut self, run: &mut Run, insert: &Insert) -> Result<Answer, Stop> {
        let name = insert.table.as_str();
        let table = self.table(name)?;
        let mut row = vec![Value::Null; table.columns.len()];
        for (column, value) in insert.columns.iter().zip(&insert.values) {
            row[table.place(column)?] = self.context(run, &[], &[]).value(value)?;
        }
        let row = table.checked(row)?;
        let key = row[table.key].clone();
        let versions = table.rows.get(&key);
        let in_doubt = versions.and_then(|v| v.pending.as_ref()).is_some_and(|(of, _)| *of != run.pid);
        if in_doubt {
            // Another transaction decides whether the key exists.
            self.acquire(run, Key::Row(name.to_owned(), key.clone()), Scope::Glance)?;
        }
        let is_there = self.seen(run, name, &key)?.is_some();
        let row = match (&insert.on_conflict, is_there) {
            (_, false) => {
                self.lock_row(run, name, &key)?;
                row
            }
            (None, true) => {
                let why = format!("duplicate key value violates unique constraint \"{name}_pkey\"");
                return Err(Stop::Error(Error::new("23505", why)));
            }
            (Some(Conflict::Nothing { .. }), true) => return Ok(Answer::tagged("INSERT 0 0")),
            (Some(Conflict::Update { set, condition, .. }), true) => {
                self.lock_row(run, name, &key)?;
                let old = self.seen(run, name, &key)?.unwrap_or_default();
                let context = self.context(run, &old, &row);
                if !context.holds(condition.as_ref())? {
                    return Ok(Answer::tagged("INSERT 0 0"));
                }
                self.assigned(&context, name, set)?
            }
        };
        let mut answer = Answer::tagged("INSERT 0 1");
        if !insert.returning.is_empty() {
            answer.rows.push(self.outputs(run, &row, &insert.returning)?);
        }
        self.put(run.pid, name, &key, Some(row));
        Ok(answer)
    }

    pub(super) fn create(&mut self, create: &Create) -> Result<Answer, Error> {
        let name = &create.table;
        let mut answer = Answer::tagged("CREATE TABLE");
        if self.tables.contains_key(name) {
            let why = format!("relation \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(Error::new("42P07", why));
            }
            answer.notices.push(("NOTICE", "42P07", format!("{why}, skipping")));
            return Ok(answer);
        }
        self.tables.insert(name.clone(), Table::new(create));
        self.analysed.clear();
        Ok(answer)
    }
}
