//! The definition of a table, and the signatures of functions.

use super::{
    error::Error,
    sql::{Column, Create, Expression},
    value::Type,
};

/// A table with a single-column primary key.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    pub name: String,
    /// In order.
    pub columns: Vec<Column>,
    /// The index of the key column.
    pub key: usize,
}

impl Shape {
    pub fn new(create: &Create) -> Shape {
        let key = create.columns.iter().position(|column| column.primary).unwrap_or(0);
        Shape { name: create.table.clone(), columns: create.columns.clone(), key }
    }

    /// The index of a column.
    ///
    /// # Errors
    /// The column does not exist.
    pub fn place(&self, column: &str) -> Result<usize, Error> {
        let none = || Error::new("42703", format!("column \"{column}\" of relation \"{}\" does not exist", self.name));
        self.columns.iter().position(|known| known.name == column).ok_or_else(none)
    }
}

// The signatures of functions.

#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub takes: &'static [Type],
    pub gives: Type,
}

/// Functions that only read a clock.
const CLOCKS: [&str; 4] = ["now", "current_timestamp", "transaction_timestamp", "clock_timestamp"];

const KEY: &[Type] = &[Type::Int8];

/// Functions of sessions and their locks.
const SESSIONS: [(&str, Signature); 9] = [
    ("pg_backend_pid", Signature { takes: &[], gives: Type::Int4 }),
    ("pg_terminate_backend", Signature { takes: &[Type::Int4], gives: Type::Bool }),
    ("pg_try_advisory_lock", Signature { takes: KEY, gives: Type::Bool }),
    ("pg_advisory_lock", Signature { takes: KEY, gives: Type::Void }),
    ("pg_advisory_unlock", Signature { takes: KEY, gives: Type::Bool }),
    ("pg_advisory_unlock_all", Signature { takes: &[], gives: Type::Void }),
    ("pg_try_advisory_xact_lock", Signature { takes: KEY, gives: Type::Bool }),
    ("pg_advisory_xact_lock", Signature { takes: KEY, gives: Type::Void }),
    ("set_config", Signature { takes: &[Type::Text, Type::Text, Type::Bool], gives: Type::Text }),
];

/// The signature of a function.
///
/// # Errors
/// No such function exists, here or with this many arguments.
pub fn signature(name: &str, arguments: usize) -> Result<Signature, Error> {
    let clock = CLOCKS.contains(&name).then_some(Signature { takes: &[], gives: Type::Timestamptz });
    let found = clock.or_else(|| SESSIONS.iter().find(|(known, _)| *known == name).map(|(_, signature)| *signature));
    match found {
        Some(signature) if signature.takes.len() == arguments => Ok(signature),
        _ => Err(Error::unsupported(format!("the function {name} with {arguments} arguments"))),
    }
}

/// The number of calls to functions of sessions and locks in an expression.
pub fn of_sessions(expression: &Expression) -> usize {
    let is_one = matches!(expression, Expression::Call(name, _) if !CLOCKS.contains(&name.as_str()));
    usize::from(is_one) + expression.parts().into_iter().map(of_sessions).sum::<usize>()
}
