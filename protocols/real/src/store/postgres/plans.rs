//! Plans in PostgreSQL. Callers hold the lock on the resource's row.

use super::{
    super::plans::{Changed, StoredPlan, StoredPlans},
    sql::PlanStatements,
};
use tokio_postgres::{Error, Transaction};

pub(super) async fn read(
    transaction: &Transaction<'_>,
    statements: &PlanStatements,
    resource: &str,
) -> Result<StoredPlans, Error> {
    let live = transaction.query_opt(&statements.live, &[&resource]).await?.map(|row| row.get::<_, i64>(0) as u64);
    let rows = transaction.query(&statements.plans, &[&resource]).await?;
    let plan = |row: &tokio_postgres::Row| StoredPlan {
        number: row.get::<_, i64>(0) as u64,
        place: row.get::<_, i64>(1) as u64,
        node: row.get(2),
        generation: row.get::<_, i64>(3) as u32,
        token: row.get::<_, i64>(4) as u64,
    };
    Ok(StoredPlans { made: rows.iter().map(plan).collect(), live })
}

pub(super) async fn write(
    transaction: &Transaction<'_>,
    statements: &PlanStatements,
    resource: &str,
    changed: Changed,
) -> Result<(), Error> {
    if !changed.gone.is_empty() {
        let gone: Vec<_> = changed.gone.into_iter().map(|number| number as i64).collect();
        transaction.execute(&statements.unmake, &[&resource, &gone]).await?;
    }
    for StoredPlan { number, place, node, generation, token } in changed.made {
        let (number, place, generation, token) = (number as i64, place as i64, i64::from(generation), token as i64);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
            [&resource, &number, &place, &node, &generation, &token];
        transaction.execute(&statements.make, &values).await?;
    }
    if let Some(live) = changed.live {
        transaction.execute(&statements.enact, &[&resource, &(live as i64)]).await?;
    }
    Ok(())
}
