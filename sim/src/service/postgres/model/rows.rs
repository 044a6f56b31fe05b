//! Tables, and the statements on their rows. A statement first takes all locks it needs, possibly waiting, and only
//! then changes rows: so a statement that waited can restart.

use super::{
    super::{
        error::Error,
        evaluate::{Context, Stop},
        shape::Shape,
        sql::{Create, Delete, Expression, Output, Update},
        value::{Value, timestamp},
    },
    Answer, Key, Model, Pid, Run, Scope,
};
use std::{collections::BTreeMap, ops::Deref};

pub(super) type Row = Vec<Value>;

#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    shape: Shape,
    rows: BTreeMap<Value, Versions>,
    /// The last number of each column that counts.
    numbers: BTreeMap<usize, i64>,
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
        Table { shape: Shape::new(create), rows: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    /// Commits the session's version of a row, if there is one, and returns what the row was before.
    pub(super) fn commit(&mut self, pid: Pid, key: &Value) -> Option<Option<Row>> {
        let versions = self.rows.get_mut(key)?;
        let (_, row) = versions.pending.take_if(|(of, _)| *of == pid)?;
        let former = std::mem::replace(&mut versions.committed, row);
        self.sweep(key);
        Some(former)
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

    /// The next number of a column that counts. A transaction that is rolled back gives none back.
    pub(super) fn next(&mut self, place: usize) -> i64 {
        let number = self.numbers.entry(place).or_default();
        *number += 1;
        *number
    }

    /// Whether the key is another transaction's to decide.
    pub(super) fn is_in_doubt(&self, key: &Value, pid: Pid) -> bool {
        let versions = self.rows.get(key).and_then(|versions| versions.pending.as_ref());
        versions.is_some_and(|(of, _)| *of != pid)
    }

    pub(super) fn checked(&self, row: Row) -> Result<Row, Error> {
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
    pub(super) fn table(&self, name: &str) -> Result<&Table, Error> {
        let none = || Error::new("42P01", format!("relation \"{name}\" does not exist"));
        self.tables.get(name).ok_or_else(none)
    }

    pub(super) fn context<'a>(&self, run: &Run<'a>, row: &'a [Value], excluded: &'a [Value]) -> Context<'a> {
        let clock = timestamp(run.now.wall);
        let began = self.transaction(run.pid).map_or(clock, |transaction| transaction.began);
        Context { row, excluded, parameters: run.parameters, rows: &[], began, clock }
    }

    pub(super) fn outputs(&self, run: &Run, row: &[Value], outputs: &[Output]) -> Result<Row, Error> {
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
    pub(super) fn matching(&self, run: &Run, table: &str, condition: Option<&Expression>) -> Result<Vec<Value>, Error> {
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

    pub(super) fn lock_row(&mut self, run: &mut Run, table: &str, key: &Value) -> Result<(), Stop> {
        self.acquire(run, Key::Row(table.to_owned(), key.clone()), Scope::Transaction)
    }

    /// Whether another session has locked the row.
    pub(super) fn is_anothers(&self, run: &Run, table: &str, key: &Value) -> bool {
        let lock = Key::Row(table.to_owned(), key.clone());
        self.locks.owner(&lock).is_some_and(|owner| owner != run.pid)
    }

    pub(super) fn seen(&self, run: &Run, table: &str, key: &Value) -> Result<Option<Row>, Error> {
        Ok(self.table(table)?.rows.get(key).and_then(|versions| versions.seen_by(run.pid)).cloned())
    }

    /// Sets the row that this session's transaction sees.
    pub(super) fn put(&mut self, pid: Pid, table: &str, key: &Value, row: Option<Row>) {
        if let Some(of) = self.tables.get_mut(table) {
            of.rows.entry(key.clone()).or_default().pending = Some((pid, row));
        }
        self.touch(pid, table, key);
    }

    /// The row after the assignments.
    pub(super) fn assigned(&self, context: &Context, table: &str, set: &[(String, Expression)]) -> Result<Row, Error> {
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
