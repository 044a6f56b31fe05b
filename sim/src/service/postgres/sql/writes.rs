//! `INSERT`, `UPDATE` and `DELETE`.

use super::{
    super::error::Error,
    lexer::Token,
    parser::Parser,
    statement::{Conflict, Delete, Expression, Insert, Statement, Update},
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
        if self.eat_word("values") || self.eat_word("default") || self.eat_word("select") {
            return Err(Error::unsupported("INSERT without the names of its columns"));
        }
        let columns = self.names()?;
        self.word("values")?;
        self.sign("(")?;
        let mut values = vec![self.expression()?];
        while self.eat(",") {
            values.push(self.expression()?);
        }
        self.sign(")")?;
        if self.eat(",") {
            return Err(Error::unsupported("INSERT of more than one row"));
        }
        let on_conflict = if self.eat_words(&["on", "conflict"]) { Some(self.conflict()?) } else { None };
        let returning = self.returning()?;
        Ok(Statement::Insert(Insert { table, columns, values, on_conflict, returning }))
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
