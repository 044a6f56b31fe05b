//! Requests and replies of the services as text: what transcripts and scripts are written in.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod etcd;
pub mod redis;
