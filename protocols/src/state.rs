//! States without their types: what can be compared and hashed, behind a trait object.

use std::{
    any::Any,
    hash::{Hash, Hasher},
};

/// The state of a core that stands behind a trait object. Two of one type are compared and hashed as such; two of different
/// types differ.
pub trait State: Any + Send {
    /// Are the two of one type, and equal?
    fn equals(&self, other: &dyn State) -> bool;
    /// Hashes it as its own type does.
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + Send + Eq + Hash> State for T {
    fn equals(&self, other: &dyn State) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}
