//! Aggregates, choices between values, and the order and number of rows.

use super::{
    super::{
        error::Error,
        sql::{Aggregate, Choice, Expression, Output},
        value::Type,
    },
    scope::{Aggregates, Scope},
};

impl Scope<'_> {
    /// Refuses columns beside aggregates, and what has no meaning beside them.
    pub(super) fn is_aggregated(&self, outputs: &[Output], ordered_or_locked: bool) -> Result<(), Error> {
        let expressions = || outputs.iter().filter_map(Output::expression);
        if !expressions().any(Expression::aggregates) {
            return Ok(());
        }
        let every = outputs.iter().any(|output| matches!(output, Output::All)).then_some(0);
        if let Some((place, table)) = every.or_else(|| expressions().find_map(Expression::bare_column)).zip(self.table)
        {
            let (table, column) = (&table.name, &table.columns[place].name);
            let why = format!(
                "column \"{table}.{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
            );
            return Err(Error::new("42803", why));
        }
        match (self.table, ordered_or_locked) {
            (None, _) => Err(Error::unsupported("aggregates without a table")),
            (_, true) => Err(Error::unsupported("ORDER BY or FOR UPDATE beside aggregates")),
            (_, false) => Ok(()),
        }
    }

    pub(super) fn aggregate(
        &mut self,
        aggregate: Aggregate,
        of: Option<Box<Expression>>,
    ) -> Result<(Expression, Option<Type>), Error> {
        match std::mem::replace(&mut self.aggregates, Aggregates::Nested) {
            Aggregates::Allowed => {}
            Aggregates::Nested => return Err(Error::new("42803", "aggregate function calls cannot be nested")),
            Aggregates::Refused(clause) => {
                return Err(Error::new("42803", format!("aggregate functions are not allowed in {clause}")));
            }
        }
        let (of, from) = match of {
            None => (None, None),
            Some(of) => {
                let (of, from) = self.typed(*of, None)?;
                (Some(Box::new(of)), from)
            }
        };
        self.aggregates = Aggregates::Allowed;
        let gives = match (aggregate, from) {
            (Aggregate::Count, _) => Type::Int8,
            (Aggregate::Sum, Some(Type::Int4)) => Type::Int8,
            (Aggregate::Sum, Some(Type::Int8)) => return Err(Error::unsupported("sum of bigint, which is numeric")),
            (Aggregate::Max | Aggregate::Min, Some(of)) if !matches!(of, Type::Bool | Type::Void) => of,
            (_, from) => {
                let (name, from) = (aggregate.name(), from.unwrap_or(Type::Text).name());
                return Err(Error::new("42883", format!("function {name}({from}) does not exist")));
            }
        };
        Ok((Expression::Aggregate(aggregate, of), Some(gives)))
    }

    /// `COALESCE` and the like: all values get the first known type that fits.
    pub(super) fn choice(
        &mut self,
        choice: Choice,
        values: Vec<Expression>,
        wanted: Option<Type>,
    ) -> Result<(Expression, Option<Type>), Error> {
        let mut common = None;
        for value in &values {
            // What is open takes the type of the others; a look at the others changes nothing.
            let is_open = matches!(value, Expression::Quoted(_) | Expression::Parameter(_));
            let of = if is_open { None } else { self.typed(value.clone(), None)?.1 };
            common = match (common, of) {
                (None, of) | (of, None) => of,
                (Some(a), Some(b)) if a == b => Some(a),
                (Some(Type::Int4 | Type::Int8), Some(Type::Int4 | Type::Int8)) => Some(Type::Int8),
                (Some(a), Some(b)) => {
                    let (choice, a, b) = (choice.name().to_uppercase(), a.name(), b.name());
                    return Err(Error::new("42804", format!("{choice} types {a} and {b} cannot be matched")));
                }
            };
        }
        let of = common.or(wanted).unwrap_or(Type::Text);
        let mut typed = Vec::new();
        for value in values {
            typed.push(match self.typed(value, Some(of))? {
                (value, Some(from)) if from != of => Expression::Cast(Box::new(value), of),
                (value, _) => value,
            });
        }
        Ok((Expression::Of(choice, typed), Some(of)))
    }

    pub(super) fn order(&mut self, order: Vec<(Expression, bool)>) -> Result<Vec<(Expression, bool)>, Error> {
        let mut keys = Vec::new();
        for (key, down) in order {
            if matches!(key, Expression::Constant(_) | Expression::Quoted(_)) {
                return Err(Error::unsupported("ORDER BY a constant or a column's number"));
            }
            keys.push((self.typed(key, None)?.0, down));
        }
        Ok(keys)
    }

    pub(super) fn limit(&mut self, limit: Expression) -> Result<Expression, Error> {
        let (limit, of) = self.typed(limit, Some(Type::Int8))?;
        if limit.bare_column().is_some() {
            return Err(Error::new("42P10", "argument of LIMIT must not contain variables"));
        }
        match of {
            None | Some(Type::Int8) => Ok(limit),
            Some(Type::Int4) => Ok(Expression::Cast(Box::new(limit), Type::Int8)),
            Some(of) => {
                let why = format!("argument of LIMIT must be type bigint, not type {}", of.name());
                Err(Error::new("42804", why))
            }
        }
    }
}
