//! `INSERT`, `UPDATE` and `DELETE`.

use super::{
    super::error::Error,
    lexer::Token,
    parser::Parser,
    statement::{Conflict, Delete, Expression, Insert, Rows, Statement, Update},
};

impl Parser {
    fn assignments(&mut self) -> Result<Vec<(String, Expression)>, Error> {
        self.word("set")?;
        let mut set = Vec::new();
        loop {
            let column = self.name()?;
            self.sign("=")?;
            set.push((column, self.expression()?));
            if !self.eat(",") {
                return Ok(set);
            }
        }
    }

    pub(super) fn insert(&mut self) -> Result<Statement, Error> {
        self.word("into")?;
        let table = self.name()?;
        let columns = if matches!(self.peek(), Some(Token::Sign("("))) { self.names()? } else { Vec::new() };
        let rows = match () {
            () if self.eat_word("default") => return Err(Error::unsupported("INSERT of DEFAULT VALUES")),
            () if self.eat_word("select") => Rows::Select(Box::new(self.select()?)),
            () => {
                self.word("values")?;
                let mut rows = vec![self.row()?];
                while self.eat(",") {
                    rows.push(self.row()?);
                }
                Rows::Values(rows)
            }
        };
        let on_conflict = if self.eat_words(&["on", "conflict"]) { Some(self.conflict()?) } else { None };
        let returning = self.returning()?;
        Ok(Statement::Insert(Insert { table, columns, rows, on_conflict, returning }))
    }

    fn row(&mut self) -> Result<Vec<Expression>, Error> {
        self.sign("(")?;
        let values = self.list()?;
        self.sign(")")?;
        Ok(values)
    }

    fn conflict(&mut self) -> Result<Conflict, Error> {
        let key = match self.peek() {
            Some(Token::Sign("(")) => Some(self.names()?),
            _ => None,
        };
        self.word("do")?;
        if self.eat_word("nothing") {
            return match key.as_deref() {
                None => Ok(Conflict::Nothing { key: None }),
                Some([key]) => Ok(Conflict::Nothing { key: Some(key.clone()) }),
                Some(_) => Err(Error::unsupported("keys of more than one column")),
            };
        }
        self.word("update")?;
        let set = self.assignments()?;
        let condition = self.condition()?;
        match key.as_deref() {
            Some([key]) => Ok(Conflict::Update { key: key.clone(), set, condition }),
            Some(_) => Err(Error::unsupported("keys of more than one column")),
            None => {
                Err(Error::new("42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name"))
            }
        }
    }

    pub(super) fn update(&mut self) -> Result<Statement, Error> {
        let table = self.name()?;
        let set = self.assignments()?;
        let condition = self.condition()?;
        let returning = self.returning()?;
        Ok(Statement::Update(Update { table, set, condition, returning }))
    }

    pub(super) fn delete(&mut self) -> Result<Statement, Error> {
        self.word("from")?;
        let table = self.name()?;
        let condition = self.condition()?;
        let returning = self.returning()?;
        Ok(Statement::Delete(Delete { table, condition, returning }))
    }
}
