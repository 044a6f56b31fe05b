//! Starts a campaign: its client and its driver.

use super::{Course, Driver, Ending};
use crate::{
    backend::Service,
    ended::Ended,
    observer::News,
    state::{Order, Phase, State},
};
use protocols::types::Leadership;
use protocols_clients::{env::Env, timers::Timers};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::{
    sync::{
        OwnedMutexGuard,
        mpsc::{UnboundedReceiver, unbounded_channel},
    },
    task::AbortHandle,
};
use tracing::Instrument;

/// Aborts a task when dropped.
struct Aborts(AbortHandle);

impl Drop for Aborts {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whoever waits for the driver must learn if it panics.
struct Ends(Arc<State>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.phase.send_if_modified(|phase| {
            let ends = !matches!(phase, Phase::Done(_));
            if ends {
                *phase = Phase::Done(Ended::UncleanStop);
            }
            ends
        });
    }
}

/// Starts a campaign, which ends by [`Order::Finish`]. `turn` is kept until then.
pub(crate) fn start(
    service: &impl Service,
    course: Course,
    state: Arc<State>,
    orders: UnboundedReceiver<Order>,
    turn: Arc<OwnedMutexGuard<()>>,
) {
    let (to_service, requests) = unbounded_channel();
    let (answer, answers) = unbounded_channel();
    // The driver may have ended when an answer arrives.
    let client = service.run(requests, Arc::new(move |input| drop(answer.send(input))));
    let client = tokio::spawn(client.in_current_span());
    let client = Aborts(client.abort_handle());
    // What ends with its client must last as long as a lease would that is left to run out.
    let observer = course.observer.clone();
    let (env, lasts) = (state.env.clone(), if service.ends_with_its_client() { course.lease } else { 0 });
    let driver = Driver {
        timers: Timers::new(state.env.clone()),
        margin: course.margin,
        course,
        state,
        to_service,
        outputs: Vec::new(),
        asked: BTreeMap::new(),
        confirmed: 0,
        first_sent: BTreeMap::new(),
        leadership: Leadership { token: 0, valid_until: 0 },
        led: false,
        refused: false,
        servers: service.servers(),
        down: BTreeSet::new(),
        streams: BTreeMap::new(),
        failing: None,
        ending: Ending::No,
        defers: false,
        holds: false,
        frozen: false,
    };
    let ends = Ends(driver.state.clone());
    let course = async move {
        let (turn, ends, client) = (turn, ends, client);
        let kept = driver.run(answers, orders).await;
        if let Some(observer) = observer {
            observer.told(News::Ends);
        }
        match kept {
            Some(_kept) if lasts > 0 => {
                drop((ends, turn));
                env.sleep(lasts).await;
                drop(client);
            }
            _ => drop((client, ends, turn)),
        }
    };
    tokio::spawn(course.in_current_span());
}
