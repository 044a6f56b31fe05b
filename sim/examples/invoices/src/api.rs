//! `POST /invoices?amount=5` on any process; `GET /health` for its supervisor.

use crate::Error;
use axum::{
    Router,
    extract::Query,
    http::StatusCode,
    routing::{get, post},
};
use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Deserialize)]
struct Invoice {
    amount: i64,
}

pub async fn serve() -> Result<(), Error> {
    let app = Router::new().route("/health", get(async || "ok")).route("/invoices", post(create));
    Ok(axum::serve(TcpListener::bind("0.0.0.0:8080").await?, app).await?)
}

async fn create(Query(invoice): Query<Invoice>) -> Result<(StatusCode, String), (StatusCode, String)> {
    let failed = |why: Error| (StatusCode::SERVICE_UNAVAILABLE, why.to_string());
    let database = crate::database().await.map_err(failed)?;
    let insert = "INSERT INTO invoices (amount) VALUES ($1) RETURNING id";
    let row = database.query_one(insert, &[&invoice.amount]).await.map_err(|why| failed(why.into()))?;
    Ok((StatusCode::CREATED, row.get::<_, i64>(0).to_string()))
}
