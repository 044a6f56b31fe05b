//! How much losses delay messages on a connection, and that lost datagrams stay lost.

use super::*;

fn lossy() -> Network {
    Network { loss: 0.1, ..network("ideal") }
}

#[test]
fn what_is_lost_on_a_busy_connection_comes_soon() {
    let mut place = Place::new("redis-naive", Network { reorder: 0.1, ..lossy() }, &[]);
    let late = place.late_ms(1_000, 1.0);
    assert_eq!(place.answered(N1), (1..=1_000).collect::<Vec<_>>(), "answers come in order too");
    // The next message, or the one after that, reveals the loss.
    assert!(late[600] < 0.4 && late[950] > 1.2 && late[999] < 10.0, "{late:?}");
}

#[test]
fn what_is_lost_on_a_quiet_connection_waits_for_a_timeout() {
    let late = Place::new("redis-naive", lossy(), &[]).late_ms(200, 1_000.0);
    for (nth, ought) in [(150, 0.1), (199, 200.1)] {
        assert!(close_to(late[nth], ought), "{nth}: {late:?}");
    }
}

#[test]
fn without_acknowledgements_a_loss_waits_for_a_timeout() {
    let back = Fault::Partition { from: vec![named("store")], to: vec![named("n1")], one_way: true, for_ms: None };
    let mut place = Place::new("redis-naive", lossy(), &[(90.0, back)]);
    place.n1_asks(10.0, 0);
    place.until(80.0);
    place.log.lock().expect("a log").clear();
    let late = place.late_ms(1_000, 1.0);
    assert!(late[500] > 100.0, "{late:?}");
}

#[test]
fn a_loss_on_a_busy_stream_is_repaired_soon() {
    let mut place = Place::new("redis-naive", lossy(), &[]);
    let (store, waker) = (place.store, std::task::Waker::noop());
    place.world.listen(store, 80).expect("the port is free");
    let conn = place.world.connect(N1, store, 80);
    place.until(10_000.0);
    let (mut read, mut behind) = (0, Vec::new());
    for written in 1..=1_000 {
        place.until(10_000.0 + written as f64);
        assert!(matches!(place.world.poll_write(conn, 0, &[7], waker), Some(Ok(1))));
        place.until(10_000.5 + written as f64);
        let _ = place.world.poll_read(conn, 1, usize::MAX, |bytes| read += bytes.len(), waker);
        behind.push(written - read);
    }
    assert!(behind.iter().any(|bytes| *bytes > 0), "some are lost");
    assert!(behind.iter().all(|bytes| *bytes < 10), "{behind:?}");
}

#[test]
fn on_the_hostile_network_writes_are_datagrams() {
    let mut place = Place::new("redis-fenced", Network { loss: 0.2, duplicate: 0.2, ..network("hostile") }, &[]);
    let store = place.store;
    for number in 1..=1_000 {
        place.n1_asks(number as f64 + 1.0, number);
    }
    place.until(9_000.0);
    let asked = place.asked(store);
    assert!((1..=1_000).any(|n| !asked.contains(&n)), "some are lost");
    assert!(!asked.is_sorted(), "some are overtaken");
    assert!((1..=1_000).any(|n| asked.iter().filter(|a| **a == n).count() > 1), "some come twice");
}
