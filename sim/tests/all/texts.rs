//! Text forms of the services' requests and replies, for transcripts and scripts.

pub mod etcd;
pub mod redis;
