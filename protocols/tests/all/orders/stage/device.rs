//! The device that cuts power.

use super::Stage;
use protocols::{
    bench::event::Event,
    clock::Now,
    core::{self, Core},
    payload::{Opaque, Payload},
    service::power::Manner,
    types::NodeId,
};

impl Stage {
    /// With a device that behaves in that way.
    pub fn with_device(mut self, manner: Manner) -> Stage {
        let from = NodeId(self.device_id().0 + 1);
        self.device_takes(core::Input::Peer { from, message: manner.erase() });
        self
    }

    fn device_id(&self) -> NodeId {
        NodeId(self.lives.len() as u16)
    }

    pub(super) fn device_hears(&mut self, event: Event<Opaque>) {
        match event {
            Event::Outside { from, message, .. } => self.device_takes(core::Input::Peer { from, message }),
            Event::Alarm(_) => self.device_takes(core::Input::Timer(0)),
            _ => {}
        }
    }

    fn device_takes(&mut self, input: core::Input) {
        let Some(device) = &mut self.device else { return };
        let (mono, mut outputs) = (self.bench.now(), Vec::new());
        device.step(Now { mono, wall: mono }, input, &mut outputs);
        for output in outputs {
            match output {
                core::Output::PowerOff { node, restart_after } => {
                    self.bench.crash(node, 0);
                    self.bench.start_at(mono + restart_after.expect("power comes back"), node);
                }
                core::Output::Tell { to, message } => self.bench.send(self.device_id(), to, message),
                core::Output::SetTimer { at, .. } => self.bench.alarm(at, at),
                other => unreachable!("{other:?}"),
            }
        }
    }
}
