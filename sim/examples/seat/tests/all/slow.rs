//! A service that takes its time to answer, and what seats can be called on it.

use crate::world::{AnyPart, all, at, lines_with, node, play_any, served, sleep_s, until_s};
use fencepost_seat::{Backend, Kubernetes, Seat, SettingsError};
use scenarios::fault::{Fault, Who};
use std::time::Duration;
use tokio::time::{Instant, timeout};

struct IsPatient;

impl AnyPart for IsPatient {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let began = Instant::now();
        let seat = |seat: &str| Seat::new(backend.clone(), seat).ttl(Duration::from_secs(15));
        let patient = |name: &str| seat(name).request_timeout(Duration::from_secs(6)).member("n1").unwrap();
        // Clones of a backend share a connection, which stands from here on.
        let before = patient("before");
        let before = before.campaign().await;
        let (patient, usual) = (patient("patient"), seat("usual").member("n1").unwrap());
        until_s(began, 4.0).await;
        let term = timeout(Duration::from_secs(10), patient.campaign()).await.expect("it leads");
        sleep_s(16.0).await;
        println!("n1 leads after more than a lease: {:?}", term.lead().check());
        println!("n1 leads since before: {:?}", before.lead().check());
        term.finish().await;
        let usual = timeout(Duration::from_secs(6), usual.campaign()).await;
        println!("n1 leads with the usual timeout: {}", usual.is_ok());
    }
}

#[test]
fn a_service_that_answers_after_more_than_a_second_is_led_on_if_requests_may_take_longer() {
    // The others have timeouts of their own.
    for service in served().filter(|service| !["kubernetes", "zookeeper"].contains(&service.name)) {
        let slow = Fault::Latency { from: vec![Who::Service], to: vec![node("n1")], extra_us: 1_200_000, for_ms: None };
        let lines = lines_with(service, || play_any(IsPatient), vec![(3.0, slow)]);
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1 leads since before: Ok(())");
        at(&lines, "n1 leads after more than a lease: Ok(())");
        at(&lines, "n1 leads with the usual timeout: false");
    }
}

#[tokio::test]
async fn a_seat_that_cannot_be_the_name_of_a_lease_is_refused() {
    let config = kube::Config::new("http://apiserver:6443".parse().unwrap());
    let kubernetes = Kubernetes::new(kube::Client::try_from(config).unwrap(), "default");
    let seat = |name: &str| Seat::new(kubernetes.clone(), name).member("Host_7").map(drop);
    for good in ["invoices", "invoices-7", "7.invoices"] {
        assert_eq!(seat(good), Ok(()));
    }
    for bad in ["Invoices", "in_voices", "-invoices", "invoices.", "invoices.-7"] {
        let error = seat(bad).unwrap_err();
        assert!(matches!(&error, SettingsError::SeatThere { seat, .. } if seat == bad), "{error}");
        assert!(error.to_string().starts_with(&format!("`{bad}` is no name for a seat on this service: a Lease ")));
    }
    let timeout = Seat::new(kubernetes, "invoices").request_timeout(Duration::from_secs(1)).member("a");
    assert_eq!(timeout.unwrap_err(), SettingsError::NoRequestTimeout);
}
