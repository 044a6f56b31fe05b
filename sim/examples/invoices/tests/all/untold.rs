//! Rows of which nobody can tell under which token they were written, and a table in which nothing happens.

use fencepost::{database, failure::Kind, scenarios};
use invoices::{Database, Error};

/// Uses what PostgreSQL knows and its model does not.
async fn asks_too_much(database: &mut Database, token: i64) -> Result<Option<i64>, Error> {
    let _ = database.query("SELECT id FROM charges GROUP BY id", &[]).await;
    let insert = "INSERT INTO charges (invoice, amount, token) VALUES (1, 5, $1) RETURNING id";
    Ok(Some(database.query_one(insert, &[&token]).await?.get(0)))
}

#[test]
fn what_the_model_does_not_know_is_told() {
    let world =
        crate::world().fleet(3, || invoices::run(asks_too_much)).scenarios([scenarios::clean_kill()]).seeds(0..1);
    let checked = world.check();
    let told = "the simulated PostgreSQL refused a request: not supported by the simulated server: `GROUP` in a SELECT";
    assert_eq!(checked.refused, [told]);
    assert!(checked.to_string().contains(told), "{checked}");
}

/// Charges under its token, and tidies up.
async fn charge(database: &mut Database, token: i64) -> Result<Option<i64>, Error> {
    let insert = "INSERT INTO charges (invoice, amount, token) VALUES (1, 5, $1) RETURNING id";
    let id: i64 = database.query_one(insert, &[&token]).await?.get(0);
    database.execute("DELETE FROM charges WHERE id < $1", &[&(id - 9)]).await?;
    Ok(Some(id))
}

#[test]
fn a_deleted_row_has_no_token_and_the_check_does_not_pass() {
    let world = crate::world().fleet(3, || invoices::run(charge)).scenarios([scenarios::clean_kill()]).seeds(0..1);
    let failure = world.try_check().expect_err("it cannot be told");
    assert_eq!(failure.kind, Kind::Inconclusive, "{failure}");
    assert!(failure.to_string().contains("accepted writes without a token"), "{failure}");
}

/// Charges under its token, and corrects the first charge, whoever made it.
async fn corrects(database: &mut Database, token: i64) -> Result<Option<i64>, Error> {
    let insert = "INSERT INTO charges (invoice, amount, token) VALUES (1, 5, $1) RETURNING id";
    let id: i64 = database.query_one(insert, &[&token]).await?.get(0);
    database.execute("UPDATE charges SET amount = amount + 1 WHERE id = 1", &[]).await?;
    Ok(Some(id))
}

/// A former leader could change its successor's rows in this way, and their tokens would look right.
#[test]
fn a_change_of_anothers_row_under_its_old_token_does_not_pass() {
    let world = crate::world().fleet(3, || invoices::run(corrects)).scenarios([scenarios::clean_kill()]).seeds(0..1);
    let failure = world.try_check().expect_err("it cannot be told");
    assert_eq!(failure.kind, Kind::Inconclusive, "{failure}");
}

#[test]
fn a_schema_that_is_refused_and_a_table_that_stays_empty_are_told() {
    let store = |table: &str, schema: &str| {
        let world = crate::world().store(database(table).token("token").schema(schema)).fleet(2, invoices::main);
        world.scenarios([scenarios::clean_kill()]).try_check().expect_err("nothing can be judged")
    };
    let wrong = store("charges", "CREATE TABLE charges (id uuid PRIMARY KEY)");
    assert_eq!(wrong.kind, Kind::Wrong);
    assert!(wrong.to_string().contains("the schema of the database cannot be carried out: "), "{wrong}");
    assert!(wrong.to_string().contains("the type `uuid`"), "{wrong}");
    let empty = store("payments", include_str!("../../schema.sql"));
    assert_eq!(empty.kind, Kind::NobodyWrites, "{empty}");
    assert!(empty.to_string().starts_with("nobody committed a row of the table payments in 180 virtual"), "{empty}");
}
