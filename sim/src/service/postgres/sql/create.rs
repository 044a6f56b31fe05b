//! `CREATE TABLE`.

use super::{
    super::{error::Error, value::Type},
    lexer::Token,
    parser::Parser,
    statement::{Column, Create, Default, Statement},
};

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
