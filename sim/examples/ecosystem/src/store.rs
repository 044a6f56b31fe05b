//! What all of these services do when they lead: append to a sequence.

use std::time::Duration;

/// Between two appends.
pub const WORK: Duration = Duration::from_millis(250);

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Appends, with the fencing token if there is one.
pub fn append(token: Option<u64>) -> Result<(), Failure> {
    let put = ureq::put(format!("{}/sequence", variable("STORE_URL")));
    let put = match token {
        Some(token) => put.header("fencing-token", token.to_string()),
        None => put,
    };
    put.send_empty()?;
    Ok(())
}

/// The same. ureq blocks, so it has a thread of its own.
pub async fn write(token: Option<u64>) -> Result<(), Failure> {
    tokio::task::spawn_blocking(move || append(token)).await?
}

pub fn name() -> String {
    variable("HOSTNAME")
}

pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is set"))
}
