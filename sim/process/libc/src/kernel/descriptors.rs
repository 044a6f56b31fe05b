//! The table of descriptors, and what becomes of an object when its last one is closed.

use super::{Descriptor, FIRST, Kernel, Kind, Object, place};

impl Kernel {
    /// A new object, without a descriptor yet.
    pub fn add_object(&mut self, kind: Kind, nonblocking: bool) -> usize {
        let object = Object { kind, nonblocking, descriptors: 0, watchers: Vec::new() };
        match self.objects.iter().position(Option::is_none) {
            Some(free) => {
                self.objects[free] = Some(object);
                free
            }
            None => {
                self.objects.push(Some(object));
                self.objects.len() - 1
            }
        }
    }

    /// The lowest free descriptor, from `least` on, stands for the object.
    pub fn describe(&mut self, object: usize, least: i32, close_on_exec: bool) -> i32 {
        // Those of the machine are below all of these.
        let least = place(least).unwrap_or(0);
        self.descriptors.resize(self.descriptors.len().max(least), None);
        let free = (least..self.descriptors.len()).find(|at| self.descriptors[*at].is_none());
        let at = free.unwrap_or(self.descriptors.len());
        self.put_descriptor(at, object, close_on_exec);
        FIRST + at as i32
    }

    fn put_descriptor(&mut self, at: usize, object: usize, close_on_exec: bool) {
        if at >= self.descriptors.len() {
            self.descriptors.resize(at + 1, None);
        }
        self.descriptors[at] = Some(Descriptor { object, close_on_exec });
        self.object_mut(object).descriptors += 1;
    }

    /// `dup2`.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn describe_as(&mut self, old: i32, new: i32, close_on_exec: bool) -> Result<i32, i32> {
        let object = self.find(old)?;
        let at = place(new)?;
        if old != new {
            // As in the kernel, a descriptor that was in use is closed silently.
            let _: Result<(), i32> = self.close(new);
            self.put_descriptor(at, object, close_on_exec);
        }
        Ok(new)
    }

    pub fn open(&mut self, kind: Kind, nonblocking: bool, close_on_exec: bool) -> i32 {
        let object = self.add_object(kind, nonblocking);
        self.describe(object, FIRST, close_on_exec)
    }

    /// The descriptor's own flag.
    pub fn close_on_exec(&mut self, descriptor: i32) -> Option<&mut bool> {
        let at = place(descriptor).ok()?;
        self.descriptors.get_mut(at)?.as_mut().map(|found| &mut found.close_on_exec)
    }

    /// # Errors
    /// `EBADF`.
    pub fn close(&mut self, descriptor: i32) -> Result<(), i32> {
        let object = self.find(descriptor)?;
        self.descriptors[(descriptor - FIRST) as usize] = None;
        self.object_mut(object).descriptors -= 1;
        if self.object(object).descriptors == 0 {
            self.drop_object(object);
        }
        Ok(())
    }

    pub(super) fn drop_object(&mut self, object: usize) {
        for (epoll, descriptor) in std::mem::take(&mut self.object_mut(object).watchers) {
            if let Kind::Epoll(epoll) = &mut self.object_mut(epoll).kind {
                epoll.remove((descriptor, object));
            }
        }
        // Whoever waits for it looks again, and finds that it is gone.
        self.wake(|on| on.waits_for(object), usize::MAX);
        let Some(dropped) = self.objects[object].take() else { return };
        match dropped.kind {
            Kind::Socket(socket) => self.drop_socket(object, *socket),
            Kind::Local(local) => self.drop_local(local),
            Kind::Epoll(epoll) => {
                for (descriptor, watched) in epoll.watched() {
                    self.object_mut(watched).watchers.retain(|watcher| *watcher != (object, descriptor));
                }
            }
            Kind::Event { .. } | Kind::Random => {}
        }
    }
}
