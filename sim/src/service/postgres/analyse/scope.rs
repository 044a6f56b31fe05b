//! What a statement's expressions may name, and the types of its parameters.

use super::super::{
    error::Error,
    evaluate::binary,
    shape::Shape,
    sql::{Delete, Expression, Operator, Output, Select, Statement, Update},
    value::{Type, Value},
};
use crate::service::postgres::shape::{self, Signature};

/// Looks up tables by name.
pub type Tables<'a> = &'a dyn Fn(&str) -> Option<&'a Shape>;

/// Whether an aggregate may stand in some place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aggregates {
    Allowed,
    /// It is within another one.
    Nested,
    /// It is in this clause.
    Refused(&'static str),
}

pub(super) type Columns = Option<Heading>;
/// Column names and types.
pub(super) type Heading = Vec<(String, Type)>;

pub(super) struct Scope<'a> {
    pub(super) table: Option<&'a Shape>,
    pub(super) excluded: bool,
    pub(super) aggregates: Aggregates,
    pub(super) parameters: Vec<Option<Type>>,
}

impl<'a> Scope<'a> {
    pub(super) fn open(&mut self, name: &str, tables: Tables<'a>) -> Result<&'a Shape, Error> {
        let table = tables(name).ok_or_else(|| Error::new("42P01", format!("relation \"{name}\" does not exist")))?;
        self.table = Some(table);
        Ok(table)
    }

    /// A `SELECT` whose columns shall have these types, as far as that is open.
    pub(super) fn select(
        &mut self,
        select: Select,
        wanted: &[Type],
        tables: Tables<'a>,
    ) -> Result<(Select, Heading), Error> {
        if let Some(name) = &select.table {
            self.open(name, tables)?;
        }
        self.aggregates = Aggregates::Allowed;
        let (outputs, columns) = self.outputs(select.outputs, wanted)?;
        self.aggregates = Aggregates::Refused("this place");
        let condition = self.condition(select.condition, "WHERE")?;
        let order = self.order(select.order)?;
        let limit = select.limit.map(|limit| self.limit(limit)).transpose()?;
        self.is_aggregated(&outputs, !order.is_empty() || select.locking.is_some())?;
        let asked = outputs.iter().map(|output| match output {
            Output::One(expression, _) => shape::of_sessions(expression),
            Output::All => 0,
        });
        let asked: usize = asked.sum();
        if condition.as_ref().is_some_and(|c| shape::of_sessions(c) > 0) || (asked > 0 && self.table.is_some()) {
            return Err(Error::unsupported("functions of sessions and locks beside a table"));
        }
        if asked > 1 {
            return Err(Error::unsupported("more than one function of sessions and locks in a statement"));
        }
        Ok((Select { outputs, condition, order, limit, ..select }, columns))
    }

    pub(super) fn update(&mut self, update: Update, tables: Tables<'a>) -> Result<(Statement, Columns), Error> {
        let table = self.open(&update.table, tables)?;
        let set = self.assignments(table, update.set)?;
        let condition = self.condition(update.condition, "WHERE")?;
        let (returning, columns) = self.returning(update.returning)?;
        Ok((Statement::Update(Update { set, condition, returning, ..update }), columns))
    }

    pub(super) fn delete(&mut self, delete: Delete, tables: Tables<'a>) -> Result<(Statement, Columns), Error> {
        self.open(&delete.table, tables)?;
        let condition = self.condition(delete.condition, "WHERE")?;
        let (returning, columns) = self.returning(delete.returning)?;
        Ok((Statement::Delete(Delete { condition, returning, ..delete }), columns))
    }

    pub(super) fn assignments(
        &mut self,
        table: &Shape,
        set: Vec<(String, Expression)>,
    ) -> Result<Vec<(String, Expression)>, Error> {
        let mut assigned = Vec::new();
        for (column, value) in set {
            if table.place(&column)? == table.key {
                return Err(Error::unsupported("changing a primary key"));
            }
            let value = self.assigned(table, &column, value)?;
            assigned.push((column, value));
        }
        Ok(assigned)
    }

    /// A value assigned to a column.
    pub(super) fn assigned(&mut self, table: &Shape, column: &str, value: Expression) -> Result<Expression, Error> {
        let wanted = table.columns[table.place(column)?].of;
        let (value, of) = self.typed(value, Some(wanted))?;
        match of {
            None => Ok(value),
            Some(of) if of == wanted => Ok(value),
            Some(of) if can_assign(of, wanted) => Ok(Expression::Cast(Box::new(value), wanted)),
            Some(of) => {
                let (wanted, of) = (wanted.name(), of.name());
                let why = format!("column \"{column}\" is of type {wanted} but expression is of type {of}");
                Err(Error::new("42804", why))
            }
        }
    }

    pub(super) fn condition(
        &mut self,
        condition: Option<Expression>,
        place: &'static str,
    ) -> Result<Option<Expression>, Error> {
        let before = std::mem::replace(&mut self.aggregates, Aggregates::Refused(place));
        let condition = condition.map(|condition| self.boolean(condition, place)).transpose();
        self.aggregates = before;
        condition
    }

    pub(super) fn boolean(&mut self, expression: Expression, place: &str) -> Result<Expression, Error> {
        match self.typed(expression, Some(Type::Bool))? {
            (expression, Some(Type::Bool) | None) => Ok(expression),
            (_, Some(of)) => {
                let why = format!("argument of {place} must be type boolean, not type {}", of.name());
                Err(Error::new("42804", why))
            }
        }
    }

    pub(super) fn returning(&mut self, outputs: Vec<Output>) -> Result<(Vec<Output>, Columns), Error> {
        if outputs.is_empty() {
            return Ok((outputs, None));
        }
        let (outputs, columns) = self.outputs(outputs, &[])?;
        Ok((outputs, Some(columns)))
    }

    pub(super) fn outputs(&mut self, outputs: Vec<Output>, wanted: &[Type]) -> Result<(Vec<Output>, Heading), Error> {
        let (mut found, mut columns) = (Vec::new(), Vec::new());
        for output in outputs {
            match output {
                Output::All => {
                    let why = || Error::new("42601", "SELECT * with no tables specified is not valid");
                    let table = self.table.ok_or_else(why)?;
                    columns.extend(table.columns.iter().map(|column| (column.name.clone(), column.of)));
                    found.push(Output::All);
                }
                Output::One(expression, name) => {
                    let name = name.unwrap_or_else(|| name_of(&expression));
                    let (expression, of) = self.typed(expression, wanted.get(columns.len()).copied())?;
                    columns.push((name, of.unwrap_or(Type::Text)));
                    found.push(Output::One(expression, None));
                }
            }
        }
        Ok((found, columns))
    }

    /// The expression with columns resolved, and its type; `None` if it fits any.
    pub(super) fn typed(
        &mut self,
        expression: Expression,
        wanted: Option<Type>,
    ) -> Result<(Expression, Option<Type>), Error> {
        Ok(match expression {
            Expression::Constant(value) => {
                let of = value.of();
                (Expression::Constant(value), of)
            }
            Expression::Quoted(text) => {
                let of = wanted.unwrap_or(Type::Text);
                (Expression::Constant(of.read(&text)?), Some(of))
            }
            Expression::Parameter(place) => {
                if self.parameters.len() <= place {
                    self.parameters.resize(place + 1, None);
                }
                let of = self.parameters[place].or(wanted);
                self.parameters[place] = of;
                (Expression::Parameter(place), of)
            }
            Expression::Column { excluded, table, name } => self.column(excluded, table.as_deref(), &name)?,
            Expression::Field { .. } => return Err(Error::unsupported("statements that were prepared twice")),
            Expression::Cast(inner, to) => {
                let (inner, of) = self.typed(*inner, Some(to))?;
                match of {
                    Some(of) if of != to && !can_cast(of, to) => {
                        let why = format!("cannot cast type {} to {}", of.name(), to.name());
                        return Err(Error::new("42846", why));
                    }
                    _ => (Expression::Cast(Box::new(inner), to), Some(to)),
                }
            }
            Expression::Call(name, arguments) => self.call(name, arguments)?,
            Expression::Of(choice, values) => self.choice(choice, values, wanted)?,
            Expression::Aggregate(aggregate, of) => self.aggregate(aggregate, of)?,
            Expression::Not(inner) => (Expression::Not(Box::new(self.boolean(*inner, "NOT")?)), Some(Type::Bool)),
            Expression::IsNull(inner, not) => {
                (Expression::IsNull(Box::new(self.typed(*inner, None)?.0), not), Some(Type::Bool))
            }
            Expression::Binary(operator @ (Operator::And | Operator::Or), left, right) => {
                let (left, right) = (self.boolean(*left, operator.text())?, self.boolean(*right, operator.text())?);
                (Expression::Binary(operator, Box::new(left), Box::new(right)), Some(Type::Bool))
            }
            Expression::Binary(operator, left, right) => self.binary(operator, *left, *right)?,
        })
    }

    fn column(&self, excluded: bool, table: Option<&str>, name: &str) -> Result<(Expression, Option<Type>), Error> {
        let missing = |table: &str| Error::new("42P01", format!("missing FROM-clause entry for table \"{table}\""));
        if excluded && !self.excluded {
            return Err(missing("excluded"));
        }
        let none = || Error::new("42703", format!("column \"{name}\" does not exist"));
        let of = self.table.ok_or_else(|| table.map_or_else(none, missing))?;
        if table.is_some_and(|table| table != of.name) {
            return Err(missing(table.unwrap_or_default()));
        }
        let qualified = table.or(excluded.then_some("excluded"));
        let none = || match qualified {
            Some(table) => Error::new("42703", format!("column {table}.{name} does not exist")),
            None => none(),
        };
        // When `excluded` is in scope, a bare name is ambiguous.
        if self.excluded && qualified.is_none() && of.place(name).is_ok() {
            return Err(Error::new("42702", format!("column reference \"{name}\" is ambiguous")));
        }
        let place = of.place(name).map_err(|_| none())?;
        Ok((Expression::Field { excluded, place }, Some(of.columns[place].of)))
    }

    fn call(&mut self, name: String, arguments: Vec<Expression>) -> Result<(Expression, Option<Type>), Error> {
        let Signature { takes, gives } = shape::signature(&name, arguments.len())?;
        let mut typed = Vec::new();
        for (argument, wanted) in arguments.into_iter().zip(takes) {
            let (argument, of) = self.typed(argument, Some(*wanted))?;
            typed.push(match of {
                Some(of) if of == *wanted => argument,
                None => argument,
                Some(Type::Int4) if *wanted == Type::Int8 => Expression::Cast(Box::new(argument), Type::Int8),
                Some(of) => {
                    let why = format!("function {name}({}) does not exist", of.name());
                    return Err(Error::new("42883", why));
                }
            });
        }
        Ok((Expression::Call(name, typed), Some(gives)))
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: Expression,
        right: Expression,
    ) -> Result<(Expression, Option<Type>), Error> {
        // The side with a known type determines the other's.
        let open = |scope: &Self, e: &Expression| match e {
            Expression::Quoted(_) | Expression::Constant(Value::Null) => true,
            Expression::Parameter(place) => scope.parameters.get(*place).copied().flatten().is_none(),
            _ => false,
        };
        let wanted = |of: Option<Type>| of.filter(|of| *of != Type::Interval || operator != Operator::Times);
        let ((left, a), (right, b)) = if open(self, &left) {
            let (right, b) = self.typed(right, None)?;
            (self.typed(left, wanted(b))?, (right, b))
        } else {
            let (left, a) = self.typed(left, None)?;
            let right = self.typed(right, wanted(a))?;
            ((left, a), right)
        };
        let gives = result(operator, a, b)?;
        // Constants are evaluated beforehand, and may overflow even if no row is read.
        if let (Expression::Constant(left), Expression::Constant(right)) = (&left, &right) {
            return Ok((Expression::Constant(binary(operator, left.clone(), right.clone())?), gives));
        }
        Ok((Expression::Binary(operator, Box::new(left), Box::new(right)), gives))
    }
}

/// The result type of an operator.
fn result(operator: Operator, a: Option<Type>, b: Option<Type>) -> Result<Option<Type>, Error> {
    let compares = !matches!(operator, Operator::Plus | Operator::Minus | Operator::Times);
    let (Some(a), Some(b)) = (a, b) else { return Ok(if compares { Some(Type::Bool) } else { a.or(b) }) };
    let are_numbers = |a, b| matches!(a, Type::Int4 | Type::Int8) && matches!(b, Type::Int4 | Type::Int8);
    let of = match operator {
        _ if compares && (a == b || are_numbers(a, b)) => Some(Type::Bool),
        _ if compares => None,
        _ if are_numbers(a, b) => Some(a.max(b)),
        Operator::Times => match (a, b) {
            (Type::Interval, n) | (n, Type::Interval) if are_numbers(n, n) => Some(Type::Interval),
            _ => None,
        },
        _ => match (a, b) {
            (Type::Timestamptz, Type::Interval) => Some(Type::Timestamptz),
            (Type::Interval, Type::Timestamptz) if operator == Operator::Plus => Some(Type::Timestamptz),
            (Type::Interval, Type::Interval) => Some(Type::Interval),
            (Type::Timestamptz, Type::Timestamptz) if operator == Operator::Minus => {
                return Err(Error::unsupported("the time between two times"));
            }
            _ => None,
        },
    };
    let none = || format!("operator does not exist: {} {} {}", a.name(), operator.text(), b.name());
    of.map(Some).ok_or_else(|| Error::new("42883", none()))
}

pub(super) fn can_assign(of: Type, to: Type) -> bool {
    let number = |of| matches!(of, Type::Int4 | Type::Int8);
    (number(of) && number(to)) || (to == Type::Text && of != Type::Void)
}

fn can_cast(of: Type, to: Type) -> bool {
    can_assign(of, to) || (of == Type::Text && to != Type::Void) || (of == Type::Int4 && to == Type::Bool)
}

/// The name of an unnamed column.
fn name_of(expression: &Expression) -> String {
    match expression {
        Expression::Column { name, .. } | Expression::Call(name, _) => name.clone(),
        Expression::Of(choice, _) => choice.name().to_owned(),
        Expression::Aggregate(aggregate, _) => aggregate.name().to_owned(),
        Expression::Cast(inner, to) => match name_of(inner) {
            name if name == "?column?" => match to {
                Type::Bool => "bool",
                Type::Int4 => "int4",
                Type::Int8 => "int8",
                Type::Text => "text",
                Type::Timestamptz => "timestamptz",
                Type::Interval => "interval",
                Type::Void => "void",
            }
            .to_owned(),
            name => name,
        },
        _ => "?column?".to_owned(),
    }
}
