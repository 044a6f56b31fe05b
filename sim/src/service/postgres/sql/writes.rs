//! `CREATE TABLE`, `INSERT`, `UPDATE` and `DELETE`.

use super::{
    lexer::Token,
    parser::Parser,
    statement::{Column, Conflict, Create, Default, Delete, Expression, Insert, Rows, Statement, Update},
};
use crate::service::postgres::{error::Error, value::Type};

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

// `CREATE TABLE`.

impl Parser {
    pub(super) fn create(&mut self) -> Result<Statement, Error> {
        if !self.eat_word("table") {
            return Err(Error::unsupported("CREATE of anything but a table"));
        }
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let table = self.name()?;
        self.sign("(")?;
        let mut columns = Vec::new();
        loop {
            if ["primary", "unique", "constraint", "check", "foreign", "exclude"].iter().any(|word| self.eat_word(word))
            {
                return Err(Error::unsupported("constraints of tables"));
            }
            columns.push(self.column()?);
            if !self.eat(",") {
                break;
            }
        }
        if matches!(self.peek(), Some(Token::Word { .. })) {
            return Err(Error::unsupported("other constraints of columns than PRIMARY KEY and NOT NULL"));
        }
        self.sign(")")?;
        Ok(Statement::Create(Create { table, if_not_exists, columns }))
    }

    fn column(&mut self) -> Result<Column, Error> {
        let name = self.name()?;
        let counts = |word: &str| match word {
            "bigserial" | "serial8" => Some(Type::Int8),
            "serial" | "serial4" => Some(Type::Int4),
            _ => None,
        };
        let counted = match self.peek() {
            Some(Token::Word { text, quoted: false, .. }) => counts(text),
            _ => None,
        };
        let mut column = match counted {
            Some(of) => {
                self.at += 1;
                Column { name, of, not_null: true, primary: false, default: Some(Default::Next { always: false }) }
            }
            None => Column { name, of: self.of_type()?, not_null: false, primary: false, default: None },
        };
        loop {
            match () {
                () if self.eat_words(&["primary", "key"]) => (column.not_null, column.primary) = (true, true),
                () if self.eat_words(&["not", "null"]) => column.not_null = true,
                () if self.eat_word("null") => {}
                () if self.eat_word("default") => column.default = Some(Default::Value(self.sum()?)),
                () if self.eat_word("generated") => {
                    let always = self.eat_word("always");
                    if !always && !self.eat_words(&["by", "default"]) {
                        return Err(self.wrong());
                    }
                    self.word("as")?;
                    if !self.eat_word("identity") {
                        return Err(Error::unsupported("generated columns other than AS IDENTITY"));
                    }
                    (column.not_null, column.default) = (true, Some(Default::Next { always }));
                }
                () => return Ok(column),
            }
        }
    }
}
