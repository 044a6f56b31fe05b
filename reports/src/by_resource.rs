//! A table of values by resource, grown on demand.

use protocols::types::Resource;

/// How many values are stored inline: the usual resources, which get every write of a usual run.
const NEAR: usize = 2;

/// Values by [`Resource`]; those not yet accessed have their initial value.
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
    /// A table whose values are all `value` at first.
    pub(crate) fn beginning(value: T) -> Self {
        ByResource { near: std::array::from_fn(|_| value.clone()), far: Vec::new(), beginning: value }
    }

    #[inline]
    pub(crate) fn of(&self, resource: Resource) -> &T {
        match self.near.get(resource.index()) {
            Some(value) => value,
            None => self.far.get(resource.index() - NEAR).unwrap_or(&self.beginning),
        }
    }

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

    /// The values accessed so far and those stored inline, in order of resources.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Resource, &T)> {
        let numbers = (0..=u16::MAX).map(Resource);
        let all = self.near.len() + self.far.len();
        numbers.take(all).map(|resource| (resource, self.of(resource)))
    }
}
