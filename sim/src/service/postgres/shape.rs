//! What a table is, apart from its rows.

use super::{
    error::Error,
    sql::{Column, Create},
};

/// A table with a primary key of one column.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Which column is the key.
    pub key: usize,
}

impl Shape {
    /// What is to be created.
    pub fn new(create: &Create) -> Shape {
        let key = create.columns.iter().position(|column| column.primary).unwrap_or(0);
        Shape { name: create.table.clone(), columns: create.columns.clone(), key }
    }

    /// Which column has that name.
    ///
    /// # Errors
    /// None.
    pub fn place(&self, column: &str) -> Result<usize, Error> {
        let none = || Error::new("42703", format!("column \"{column}\" of relation \"{}\" does not exist", self.name));
        self.columns.iter().position(|known| known.name == column).ok_or_else(none)
    }
}
