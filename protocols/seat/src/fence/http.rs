//! HTTP: a leader signs its requests with its token, and a tower layer before the resource's handlers compares it.
//!
//! A request has the header `Fence: RESOURCE TOKEN HOLDER MAC`. The MAC (HMAC-SHA256 of a secret that both sides have)
//! covers the method, the path with its query, the body, the header `Idempotency-Key` if there is one, and the fence
//! itself. So nobody without the secret can claim a token, or change what is written under it. Somebody who reads
//! the network can send a request of the present leader again: use TLS, or an `Idempotency-Key` for each request, by
//! which the handler, or [the layer](FenceLayer::open_once), knows what is done. Other headers are not covered.
//!
//! ```no_run
//! # use fencepost_seat::{Lead, fence::{FenceError, http::{FenceLayer, Key, accepted}}};
//! # use axum::{Router, routing::{get, post}};
//! # async fn charge() {}
//! # async fn list() {}
//! # fn secret() -> Vec<u8> { Vec::new() }
//! # async fn send(request: http::Request<String>) -> http::Response<String> { Default::default() }
//! // The resource: only what writes is behind the layer.
//! # fn resource() -> Result<(), Box<dyn std::error::Error>> {
//! let layer = FenceLayer::open(Key::new(&secret())?, "charges", "/var/lib/charges/ledger")?;
//! let app: Router = Router::new().route("/charges", post(charge)).layer(layer).route("/charges", get(list));
//! # Ok(())
//! # }
//! // The leader, with any client.
//! # async fn leader(lead: &Lead) -> Result<(), Box<dyn std::error::Error>> {
//! let mut request = http::Request::post("http://charges:8080/charges")
//!     .header("Idempotency-Key", "invoice-7")
//!     .body(r#"{"invoice": 7}"#.to_owned())?;
//! Key::new(&secret())?.sign(lead, "charges", &mut request)?;
//! let response = send(request).await;
//! accepted(lead, response.status(), response.headers())?;
//! # Ok(())
//! # }
//! ```

mod key;
mod ledger;
mod once;
mod server;

pub use key::{Key, NoError, NotHandled, ShortSecret, accepted, accepted_once};
pub use ledger::{BadName, OpenError};
pub use once::NotDone;
pub use server::{Fence, FenceLayer, Leader};
