//! Requests and replies of the services as text: what transcripts and scripts are written in.

pub mod etcd;
pub mod redis;
