//! The table that a leader protects: each of its committed changes is told.

use super::{
    super::{error::Error, value::Value},
    Model, Pid,
    rows::Row,
};
use protocols::clock::Now;

/// A table whose committed changes are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audited {
    pub table: String,
    /// The column with the fencing token under which a row was written, if there is one.
    pub token: Option<String>,
}

/// A committed change of one row of the audited table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The session that committed it.
    pub by: Pid,
    /// The row's token; 0 if it has none, or the row was deleted.
    pub token: u64,
    /// The row had this token before, so that it may be another's.
    pub kept: bool,
}

impl Model {
    /// An empty database with one audited table, after an operator has run these statements.
    ///
    /// # Errors
    /// A statement is wrong or not supported.
    pub fn audited(audited: Audited, schema: &str) -> Result<Model, Error> {
        let mut model = Model { audited: Some(audited), ..Model::default() };
        let now = Now::default();
        let pid = model.open(super::Settings::default());
        for statement in model.parse(schema)? {
            model.begin_command(pid, now);
            let prepared = model.prepare(pid, statement, &[])?;
            // Nobody else is there to wait for.
            model.run(pid, &prepared, &[], now)?;
            model.end_command(pid);
        }
        model.close(pid);
        model.effects.clear();
        Ok(model)
    }

    /// The changes since the last call, in the order in which they were committed.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Notes the effect of a change that was just committed, of a row that was this before.
    pub(super) fn note_effect(&mut self, by: Pid, table: &str, key: &Value, former: Option<&Row>) {
        let Some(audited) = self.audited.as_ref().filter(|audited| audited.table == table) else { return };
        let Some(table) = self.tables.get(table) else { return };
        let place = audited.token.as_ref().and_then(|column| table.place(column).ok());
        let token = |row: Option<&Row>| match row.zip(place).and_then(|(row, place)| row.get(place)) {
            Some(Value::Int8(token)) => u64::try_from(*token).unwrap_or(0),
            Some(Value::Int4(token)) => u64::try_from(*token).unwrap_or(0),
            Some(Value::Text(token)) => token.trim().parse().unwrap_or(0),
            _ => 0,
        };
        let (before, now) = (token(former), token(table.committed(key)));
        self.effects.push(Effect { by, token: now, kept: now > 0 && now == before });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::postgres::settings::Settings;

    const SCHEMA: &str =
        "CREATE TABLE invoices (id bigint PRIMARY KEY, token bigint); CREATE TABLE fence (id bigint PRIMARY KEY)";

    fn audited() -> Model {
        let audited = Audited { table: "invoices".to_owned(), token: Some("token".to_owned()) };
        Model::audited(audited, SCHEMA).expect("a schema")
    }

    fn tell(model: &mut Model, pid: Pid, text: &str) {
        let now = Now::default();
        for statement in model.parse(text).expect(text) {
            model.begin_command(pid, now);
            let prepared = model.prepare(pid, statement, &[]).expect(text);
            model.run(pid, &prepared, &[], now).expect(text);
            model.end_command(pid);
        }
    }

    #[test]
    fn what_is_committed_is_an_effect_and_what_is_rolled_back_is_none() {
        let mut model = audited();
        let (one, two) = (model.open(Settings::default()), model.open(Settings::default()));
        tell(&mut model, one, "BEGIN; INSERT INTO invoices (id, token) VALUES (1, 7)");
        assert_eq!(model.take_effects(), []);
        tell(&mut model, two, "INSERT INTO invoices (id, token) VALUES (2, 8); INSERT INTO fence (id) VALUES (1)");
        let effect = |by, token| Effect { by, token, kept: false };
        assert_eq!(model.take_effects(), [effect(two, 8)]);
        tell(&mut model, one, "UPDATE invoices SET token = 9 WHERE id = 1; COMMIT");
        assert_eq!(model.take_effects(), [effect(one, 9)]);
        // Whose token it is does not show.
        tell(&mut model, two, "UPDATE invoices SET token = token WHERE id = 1");
        assert_eq!(model.take_effects(), [Effect { kept: true, ..effect(two, 9) }]);
        tell(&mut model, one, "BEGIN; UPDATE invoices SET token = 10 WHERE id = 1; ROLLBACK");
        assert_eq!(model.take_effects(), []);
        // Whose it was cannot be told.
        tell(&mut model, two, "DELETE FROM invoices WHERE id = 1; UPDATE invoices SET token = NULL WHERE id = 2");
        assert_eq!(model.take_effects(), [effect(two, 0); 2]);
        tell(&mut model, two, "INSERT INTO invoices (id, token) VALUES (2, 1) ON CONFLICT (id) DO NOTHING");
        assert_eq!(model.take_effects(), []);
    }

    #[test]
    fn a_schema_is_carried_out_or_refused() {
        let none = Audited { table: "t".to_owned(), token: None };
        assert_eq!(Model::audited(none.clone(), "CREATE VIEW v AS SELECT 1").err().map(|e| e.code), Some("0A000"));
        assert_eq!(Model::audited(none, "CREATE TABLE").err().map(|e| e.code), Some("42601"));
    }
}
