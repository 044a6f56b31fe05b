//! Electors with types of their own, behind the seam that knows none: what goes in comes back typed, and what is another's
//! does not.

use protocols::{
    clock::Now,
    election::stonith::{Message, Said},
    elector::{Elector, Input, Output, ServiceInput, boxed},
    payload::{Nothing, Payload},
    service::{etcd, redis},
    types::NodeId,
};

/// Says what it has taken in, as messages of its own.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Echo;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Heard(String);

impl Payload for Heard {}

impl Elector for Echo {
    type Peer = Heard;
    type Service = redis::Api;

    fn step(&mut self, _: Now, input: Input<Heard, redis::Api>, out: &mut Vec<Output<Heard, redis::Api>>) {
        out.push(Output::Send { to: NodeId(1), message: Heard(format!("{input:?}")) });
    }
}

fn said(input: Input) -> Option<String> {
    let mut out = Vec::new();
    boxed(Echo).step(Now { mono: 0, wall: 0 }, input, &mut out);
    let said = out.pop().map(|output| match output {
        Output::Send { message, .. } => message.downcast::<Heard>().expect("its own").0,
        other => panic!("{other:?}"),
    });
    assert!(out.is_empty());
    said
}

#[test]
fn what_is_of_the_protocols_own_types_comes_back_typed() {
    let from = NodeId(1);
    let typed: Input<Heard, redis::Api> = Input::Peer { from, message: Heard("it".into()) };
    assert_eq!(said(Input::Peer { from, message: Heard("it".into()).erase() }), Some(format!("{typed:?}")));
    let reply = Ok(redis::Reply::Done(true));
    let typed: Input<Heard, redis::Api> = Input::Service(ServiceInput::Reply { number: 3, reply: reply.clone() });
    let erased = ServiceInput::Reply { number: 3, reply: reply.map(Payload::erase) };
    assert_eq!(said(Input::Service(erased)), Some(format!("{typed:?}")));
}

#[test]
fn another_protocols_messages_do_not_reach_it() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Other;
    impl Payload for Other {}
    assert_eq!(said(Input::Peer { from: NodeId(1), message: Other.erase() }), None);
}

#[test]
fn another_services_answers_are_failures() {
    let reply = Ok(etcd::Reply::Revoked.erase());
    let heard = said(Input::Service(ServiceInput::Reply { number: 3, reply })).unwrap_or_default();
    assert!(heard.contains("Unknown(\"another service's answer: Revoked\")"), "{heard}");
    let item = etcd::Item::Deleted.erase();
    let heard = said(Input::Service(ServiceInput::Item { number: 4, item })).unwrap_or_default();
    assert!(heard.contains("Ended { number: 4"), "{heard}");
}

#[test]
fn a_wrapper_hands_on_what_is_inside() {
    let (own, inner) = (Said::Own(Message::Claim { round: 7 }), Said::Inner(Heard("it".into()).erase()));
    assert_eq!(own.clone().erase().get(), Some(&Message::Claim { round: 7 }));
    assert_eq!(inner.clone().erase().get(), Some(&Heard("it".into())));
    for said in [own, inner] {
        assert_eq!(Said::restore(said.clone().erase()), Ok(said));
    }
    let none: Result<Nothing, _> = Nothing::restore(Heard("it".into()).erase());
    assert!(none.is_err());
}
