//! Evaluates expressions. A null operand gives null, except for `AND`, `OR` and `IS NULL`.

use super::{
    error::Error,
    sql::{Aggregate, Choice, Expression, Operator},
    value::{Type, Value},
};

/// The values that an expression may refer to.
pub struct Context<'a> {
    pub row: &'a [Value],
    /// The row that was to be inserted.
    pub excluded: &'a [Value],
    pub parameters: &'a [Value],
    /// What aggregates are computed of.
    pub rows: &'a [Vec<Value>],
    /// When the transaction began, and the current time, in microseconds since 2000.
    pub began: i64,
    pub clock: i64,
}

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    Error(Error),
    /// The session has to wait for a lock.
    Wait,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// Calls functions of sessions and locks.
pub type Call<'a> = &'a mut dyn FnMut(&str, &[Value]) -> Result<Value, Stop>;

impl Context<'_> {
    /// The value of an expression that calls no functions of sessions or locks.
    pub fn value(&self, expression: &Expression) -> Result<Value, Error> {
        let mut none = |name: &str, _: &[Value]| Err(Stop::Error(Error::unsupported(format!("{name} in this place"))));
        self.evaluate(expression, &mut none).map_err(|stop| match stop {
            Stop::Error(error) => error,
            Stop::Wait => Error::unsupported("waiting in this place"),
        })
    }

    /// Whether a condition is true; `None` is always true.
    pub fn holds(&self, condition: Option<&Expression>) -> Result<bool, Error> {
        condition.map_or(Ok(true), |condition| Ok(self.value(condition)? == Value::Bool(true)))
    }

    pub fn evaluate(&self, expression: &Expression, call: Call) -> Result<Value, Stop> {
        let missing = || Stop::Error(Error::new("XX000", "a column of no row"));
        Ok(match expression {
            Expression::Constant(value) => value.clone(),
            Expression::Quoted(text) => Value::Text(text.clone()),
            Expression::Parameter(place) => self.parameters.get(*place).cloned().ok_or_else(missing)?,
            Expression::Column { .. } => return Err(missing()),
            Expression::Field { excluded, place } => {
                let row = if *excluded { self.excluded } else { self.row };
                row.get(*place).cloned().ok_or_else(missing)?
            }
            Expression::Cast(inner, to) => cast(self.evaluate(inner, call)?, *to)?,
            Expression::Call(name, arguments) => self.call(name, arguments, call)?,
            Expression::Of(choice, values) => {
                let values = values.iter().map(|value| self.evaluate(value, call)).collect::<Result<Vec<_>, _>>()?;
                chosen(*choice, values)
            }
            Expression::Aggregate(aggregate, of) => self.aggregate(*aggregate, of.as_deref(), call)?,
            Expression::Not(inner) => match self.evaluate(inner, call)? {
                Value::Bool(yes) => Value::Bool(!yes),
                _ => Value::Null,
            },
            Expression::IsNull(inner, not) => Value::Bool((self.evaluate(inner, call)? == Value::Null) != *not),
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.evaluate(left, call)?, self.evaluate(right, call)?);
                binary(*operator, left, right)?
            }
        })
    }

    fn aggregate(&self, aggregate: Aggregate, of: Option<&Expression>, call: Call) -> Result<Value, Stop> {
        let mut values = Vec::new();
        for row in self.rows {
            let value = match of {
                Some(of) => Context { row, ..*self }.evaluate(of, call)?,
                None => Value::Bool(true),
            };
            values.extend((value != Value::Null).then_some(value));
        }
        Ok(match aggregate {
            Aggregate::Count => Value::Int8(values.len() as i64),
            Aggregate::Max => values.into_iter().max().unwrap_or(Value::Null),
            Aggregate::Min => values.into_iter().min().unwrap_or(Value::Null),
            Aggregate::Sum if values.is_empty() => Value::Null,
            Aggregate::Sum => Value::Int8(values.iter().filter_map(widened).sum()),
        })
    }

    fn call(&self, name: &str, arguments: &[Expression], call: Call) -> Result<Value, Stop> {
        match name {
            "now" | "current_timestamp" | "transaction_timestamp" => Ok(Value::Timestamptz(self.began)),
            "clock_timestamp" => Ok(Value::Timestamptz(self.clock)),
            _ => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(self.evaluate(argument, call)?);
                }
                // All these functions are strict.
                if values.contains(&Value::Null) && name != "set_config" {
                    return Ok(Value::Null);
                }
                call(name, &values)
            }
        }
    }
}

