use super::*;
use protocols::{payload::Payload, service::etcd::KeyState};

fn health() -> Health {
    Health::new(vec!["n1".into(), "n2".into()], &redis::SERVICE, "127.0.0.1:6379".into())
}

#[test]
fn a_store_that_is_silent_for_too_long_is_a_reason() {
    let health = health();
    health.store_asked(SECOND);
    health.store_asked(2 * SECOND - 1);
    assert_eq!((health.trouble(2 * SECOND - 1), health.store_is_silent(2 * SECOND - 1)), (None, false));
    let why = health.trouble(2 * SECOND + 5 * MILLISECOND);
    assert_eq!(why.as_deref(), Some("the store has not answered for 1005 ms"));
    assert!(health.store_is_silent(2 * SECOND));
    health.store_answers(3 * SECOND, Resource::SEQUENCE, 1, WriteVerdict::Ok, false);
    assert_eq!((health.trouble(9 * SECOND), health.accepted_ago(9 * SECOND)), (None, Some(6 * SECOND)));
}

fn to(purpose: Purpose, kind: &str) -> What {
    What { purpose, kind: kind.to_owned() }
}

#[test]
fn a_service_that_fails_is_a_reason_until_it_answers() {
    let (health, stands) = (health(), to(Purpose::Candidacy, "AcquireFenced"));
    health.service_fails(SECOND, stands.clone(), &Failure::Unknown("timed out".into()));
    health.service_fails(2 * SECOND, stands.clone(), &Failure::Rejected("READONLY You can't write".into()));
    let why = health.trouble(3 * SECOND).unwrap_or_default();
    assert!(why.contains("failed for 2000 ms") && why.contains("READONLY"), "{why}");
    health.service_answers(4 * SECOND, &stands);
    assert_eq!(health.trouble(4 * SECOND), None);
    let failure = Failure::Rejected("etcdserver: requested lease not found".into());
    health.service_fails(5 * SECOND, to(Purpose::Renewal, "Keepalive"), &failure);
    assert_eq!(health.trouble(5 * SECOND), None, "a lease that is over is no failure");
}

/// As with a leaders' key that is a list in Redis: it can neither be taken nor read, and only the reading fails. And as
/// with an etcd that grants leases to who may not write.
#[test]
fn an_answer_to_something_else_ends_no_failure() {
    let (reads, takes) = (to(Purpose::Holder, "Get"), to(Purpose::Candidacy, "AcquireFenced"));
    let (writes, grants) = (to(Purpose::Candidacy, "CreateKey"), to(Purpose::Candidacy, "Grant"));
    for (refused, answered) in [(reads, takes), (writes, grants)] {
        let health = health();
        for n in 1..100 {
            health.service_fails(n * SECOND, refused.clone(), &Failure::Rejected("WRONGTYPE".into()));
            health.service_answers(n * SECOND + MILLISECOND, &answered);
            let why = health.trouble(n * SECOND + MILLISECOND).unwrap_or_default();
            assert!(why.contains("WRONGTYPE") && health.service_is_failing(), "{n}: {why}");
        }
        health.service_answers(100 * SECOND, &refused);
        assert_eq!((health.trouble(100 * SECOND), health.service_is_failing()), (None, false));
    }
}

#[test]
fn a_request_is_called_by_its_name() {
    let request = redis::Request::Get { key: "k".into() }.erase();
    assert_eq!(What::of(&request), to(Purpose::Holder, "Get"));
}

#[test]
fn a_failure_of_what_is_not_asked_any_more_ends() {
    let (health, failure) = (health(), Failure::Unknown("timed out".into()));
    // Nobody repeats a release.
    health.service_fails(SECOND, to(Purpose::Other, "CompareAndDelete"), &failure);
    health.service_answers(2 * SECOND, &to(Purpose::Holder, "Get"));
    assert_eq!(health.trouble(2 * SECOND), None);
    // A former leader renews nothing.
    health.service_fails(3 * SECOND, to(Purpose::Renewal, "CompareAndPexpire"), &failure);
    health.role_changed();
    assert!(health.service_is_failing(), "it has not answered yet");
    health.service_answers(4 * SECOND, &to(Purpose::Candidacy, "AcquireFenced"));
    assert_eq!(health.trouble(4 * SECOND), None);
    // Who waits in a queue does not stand again.
    health.service_fails(5 * SECOND, to(Purpose::Candidacy, "AcquireFenced"), &failure);
    health.service_answers(5 * SECOND + REPEATED_WITHIN, &to(Purpose::Holder, "Get"));
    assert_eq!(health.trouble(5 * SECOND + REPEATED_WITHIN), None);
}

#[test]
fn a_key_of_somebody_elses_is_a_reason() {
    let health = health();
    let holds = |value: &str| health.holder(&redis::Reply::Value(Some(value.as_bytes().to_vec())).erase());
    holds("n1/00ff/1");
    assert_eq!(health.trouble(0), None);
    holds("backup-job");
    assert!(health.trouble(0).is_some_and(|why| why.contains("holds `backup-job`, which is not a node of this fleet")));
    health.holder(&redis::Reply::Value(None).erase());
    assert_eq!(health.trouble(0), None);
    let key = KeyState { key: b"fencepost/leader/7".to_vec(), value: "n3".into(), create_revision: 2, lease: 7 };
    health.holder(&etcd::Reply::Found { key: Some(key), revision: 2 }.erase());
    assert!(health.trouble(0).is_some_and(|why| why.contains("`fencepost/leader/7` at the head of the queue")));
}

#[test]
fn a_token_source_that_went_back_is_a_reason_with_a_remedy() {
    let health = health();
    health.elected(0, 5);
    // A newer leader: the token source is sound.
    let fenced = WriteVerdict::Fenced { highest: 2001 };
    health.store_answers(0, Resource::SEQUENCE, 5, fenced, true);
    assert_eq!((health.trouble(0), health.short(0)), (None, 0));
    health.elected(0, 6);
    assert_eq!(health.short(0), 1995);
    let why = health.trouble(0).unwrap_or_default();
    let remedy = "cargo real raise-token --backend redis --service 127.0.0.1:6379 --above 2001";
    assert!(why.contains("1995 below") && why.contains(remedy), "{why}");
    assert_eq!(health.trouble(SHORT_MAX), None, "it may be well by now, and another leads");
    health.elected(SECOND, 2002);
    health.store_answers(0, Resource::SEQUENCE, 2002, WriteVerdict::Ok, true);
    assert_eq!((health.trouble(0), health.short(0)), (None, 0));
}

#[test]
fn a_leader_that_stays_has_a_token_that_is_high_enough() {
    let health = health();
    health.store_answers(0, Resource::SEQUENCE, 5, WriteVerdict::Fenced { highest: 41 }, true);
    health.elected(0, 6);
    let says_raise = |now| health.trouble(now).is_some_and(|why| why.contains("--above 41"));
    // Others are refused as well, and resign.
    for second in 0..5 {
        health.follows(second * SECOND, Some(NodeId(1)));
        assert!(says_raise(second * SECOND + MILLISECOND));
        health.follows(second * SECOND + 2 * MILLISECOND, None);
    }
    health.follows(5 * SECOND, Some(NodeId(1)));
    assert!(says_raise(5 * SECOND) && health.short(5 * SECOND) > 0, "it may still be refused");
    assert!(!says_raise(5 * SECOND + REFUSED_WITHIN) && health.short(5 * SECOND + REFUSED_WITHIN) == 0);
}
