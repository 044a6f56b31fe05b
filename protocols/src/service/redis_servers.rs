//! Redis servers that know nothing of each other, such as Redlock asks.

use super::{Members, Service, redis};
use crate::{
    news::Purpose,
    payload::{Nothing, Payload},
};

/// Independent Redis servers, of which a majority is asked.
pub const SERVICE: Service = Service {
    name: "redis-servers",
    members: Members { most: 9, led: false, majority: true },
    // As Redlock's inventor recommends.
    usual_members: 5,
    ..redis::SERVICE
};

/// What is said to the servers and by them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = redis::Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// A request to one of the servers. Answered by [`redis::Reply`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Which server, from 0.
    pub member: usize,
    /// What to ask it.
    pub request: redis::Request,
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        self.request.purpose()
    }
}
