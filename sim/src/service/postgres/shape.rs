//! The definition of a table.

use super::{
    error::Error,
    sql::{Column, Create},
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