fn chosen(choice: Choice, values: Vec<Value>) -> Value {
    let mut known = values.into_iter().filter(|value| *value != Value::Null);
    let value = match choice {
        Choice::Coalesce => known.next(),
        Choice::Greatest => known.max(),
        Choice::Least => known.min(),
    };
    value.unwrap_or(Value::Null)
}

fn cast(value: Value, to: Type) -> Result<Value, Error> {
    let out_of_range = || Error::new("22003", "integer out of range");
    Ok(match (value, to) {
        (Value::Null, _) => Value::Null,
        (value, to) if value.of() == Some(to) => value,
        (Value::Int4(number), Type::Int8) => Value::Int8(number.into()),
        (Value::Int8(number), Type::Int4) => Value::Int4(i32::try_from(number).map_err(|_| out_of_range())?),
        (Value::Int4(number), Type::Bool) => Value::Bool(number != 0),
        (Value::Bool(yes), Type::Text) => Value::Text(yes.to_string()),
        (value, Type::Text) => Value::Text(value.text()),
        (Value::Text(text), to) => to.read(&text)?,
        (_, to) => return Err(Error::unsupported(format!("this cast to {}", to.name()))),
    })
}

/// Applies an operator.
pub fn binary(operator: Operator, left: Value, right: Value) -> Result<Value, Error> {
    match (operator, &left, &right) {
        (Operator::And, Value::Bool(false), _) | (Operator::And, _, Value::Bool(false)) => {
            return Ok(Value::Bool(false));
        }
        (Operator::Or, Value::Bool(true), _) | (Operator::Or, _, Value::Bool(true)) => return Ok(Value::Bool(true)),
        (_, Value::Null, _) | (_, _, Value::Null) => return Ok(Value::Null),
        (Operator::And | Operator::Or, _, _) => return Ok(Value::Bool(operator == Operator::And)),
        _ => {}
    }
    let small = matches!((&left, &right), (Value::Int4(_), Value::Int4(_)));
    let compared = |holds: fn(std::cmp::Ordering) -> bool| {
        let (left, right) = match (widened(&left), widened(&right)) {
            (Some(left), Some(right)) => (Value::Int8(left), Value::Int8(right)),
            _ => (left.clone(), right.clone()),
        };
        Ok(Value::Bool(holds(left.cmp(&right))))
    };
    match operator {
        Operator::Equal => compared(std::cmp::Ordering::is_eq),
        Operator::Unequal => compared(std::cmp::Ordering::is_ne),
        Operator::Less => compared(std::cmp::Ordering::is_lt),
        Operator::LessOrEqual => compared(std::cmp::Ordering::is_le),
        Operator::Greater => compared(std::cmp::Ordering::is_gt),
        Operator::GreaterOrEqual => compared(std::cmp::Ordering::is_ge),
        _ => arithmetic(operator, &left, &right, small),
    }
}

fn widened(value: &Value) -> Option<i64> {
    match value {
        Value::Int4(number) => Some((*number).into()),
        Value::Int8(number) => Some(*number),
        _ => None,
    }
}

fn arithmetic(operator: Operator, left: &Value, right: &Value, small: bool) -> Result<Value, Error> {
    let raw = |value: &Value| match value {
        Value::Timestamptz(number) | Value::Interval(number) => *number,
        other => widened(other).unwrap_or_default(),
    };
    let of = match (left, right) {
        (Value::Timestamptz(_), _) | (_, Value::Timestamptz(_)) => Type::Timestamptz,
        (Value::Interval(_), _) | (_, Value::Interval(_)) => Type::Interval,
        _ if small => Type::Int4,
        _ => Type::Int8,
    };
    let (a, b) = (raw(left), raw(right));
    let number = match operator {
        Operator::Plus => a.checked_add(b),
        Operator::Minus => a.checked_sub(b),
        _ => a.checked_mul(b),
    };
    let out_of_range = || match of {
        Type::Timestamptz => Error::new("22008", "timestamp out of range"),
        Type::Interval => Error::new("22008", "interval out of range"),
        of => Error::new("22003", format!("{} out of range", of.name())),
    };
    let number = number.ok_or_else(out_of_range)?;
    Ok(match of {
        Type::Timestamptz => Value::Timestamptz(number),
        Type::Interval => Value::Interval(number),
        Type::Int4 => Value::Int4(i32::try_from(number).map_err(|_| out_of_range())?),
        _ => Value::Int8(number),
    })
}
