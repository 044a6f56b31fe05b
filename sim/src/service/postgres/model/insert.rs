//! `INSERT`. All rows are completed and their locks taken before the first is written.

use super::{
    super::{
        error::Error,
        evaluate::Stop,
        sql::{Conflict, Default, Insert, Rows},
        value::{Type, Value},
    },
    Answer, Key, Model, Run, Scope,
    rows::Row,
};
use std::collections::BTreeSet;

impl Model {
    pub(super) fn insert(&mut self, run: &mut Run, insert: &Insert) -> Result<Answer, Stop> {
        let mut rows = Vec::new();
        for values in self.given(run, insert)? {
            let row = self.completed(run, insert, values)?;
            self.reserve(run, insert, &row)?;
            rows.push(row);
        }
        let (mut answer, mut count, mut changed) = (Answer::default(), 0_usize, BTreeSet::new());
        for row in rows {
            let Some(row) = self.inserted(run, insert, row, &mut changed)? else { continue };
            count += 1;
            if !insert.returning.is_empty() {
                answer.rows.push(self.outputs(run, &row, &insert.returning)?);
            }
        }
        answer.tag = format!("INSERT 0 {count}");
        Ok(answer)
    }

    /// The values of the named columns.
    fn given(&mut self, run: &mut Run, insert: &Insert) -> Result<Vec<Row>, Stop> {
        let rows = match &insert.rows {
            Rows::Values(rows) => rows,
            Rows::Select(select) if select.table.is_none() => return Ok(self.call(run, select)?.rows),
            Rows::Select(select) => return Ok(self.select(run, select)?.rows),
        };
        let context = self.context(run, &[], &[]);
        let row = |row: &Vec<_>| row.iter().map(|value| context.value(value)).collect::<Result<Row, Error>>();
        Ok(rows.iter().map(row).collect::<Result<_, _>>()?)
    }

    /// The whole row, with what its other columns have by default.
    fn completed(&mut self, run: &Run, insert: &Insert, values: Row) -> Result<Row, Error> {
        let columns = self.table(&insert.table)?.columns.clone();
        let mut row = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let given = insert.columns.iter().position(|name| *name == column.name);
            row.push(match (given.and_then(|given| values.get(given)), &column.default) {
                (Some(value), _) => fitted(value.clone(), column.of)?,
                (None, Some(Default::Value(value))) => self.context(run, &[], &[]).value(value)?,
                (None, Some(Default::Next { .. })) => {
                    let number = self.tables.get_mut(&insert.table).map_or(0, |table| table.next(place));
                    fitted(Value::Int8(number), column.of)?
                }
                (None, None) => Value::Null,
            });
        }
        self.table(&insert.table)?.checked(row)
    }

    /// Takes the locks that the row needs.
    fn reserve(&mut self, run: &mut Run, insert: &Insert, row: &Row) -> Result<(), Stop> {
        let name = insert.table.as_str();
        let table = self.table(name)?;
        let key = row[table.key].clone();
        if table.is_in_doubt(&key, run.pid) {
            // Another transaction decides whether the key exists.
            self.acquire(run, Key::Row(name.to_owned(), key.clone()), Scope::Glance)?;
        }
        match (&insert.on_conflict, self.seen(run, name, &key)?.is_some()) {
            (_, false) | (Some(Conflict::Update { .. }), true) => self.lock_row(run, name, &key),
            (None | Some(Conflict::Nothing { .. }), true) => Ok(()),
        }
    }

    /// Writes a row, and returns it; `None` if it conflicts with one that stays. `changed` are the keys of this statement.
    fn inserted(
        &mut self,
        run: &Run,
        insert: &Insert,
        row: Row,
        changed: &mut BTreeSet<Value>,
    ) -> Result<Option<Row>, Error> {
        let name = insert.table.as_str();
        let key = row[self.table(name)?.key].clone();
        let row = match (&insert.on_conflict, self.seen(run, name, &key)?) {
            (_, None) => row,
            (None, Some(_)) => {
                let why = format!("duplicate key value violates unique constraint \"{name}_pkey\"");
                return Err(Error::new("23505", why));
            }
            (Some(Conflict::Nothing { .. }), Some(_)) => return Ok(None),
            (Some(Conflict::Update { .. }), Some(_)) if changed.contains(&key) => {
                return Err(Error::new("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time"));
            }
            (Some(Conflict::Update { set, condition, .. }), Some(old)) => {
                let context = self.context(run, &old, &row);
                if !context.holds(condition.as_ref())? {
                    return Ok(None);
                }
                self.assigned(&context, name, set)?
            }
        };
        self.put(run.pid, name, &key, Some(row.clone()));
        changed.insert(key);
        Ok(Some(row))
    }
}

/// A number as a column of this type has it.
fn fitted(value: Value, of: Type) -> Result<Value, Error> {
    match (value, of) {
        (Value::Int8(number), Type::Int4) => {
            i32::try_from(number).map(Value::Int4).map_err(|_| Error::new("22003", "integer out of range"))
        }
        (Value::Int4(number), Type::Int8) => Ok(Value::Int8(number.into())),
        (value, Type::Text) if value != Value::Null => Ok(Value::Text(value.text())),
        (value, _) => Ok(value),
    }
}
