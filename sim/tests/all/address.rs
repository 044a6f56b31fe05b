//! Clients whom an address sends to a former leader: a violation names the address, and a pass does not hide it.

use protocols::{
    address::{KEPT_AFTER_LOSS, Kind},
    election,
};
use reports::{Verdict, text::unserved};
use scenarios::{Params, scenario};
use sim::run::{self, Options, Run};

fn ran(params: Params) -> (Run, String) {
    let scenario = scenario::find("stale-address").expect("a scenario");
    let protocol = election::find("k8s-lease").expect("a protocol");
    let plan = scenario.compile(&Params { rate: 100, ..params }, protocol, 1).expect("it makes sense");
    let run = run::run(&plan, Options { timeline: true, ..Options::default() }).expect("the run ends");
    let liveness = run.judgement.invariant("liveness").expect("it is judged").detail.to_string();
    (run, liveness)
}

#[test]
fn a_pass_says_that_clients_were_not_served_and_where_they_were_sent() {
    let kept = Params { address: Some(Kind::Vip), bugs: vec![&KEPT_AFTER_LOSS], ..Params::default() };
    let (run, liveness) = ran(kept.clone());
    assert_eq!(run.judgement.verdict, Verdict::Pass, "{liveness}");
    assert!(
        liveness.contains("the virtual IP by which clients find the leader sent them to a former one"),
        "{liveness}"
    );
    assert!(unserved(&run.judgement).contains("of the requests were not served in time"));
    let (run, liveness) = ran(Params { bugs: Vec::new(), ..kept });
    assert_eq!(run.judgement.verdict, Verdict::Pass, "{liveness}");
    assert!(!liveness.contains("former") && unserved(&run.judgement).is_empty(), "{liveness}");
}

#[test]
fn the_cause_of_a_failure_names_the_address_that_was_out_of_date() {
    let (run, liveness) = ran(Params { address: Some(Kind::Dns), address_ttl_ms: Some(30_000), ..Params::default() });
    assert_eq!(run.judgement.verdict, Verdict::Liveness, "{liveness}");
    let cause = run.highlights.expect("somebody listened").cause.text();
    assert!(cause.contains("the DNS record by which clients find the leader sent them to a former one"), "{cause}");
}
