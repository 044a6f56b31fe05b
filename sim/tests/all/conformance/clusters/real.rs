//! Plays a fault in a real cluster of processes on this machine.

use super::{
    client::{Service, hold, probe},
    fault::{Fault, ttl_s},
    seen::{Came, Log, Times, came},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    site::Endpoint,
};
use servers::{
    SOON, eventually,
    members::{Kind, Members},
};
use std::{
    thread::{self, sleep},
    time::Duration,
};
use tokio::sync::oneshot;

/// The wait after the cluster first serves clients, and the random addition in milliseconds.
const STRIKES: (Duration, u64) = (Duration::from_millis(3_000), 2_000);

/// Plays the fault on a new cluster. With `through_agent`, Consul's clients ask an agent on their own machine, as
/// recommended.
pub fn play(service: Service, kind: Kind, fault: Fault, through_agent: bool, seed: u64) -> Came {
    let mut members = Members::start(kind);
    let endpoint = |at: &std::net::SocketAddr| Endpoint { host: at.ip().to_string(), port: at.port() };
    let asked = if through_agent { members.clients() } else { members.servers() };
    let endpoints: Vec<Endpoint> = asked.iter().map(endpoint).collect();
    let env = TokioEnv::new(seed);
    let [holder, prober] = [(); 2].map(|()| {
        let env = env.clone();
        Log::new(move || env.now().mono)
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let clients = {
        let (env, holder, prober) = (env.clone(), holder.clone(), prober.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let _holds = env.spawn(hold(service, env.clone(), endpoints.clone(), ttl_s(service), holder));
                let _probes = env.spawn(probe(service, env.clone(), endpoints, ttl_s(service), prober));
                // The sender may be gone.
                let _ = stopped.await;
            });
        })
    };
    eventually("clients are answered", 4 * SOON, || (holder.was_answered() && prober.was_answered()).then_some(()));
    sleep(STRIKES.0 + Duration::from_millis(seed.wrapping_mul(617) % STRIKES.1));
    let struck = env.now().mono;
    let leader = members.await_leader();
    let two = [0, 1];
    match fault {
        Fault::Kill => members.kill(leader),
        Fault::Pause | Fault::Stall => members.pause(leader),
        Fault::CutOff => members.cut_off(leader),
        Fault::QuorumLoss => two.into_iter().for_each(|member| members.kill(member)),
    }
    sleep(Duration::from_millis(fault.lasts_ms(service)));
    match fault {
        Fault::Kill => members.restart(leader),
        Fault::Pause | Fault::Stall => members.resume(leader),
        Fault::CutOff => members.heal(),
        Fault::QuorumLoss => two.into_iter().for_each(|member| members.restart(member)),
    }
    let over = env.now().mono;
    sleep(Duration::from_millis(fault.shows_ms()));
    let times = Times { struck, over, ended: env.now().mono };
    // The client waits for nothing else.
    let _ = stop.send(());
    clients.join().expect("the clients only ask");
    came(&holder, &prober, times, fault.is_without_service())
}
