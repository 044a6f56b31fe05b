//! The signatures of functions.

use super::{error::Error, sql::Expression, value::Type};

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
