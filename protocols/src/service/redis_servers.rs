//! Independent Redis servers, as used by Redlock.

use super::{Members, Service, redis};
use crate::{
    news::Purpose,
    payload::{Nothing, Payload},
};

/// Independent Redis servers, a majority of which must agree.
pub const SERVICE: Service = Service {
    name: "redis-servers",
    members: Members { most: 9, led: false, majority: true },
    // Redlock's author recommends five.
    usual_members: 5,
    ..redis::SERVICE
};

/// The types of the servers' requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = redis::Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// A request to one of the servers, answered by [`redis::Reply`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The server's index, from 0.
    pub member: usize,
    pub request: redis::Request,
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        self.request.purpose()
    }
}
