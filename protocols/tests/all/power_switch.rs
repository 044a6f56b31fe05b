//! The fencing device: whom it cuts off, whom it answers, and what it does not listen to.

use protocols::{
    clock::Now,
    core::{self, Core},
    fence::power::{ACTION_DELAY, Manner, Message, PowerSwitch, REBOOT_DELAY},
    payload::Payload,
    types::NodeId,
};

/// The device alone.
struct Bench {
    device: PowerSwitch,
    timer: Option<u64>,
}

impl Bench {
    fn new() -> Bench {
        Bench { device: PowerSwitch::new(3), timer: None }
    }

    /// What it does, as text.
    fn step(&mut self, at: u64, input: core::Input) -> Vec<String> {
        let mut outputs = Vec::new();
        self.device.step(Now { mono: at, wall: 0 }, input, &mut outputs);
        let words = outputs.into_iter().filter_map(|output| match output {
            core::Output::SetTimer { at, .. } => {
                self.timer = Some(at);
                None
            }
            core::Output::PowerOff { node, .. } => Some(format!("off {}", node.0)),
            core::Output::Tell { to, message: answer } => match Message::restore(answer).unwrap() {
                Message::Fenced { target, request, ok } => {
                    Some(format!("tell {}: {} by {request}, {ok}", to.0, target.0))
                }
                Message::Accepted { target, request } => {
                    Some(format!("tell {}: {} by {request}, accepted", to.0, target.0))
                }
                Message::Throttled { target, request } => {
                    Some(format!("tell {}: {} by {request}, throttled", to.0, target.0))
                }
                Message::Fence { .. } => panic!("a device asks nobody"),
            },
            other => panic!("{other:?}"),
        });
        words.collect()
    }

    fn asked(&mut self, at: u64, from: u16, target: u16, request: u64) -> Vec<String> {
        let message = Message::Fence { target: NodeId(target), request }.erase();
        self.step(at, core::Input::Peer { from: NodeId(from), message })
    }

    fn fires(&mut self) -> Vec<String> {
        let at = self.timer.take().expect("an action is under way");
        self.step(at, core::Input::Timer(0))
    }
}

#[test]
fn the_device_cuts_once_for_all_who_ask_and_answers_the_same_request_again() {
    let mut bench = Bench::new();
    assert!(bench.asked(0, 0, 2, 7).is_empty());
    assert_eq!(bench.timer, Some(ACTION_DELAY));
    assert!(bench.asked(10, 1, 2, 8).is_empty());
    assert!(bench.asked(20, 0, 2, 7).is_empty());
    assert_eq!(bench.fires(), ["off 2", "tell 0: 2 by 7, true", "tell 1: 2 by 8, true"]);
    // The answer was lost.
    assert_eq!(bench.asked(ACTION_DELAY + 50, 0, 2, 7), ["tell 0: 2 by 7, true"]);
    // Another request is another cut, although the outlet is off: somebody may have pressed the button.
    assert!(bench.asked(ACTION_DELAY + 60, 0, 2, 9).is_empty());
    assert_eq!(bench.fires(), ["off 2", "tell 0: 2 by 9, true"]);
}

#[test]
fn a_request_from_the_dead_is_void_unless_it_was_accepted_before() {
    let mut bench = Bench::new();
    bench.asked(0, 0, 1, 1);
    bench.asked(1, 1, 0, 2);
    assert_eq!(bench.fires(), ["off 1", "tell 0: 1 by 1, true"]);
    // Accepted: both are off.
    assert_eq!(bench.fires(), ["off 0", "tell 1: 0 by 2, true"]);

    let mut bench = Bench::new();
    bench.asked(0, 0, 1, 1);
    assert_eq!(bench.fires(), ["off 1", "tell 0: 1 by 1, true"]);
    assert!(bench.asked(ACTION_DELAY + 1, 1, 0, 2).is_empty());
    assert_eq!(bench.timer, None);
    // It runs again, and may ask.
    bench.asked(ACTION_DELAY + REBOOT_DELAY, 1, 0, 3);
    assert_eq!(bench.fires(), ["off 0", "tell 1: 0 by 3, true"]);
}

#[test]
fn the_device_refuses_what_is_on_none_of_its_outlets_and_who_asks_for_its_own() {
    let mut bench = Bench::new();
    assert_eq!(bench.asked(0, 0, 3, 1), ["tell 0: 3 by 1, false"]);
    assert_eq!(bench.asked(0, 0, 0, 2), ["tell 0: 0 by 2, false"]);
    assert_eq!(bench.timer, None);
}

#[test]
fn a_cloud_providers_device_stops_later_and_tells_who_asks_again() {
    let mut bench = Bench::new();
    let cloud = Manner::Cloud { stopping: 1_000, throttle: 10 };
    // It is no candidate's to say how the device works.
    bench.step(0, core::Input::Peer { from: NodeId(1), message: Manner::Lies.erase() });
    bench.step(0, core::Input::Peer { from: NodeId(3), message: cloud.erase() });
    assert_eq!(bench.asked(100, 0, 2, 7), ["tell 0: 2 by 7, accepted"]);
    assert_eq!(bench.timer, Some(1_100));
    assert_eq!(bench.asked(105, 1, 2, 8), ["tell 1: 2 by 8, throttled"]);
    assert_eq!(bench.asked(110, 1, 2, 8), ["tell 1: 2 by 8, accepted"]);
    assert_eq!(bench.asked(500, 0, 2, 7), ["tell 0: 2 by 7, accepted"], "it runs on");
    assert_eq!(bench.fires(), ["off 2"]);
    assert_eq!(bench.asked(1_200, 0, 2, 7), ["tell 0: 2 by 7, true"]);
    assert_eq!(bench.asked(1_205, 1, 2, 8), ["tell 1: 2 by 8, throttled"], "although it has stopped");
    assert_eq!(bench.asked(1_210, 1, 2, 8), ["tell 1: 2 by 8, true"]);
}

#[test]
fn a_lying_device_confirms_and_cuts_nothing() {
    let mut bench = Bench::new();
    bench.step(0, core::Input::Peer { from: NodeId(3), message: Manner::Lies.erase() });
    bench.asked(0, 0, 2, 7);
    assert_eq!(bench.fires(), ["tell 0: 2 by 7, true"]);
    bench.step(ACTION_DELAY, core::Input::Peer { from: NodeId(3), message: Manner::Honest.erase() });
    bench.asked(ACTION_DELAY, 0, 2, 8);
    assert_eq!(bench.fires(), ["off 2", "tell 0: 2 by 8, true"]);
}
