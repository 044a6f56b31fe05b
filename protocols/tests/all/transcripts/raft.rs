//! What is said to the embedded Raft and by it. It has one stream.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::raft::{Item, Reply, Request},
    types::MILLISECOND,
};

const LANGUAGE: Language = Language { timers: &["expire", "retry"], reply, item, request, stream: |_| "watch".into() };

#[test]
fn raft() {
    super::check("raft", &LANGUAGE, 11);
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    (*words == ["done"]).then(|| Reply::Done.erase())
}

fn item(names: &Names, words: &[&str]) -> Option<Opaque> {
    let number = |text: &str| text.parse::<u64>().ok();
    let item = match words {
        ["leading", term, "acked", at] => Item::Leading { term: number(term)?, acked_at: number(at)? * MILLISECOND },
        ["candidate", term] => Item::Candidate { term: number(term)? },
        ["following", term, "nobody"] => Item::Following { term: number(term)?, leader: None },
        ["following", term, leader] => Item::Following { term: number(term)?, leader: Some(names.node(leader)) },
        _ => return None,
    };
    Some(item.erase())
}

fn request(names: &Names, request: &Opaque) -> String {
    match request.get().expect("a request for Raft") {
        Request::Transfer { to: None } => "transfer".to_owned(),
        Request::Transfer { to: Some(to) } => format!("transfer to {}", names.of(*to)),
        Request::AddVoter { node } => format!("add {}", names.of(*node)),
        Request::RemoveVoter { node } => format!("remove {}", names.of(*node)),
    }
}
