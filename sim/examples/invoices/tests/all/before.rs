//! The service as it was before its transaction compared tokens, and what the same test says of it.

use fencepost::{failure::Kind, scenarios};
use invoices::{Database, Error};

/// "Only the leader does this, so nobody else can be at it."
async fn charge(database: &mut Database, token: i64) -> Result<Option<i64>, Error> {
    let transaction = database.transaction().await?;
    let open = "SELECT id, amount FROM invoices WHERE NOT charged ORDER BY id LIMIT 1";
    let Some(row) = transaction.query_opt(open, &[]).await? else { return Ok(None) };
    let (invoice, amount): (i64, i64) = (row.get(0), row.get(1));
    let insert = "INSERT INTO charges (invoice, amount, token) VALUES ($1, $2, $3)";
    transaction.execute(insert, &[&invoice, &amount, &token]).await?;
    transaction.execute("UPDATE invoices SET charged = true WHERE id = $1", &[&invoice]).await?;
    transaction.commit().await?;
    Ok(Some(invoice))
}

#[test]
fn a_transaction_alone_lets_a_former_leader_charge() {
    let world = crate::world().fleet(3, || invoices::run(charge)).scenarios([scenarios::gc_pause()]).seeds(0..5);
    let failure = world.pause_before_every_send().try_check().expect_err("a former leader charges");
    let said = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(failure.kind, Kind::Safety, "{said}");
    let broken = failure.broken.expect("a run failed");
    assert_eq!((broken.scenario.as_str(), broken.seed), ("gc-pause", 0), "{said}");
    // The row's token is all that the judge knows of who leads.
    let taken = "n1 had taken over with token 4";
    assert!(said.contains(taken) && said.contains("did not refuse the lower token"), "{said}");
    // It is no formality: somebody pays twice.
    let printed = std::fs::read_to_string(broken.folder.join("output.txt")).expect("what the processes printed");
    let mut charged: Vec<&str> =
        printed.lines().filter_map(|line| Some(line.split_once(": charged invoice ")?.1)).collect();
    let charges = charged.len();
    charged.sort_unstable();
    charged.dedup();
    assert_eq!(charged.len() + 1, charges, "{printed}");
}
