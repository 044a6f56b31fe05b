//! Something of every resource; what was not looked at yet is at its beginning.

use protocols::types::Resource;

/// Values by [`Resource`].
#[derive(Clone, Debug)]
pub(crate) struct ByResource<T> {
    beginning: T,
    values: Vec<T>,
}

impl<T: Clone + Default> Default for ByResource<T> {
    fn default() -> Self {
        ByResource::beginning(T::default())
    }
}

impl<T: Clone> ByResource<T> {
    /// Every value begins as this one.
    pub(crate) fn beginning(value: T) -> Self {
        ByResource { beginning: value, values: Vec::new() }
    }

    /// The value of `resource`.
    #[inline]
    pub(crate) fn of(&self, resource: Resource) -> &T {
        self.values.get(resource.index()).unwrap_or(&self.beginning)
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn at(&mut self, resource: Resource) -> &mut T {
        let place = resource.index();
        if place >= self.values.len() {
            self.grow(place);
        }
        &mut self.values[place]
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        self.values.resize(place + 1, self.beginning.clone());
    }

    /// Those that were looked at, in the order of the table.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Resource, &T)> {
        self.values.iter().enumerate().map(|(place, value)| (Resource(place as u8), value))
    }
}
