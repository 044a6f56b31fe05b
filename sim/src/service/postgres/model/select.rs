//! `SELECT` from a table.

use super::{
    super::{
        error::Error,
        evaluate::{Context, Stop},
        sql::{Expression, Locking, Select},
        value::Value,
    },
    Answer, Model, Run,
    rows::Row,
};
use std::cmp::Ordering;

impl Model {
    pub(super) fn select(&mut self, run: &mut Run, select: &Select) -> Result<Answer, Stop> {
        let rows = match select.outputs.iter().filter_map(|output| output.expression()).any(Expression::aggregates) {
            true => self.aggregated(run, select)?,
            false => self.selected(run, select)?,
        };
        Ok(Answer { tag: format!("SELECT {}", rows.len()), rows, ..Answer::default() })
    }

    fn selected(&mut self, run: &mut Run, select: &Select) -> Result<Vec<Row>, Stop> {
        let table = select.table.as_deref().unwrap_or_default();
        let keys = self.matching(run, table, select.condition.as_ref())?;
        let keys = self.ordered(run, table, keys, &select.order)?;
        let most = self.most(run, select.limit.as_ref())?;
        let mut rows = Vec::new();
        for key in keys {
            if rows.len() >= most {
                break;
            }
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
        Ok(rows)
    }

    /// One row of aggregates.
    fn aggregated(&self, run: &Run, select: &Select) -> Result<Vec<Row>, Error> {
        let table = select.table.as_deref().unwrap_or_default();
        let mut rows = Vec::new();
        for key in self.matching(run, table, select.condition.as_ref())? {
            rows.extend(self.seen(run, table, &key)?);
        }
        let context = Context { rows: &rows, ..self.context(run, &[], &[]) };
        let outputs = select.outputs.iter().filter_map(|output| output.expression());
        let row = outputs.map(|output| context.value(output)).collect::<Result<Row, _>>()?;
        Ok(if self.most(run, select.limit.as_ref())? == 0 { Vec::new() } else { vec![row] })
    }

    fn most(&self, run: &Run, limit: Option<&Expression>) -> Result<usize, Error> {
        match limit.map(|limit| self.context(run, &[], &[]).value(limit)).transpose()? {
            Some(Value::Int8(most)) => {
                usize::try_from(most).map_err(|_| Error::new("2201W", "LIMIT must not be negative"))
            }
            _ => Ok(usize::MAX),
        }
    }

    /// Sorts rows; nulls are greater than anything, and equal rows are in the order of their keys.
    fn ordered(
        &self,
        run: &Run,
        table: &str,
        keys: Vec<Value>,
        order: &[(Expression, bool)],
    ) -> Result<Vec<Value>, Error> {
        if order.is_empty() {
            return Ok(keys);
        }
        let mut sorted = Vec::new();
        for key in keys {
            let row = self.seen(run, table, &key)?.unwrap_or_default();
            let context = self.context(run, &row, &[]);
            let values = order.iter().map(|(by, _)| context.value(by)).collect::<Result<Row, _>>()?;
            sorted.push((values, key));
        }
        let compared = |(one, _): &(Row, Value), (other, _): &(Row, Value)| {
            let each = one.iter().zip(other).zip(order).map(|((one, other), (_, down))| {
                let ordering = (*one == Value::Null).cmp(&(*other == Value::Null)).then_with(|| one.cmp(other));
                if *down { ordering.reverse() } else { ordering }
            });
            each.fold(Ordering::Equal, Ordering::then)
        };
        sorted.sort_by(compared);
        Ok(sorted.into_iter().map(|(_, key)| key).collect())
    }
}
