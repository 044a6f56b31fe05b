//! Something of every resource; what was not looked at yet is at its beginning.

use protocols::types::Resource;

/// So many lie in place: the usual ones, which every write of a usual run goes to.
const NEAR: usize = 2;

/// Values by [`Resource`].
#[derive(Clone, Debug)]
pub(crate) struct ByResource<T> {
    near: [T; NEAR],
    far: Vec<T>,
    beginning: T,
}

impl<T: Clone + Default> Default for ByResource<T> {
    fn default() -> Self {
        ByResource::beginning(T::default())
    }
}

impl<T: Clone> ByResource<T> {
    /// Every value begins as this one.
    pub(crate) fn beginning(value: T) -> Self {
        ByResource { near: std::array::from_fn(|_| value.clone()), far: Vec::new(), beginning: value }
    }

    /// The value of `resource`.
    #[inline]
    pub(crate) fn of(&self, resource: Resource) -> &T {
        match self.near.get(resource.index()) {
            Some(value) => value,
            None => self.far.get(resource.index() - NEAR).unwrap_or(&self.beginning),
        }
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn at(&mut self, resource: Resource) -> &mut T {
        match resource.index() {
            place if place < NEAR => &mut self.near[place],
            place => self.far(place - NEAR),
        }
    }

    #[cold]
    fn far(&mut self, place: usize) -> &mut T {
        if place >= self.far.len() {
            self.far.resize(place + 1, self.beginning.clone());
        }
        &mut self.far[place]
    }

    /// All that were looked at, in the order of the table, and the usual ones.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Resource, &T)> {
        let numbers = (0..=u16::MAX).map(Resource);
        let all = self.near.len() + self.far.len();
        numbers.take(all).map(|resource| (resource, self.of(resource)))
    }
}
