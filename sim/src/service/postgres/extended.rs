//! The extended protocol: statements are parsed once, bound to parameters, and executed (postgres/postgres 15,
//! `src/backend/tcop/postgres.c: exec_parse_message, exec_bind_message, exec_describe_statement_message,
//! exec_execute_message`).

use super::{
    analyse::Prepared,
    backend::Backend,
    error::Error,
    messages::{Bind, format_of},
    portal::Portal,
    sql::Statement,
    value::{Type, Value},
};
use protocols_clients::env::Env;
use std::sync::Arc;

impl<E: Env> Backend<E> {
    pub(super) fn parse(&mut self, name: String, text: &str, types: &[u32]) -> Result<(), Error> {
        self.begin_command();
        let recalled = self.server.model().recall(self.pid, text, types)?;
        let prepared = match recalled {
            Some(prepared) => prepared,
            None => self.analyse(text, types)?,
        };
        if !name.is_empty() && self.statements.contains_key(&name) {
            return Err(Error::new("42P05", format!("prepared statement \"{name}\" already exists")));
        }
        self.statements.insert(name, prepared);
        self.out.bare(b'1');
        Ok(())
    }

    fn analyse(&self, text: &str, types: &[u32]) -> Result<Arc<Prepared>, Error> {
        let mut model = self.server.model();
        let mut statements = model.parse(text)?;
        if statements.len() > 1 {
            return Err(Error::new("42601", "cannot insert multiple commands into a prepared statement"));
        }
        let statement = statements.pop().unwrap_or(Statement::Empty);
        let of = |oid: &u32| match oid {
            0 => Ok(None),
            oid => match Type::of_oid(*oid) {
                Some(of) => Ok(Some(of)),
                None => Err(Error::unsupported(format!("the type with the object id {oid}"))),
            },
        };
        let given = types.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let prepared = Arc::new(model.prepare(self.pid, statement, &given)?);
        model.remember(text, types, &prepared);
        Ok(prepared)
    }

    fn statement(&self, name: &str) -> Result<&Arc<Prepared>, Error> {
        let none = || match name {
            "" => Error::new("26000", "unnamed prepared statement does not exist"),
            name => Error::new("26000", format!("prepared statement \"{name}\" does not exist")),
        };
        self.statements.get(name).ok_or_else(none)
    }

    pub(super) fn bind(&mut self, bind: Bind) -> Result<(), Error> {
        let Bind { portal, statement, formats, values, results } = bind;
        let prepared = self.statement(&statement)?.clone();
        let (expected, got) = (prepared.parameters.len(), values.len());
        if formats.len() > 1 && formats.len() != got {
            let why = format!("bind message has {} parameter formats but {got} parameters", formats.len());
            return Err(Error::new("08P01", why));
        }
        if expected != got {
            let why = format!(
                "bind message supplies {got} parameters, but prepared statement \"{statement}\" requires {expected}"
            );
            return Err(Error::new("08P01", why));
        }
        self.server.model().check_not_failed(self.pid, &prepared.statement)?;
        self.begin_command();
        let mut read = Vec::new();
        for (place, (value, of)) in values.into_iter().zip(&prepared.parameters).enumerate() {
            read.push(match value {
                None => Value::Null,
                Some(bytes) if format_of(&formats, place) => of.read_binary(&bytes)?,
                Some(bytes) => match Type::Text.read_binary(&bytes)? {
                    Value::Text(text) => of.read(&text)?,
                    _ => Value::Null,
                },
            });
        }
        self.portals.insert(portal, Portal { prepared, values: read, results });
        self.out.bare(b'2');
        Ok(())
    }

    fn portal(&self, name: &str) -> Result<Portal, Error> {
        let none = || Error::new("34000", format!("portal \"{name}\" does not exist"));
        self.portals.get(name).cloned().ok_or_else(none)
    }

    pub(super) fn describe(&mut self, portal: bool, name: &str) -> Result<(), Error> {
        let (prepared, results) = if portal {
            let Portal { prepared, results, .. } = self.portal(name)?;
            (prepared, results)
        } else {
            let prepared = self.statement(name)?.clone();
            self.out.parameters(&prepared.parameters);
            (prepared, Vec::new())
        };
        match &prepared.columns {
            Some(columns) => self.out.columns(columns, |place| format_of(&results, place)),
            None => self.out.bare(b'n'),
        }
        Ok(())
    }

    pub(super) async fn execute(&mut self, portal: &str) -> Result<(), Error> {
        let Portal { prepared, values, results } = self.portal(portal)?;
        self.begin_command();
        self.carry_out(&prepared, &values, &results, false).await
    }
}
