//! `INSERT` and `CREATE TABLE`.

use super::{
    super::{
        error::Error,
        shape::Shape,
        sql::{Conflict, Create, Default, Expression, Insert, Rows, Statement},
        value::Type,
    },
    scope::{Columns, Scope, Tables, can_assign},
};

impl<'a> Scope<'a> {
    pub(super) fn insert(&mut self, insert: Insert, tables: Tables<'a>) -> Result<(Statement, Columns), Error> {
        let table = self.open(&insert.table, tables)?;
        // Neither `VALUES` nor a `SELECT` can refer to the table's columns.
        self.table = None;
        let (columns, rows) = match insert.rows {
            Rows::Values(rows) => self.values(table, insert.columns, rows)?,
            Rows::Select(select) => {
                let columns = named(table, insert.columns, select.outputs.len())?;
                let wanted = types(table, &columns)?;
                let (select, heading) = self.select(*select, &wanted, tables)?;
                check_count(&columns, heading.len())?;
                for ((column, wanted), (_, of)) in columns.iter().zip(&wanted).zip(&heading) {
                    if of != wanted && !can_assign(*of, *wanted) {
                        return Err(mismatch(column, *wanted, *of));
                    }
                }
                (columns, Rows::Select(Box::new(select)))
            }
        };
        let always = |name: &&String| {
            let default = table.place(name).ok().and_then(|place| table.columns[place].default.as_ref());
            matches!(default, Some(Default::Next { always: true }))
        };
        if let Some(column) = columns.iter().find(always) {
            return Err(Error::new("428C9", format!("cannot insert a non-DEFAULT value into column \"{column}\"")));
        }
        self.table = Some(table);
        let on_conflict = insert.on_conflict.map(|conflict| self.conflict(table, conflict)).transpose()?;
        let (returning, heading) = self.returning(insert.returning)?;
        Ok((Statement::Insert(Insert { columns, rows, on_conflict, returning, ..insert }), heading))
    }

    fn values(
        &mut self,
        table: &Shape,
        columns: Vec<String>,
        rows: Vec<Vec<Expression>>,
    ) -> Result<(Vec<String>, Rows), Error> {
        let count = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != count) {
            return Err(Error::new("42601", "VALUES lists must all be the same length"));
        }
        let columns = named(table, columns, count)?;
        check_count(&columns, count)?;
        let mut typed = Vec::new();
        for row in rows {
            let values = columns.iter().zip(row).map(|(column, value)| self.assigned(table, column, value));
            typed.push(values.collect::<Result<Vec<_>, _>>()?);
        }
        Ok((columns, Rows::Values(typed)))
    }

    fn conflict(&mut self, table: &Shape, conflict: Conflict) -> Result<Conflict, Error> {
        Ok(match conflict {
            Conflict::Nothing { key } => {
                key.iter().try_for_each(|key| arbiter(table, key))?;
                Conflict::Nothing { key }
            }
            Conflict::Update { key, set, condition } => {
                arbiter(table, &key)?;
                self.excluded = true;
                let set = self.assignments(table, set)?;
                let condition = self.condition(condition, "WHERE")?;
                self.excluded = false;
                Conflict::Update { key, set, condition }
            }
        })
    }

    pub(super) fn create(&mut self, mut create: Create) -> Result<Create, Error> {
        for (place, column) in create.columns.iter().enumerate() {
            if create.columns[..place].iter().any(|other| other.name == column.name) {
                return Err(Error::new("42701", format!("column \"{}\" specified more than once", column.name)));
            }
        }
        if create.columns.iter().filter(|column| column.primary).count() != 1 {
            return Err(Error::unsupported("tables without a primary key of one column"));
        }
        for column in &mut create.columns {
            match column.default.take() {
                Some(Default::Next { .. }) if !matches!(column.of, Type::Int4 | Type::Int8) => {
                    return Err(Error::new("22023", "identity column type must be smallint, integer, or bigint"));
                }
                Some(Default::Value(value)) => {
                    let (value, of) = self.typed(value, Some(column.of))?;
                    let fits = of.is_none_or(|of| of == column.of || can_assign(of, column.of));
                    if !fits {
                        return Err(mismatch(&column.name, column.of, of.unwrap_or(Type::Void)));
                    }
                    column.default = Some(Default::Value(Expression::Cast(Box::new(value), column.of)));
                }
                other => column.default = other,
            }
        }
        Ok(create)
    }
}

/// The columns that an `INSERT` fills: those that it names, or the first ones.
fn named(table: &Shape, columns: Vec<String>, count: usize) -> Result<Vec<String>, Error> {
    if columns.is_empty() {
        if count > table.columns.len() {
            return Err(Error::new("42601", "INSERT has more expressions than target columns"));
        }
        return Ok(table.columns.iter().take(count).map(|column| column.name.clone()).collect());
    }
    for (place, column) in columns.iter().enumerate() {
        table.place(column)?;
        if columns[..place].contains(column) {
            return Err(Error::new("42701", format!("column \"{column}\" specified more than once")));
        }
    }
    Ok(columns)
}

fn types(table: &Shape, columns: &[String]) -> Result<Vec<Type>, Error> {
    columns.iter().map(|column| Ok(table.columns[table.place(column)?].of)).collect()
}

fn check_count(columns: &[String], values: usize) -> Result<(), Error> {
    match values.cmp(&columns.len()) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Error::new("42601", "INSERT has more expressions than target columns")),
        std::cmp::Ordering::Less => Err(Error::new("42601", "INSERT has more target columns than expressions")),
    }
}

fn mismatch(column: &str, wanted: Type, of: Type) -> Error {
    let (wanted, of) = (wanted.name(), of.name());
    Error::new("42804", format!("column \"{column}\" is of type {wanted} but expression is of type {of}"))
}

/// `ON CONFLICT` supports the primary key only.
fn arbiter(table: &Shape, key: &str) -> Result<(), Error> {
    if table.place(key)? == table.key {
        return Ok(());
    }
    Err(Error::new("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification"))
}
