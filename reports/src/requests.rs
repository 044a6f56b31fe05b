//! State of requests in flight. Clients number requests from 1, so a sliding window over the numbers costs a few
//! nanoseconds per request; a map would dominate the cost of judging.

use protocols::types::{NodeId, RequestId};
use std::collections::{BTreeMap, VecDeque};

/// How far ahead of the oldest request in flight a number may be to be kept in the window.
const WINDOW_MAX: u64 = 1 << 16;

/// A value for each request in flight. Memory is bounded by the span of numbers in flight, per client.
#[derive(Debug)]
pub(crate) struct Requests<T> {
    clients: Vec<Client<T>>,
}

#[derive(Debug)]
struct Client<T> {
    base: u64,
    window: VecDeque<Option<T>>,
    /// Requests whose numbers are far from the others': only in logs that are not ours.
    far: BTreeMap<u64, T>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Requests { clients: Vec::new() }
    }
}

impl<T> Client<T> {
    #[inline]
    fn trim(&mut self) {
        while let Some(None) = self.window.front() {
            self.window.pop_front();
            self.base += 1;
        }
    }

    #[inline]
    fn insert(&mut self, number: u64, value: T) {
        if self.window.is_empty() {
            self.base = number;
        }
        match number.checked_sub(self.base) {
            Some(ahead) if ahead < WINDOW_MAX => {
                let ahead = ahead as usize;
                if ahead == self.window.len() {
                    self.window.push_back(Some(value));
                    return;
                }
                while self.window.len() <= ahead {
                    self.window.push_back(None);
                }
                self.window[ahead] = Some(value);
            }
            _ => {
                self.far.insert(number, value);
            }
        }
    }
}

impl<T> Requests<T> {
    /// Stores `value` for a request that begins.
    #[inline]
    pub(crate) fn insert(&mut self, request: RequestId, value: T) {
        let index = request.client.index();
        while self.clients.len() <= index {
            self.clients.push(Client { base: 0, window: VecDeque::new(), far: BTreeMap::new() });
        }
        self.clients[index].insert(request.number, value);
    }

    /// The value of a request in flight.
    #[inline]
    pub(crate) fn get_mut(&mut self, request: RequestId) -> Option<&mut T> {
        let client = self.clients.get_mut(request.client.index())?;
        if let Some(ahead) = request.number.checked_sub(client.base) {
            if let Some(Some(value)) = client.window.get_mut(ahead as usize) {
                return Some(value);
            }
        }
        client.far.get_mut(&request.number)
    }

    /// Removes a request.
    #[inline]
    pub(crate) fn remove(&mut self, request: RequestId) -> Option<T> {
        let client = self.clients.get_mut(request.client.index())?;
        if let Some(ahead) = request.number.checked_sub(client.base) {
            if let Some(value) = client.window.get_mut(ahead as usize).and_then(Option::take) {
                if ahead == 0 {
                    client.trim();
                }
                return Some(value);
            }
        }
        client.far.remove(&request.number)
    }

    /// Removes a client's oldest requests while `over` holds for them.
    pub(crate) fn sweep(&mut self, client: NodeId, mut over: impl FnMut(&T) -> bool) {
        let Some(client) = self.clients.get_mut(client.index()) else { return };
        while let Some(Some(value)) = client.window.front() {
            if !over(value) {
                break;
            }
            client.window.pop_front();
            client.base += 1;
            client.trim();
        }
        if !client.far.is_empty() {
            client.far.retain(|_, value| !over(value));
        }
    }

    /// The values of all requests in flight.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.clients.iter().flat_map(|c| c.window.iter().flatten().chain(c.far.values()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> RequestId {
        RequestId { client: NodeId(3), number }
    }

    #[test]
    fn a_window_slides_with_the_oldest_request() {
        let mut requests = Requests::default();
        (1..=1000).for_each(|n| {
            requests.insert(id(n), n);
            if n > 10 {
                assert_eq!(requests.remove(id(n - 10)), Some(n - 10));
            }
        });
        assert_eq!(requests.remove(id(5)), None, "forgotten twice");
        assert_eq!(requests.values().count(), 10);
        assert!(requests.clients[3].window.len() == 10);
    }

    #[test]
    fn holes_and_strange_numbers_are_kept() {
        let mut requests = Requests::default();
        for n in [5, 9, 2, u64::MAX, 7] {
            requests.insert(id(n), n);
        }
        assert_eq!(requests.get_mut(id(u64::MAX)).copied(), Some(u64::MAX));
        assert_eq!(requests.remove(id(5)), Some(5));
        assert_eq!([2, 7, 9, 6].map(|n| requests.remove(id(n))), [Some(2), Some(7), Some(9), None]);
        requests.sweep(NodeId(3), |_| true);
        assert_eq!(requests.values().count(), 0);
    }

    #[test]
    fn sweeping_stops_at_the_first_that_stays() {
        let mut requests = Requests::default();
        (1..=9).for_each(|n| requests.insert(id(n), n));
        requests.remove(id(2));
        requests.sweep(NodeId(3), |n| *n < 5);
        assert_eq!(requests.values().copied().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
    }
}
