//! Resolves a statement before execution: the columns it names, and all types. Untyped literals, and parameters without
//! a given type, take the type that their context requires.

mod aggregate;
mod insert;
mod scope;

pub use scope::Tables;

use super::{error::Error, sql::Statement, value::Type};
use scope::{Aggregates, Scope};

/// A statement ready for execution.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    pub statement: Statement,
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// The columns of its rows, if it returns any.
    pub columns: Option<Vec<(String, Type)>>,
}

/// Resolves a statement; `given` has the types of some parameters.
///
/// # Errors
/// A table or column does not exist, types do not match, or something is not supported.
pub fn analyse(statement: Statement, given: &[Option<Type>], tables: Tables<'_>) -> Result<Prepared, Error> {
    let (parameters, aggregates) = (given.to_vec(), Aggregates::Refused("this place"));
    let mut scope = Scope { table: None, excluded: false, aggregates, parameters };
    let (statement, columns) = match statement {
        Statement::Select(select) => {
            let (select, columns) = scope.select(select, &[], tables)?;
            (Statement::Select(select), Some(columns))
        }
        Statement::Insert(insert) => scope.insert(insert, tables)?,
        Statement::Update(update) => scope.update(update, tables)?,
        Statement::Delete(delete) => scope.delete(delete, tables)?,
        Statement::Show(name) => {
            let columns = vec![(name.clone(), Type::Text)];
            (Statement::Show(name), Some(columns))
        }
        Statement::Create(create) => (Statement::Create(scope.create(create)?), None),
        other => (other, None),
    };
    // A parameter of undetermined type is text.
    let parameters = scope.parameters.into_iter().map(|of| of.unwrap_or(Type::Text)).collect();
    Ok(Prepared { statement, parameters, columns })
}
