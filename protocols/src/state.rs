//! Comparing and hashing states behind a trait object.

use std::{
    any::Any,
    hash::{Hash, Hasher},
};

/// The state of a core behind a trait object. States of the same type are compared and hashed as such; states of
/// different types differ.
pub trait State: Any + Send {
    /// Whether the two have the same type and are equal.
    fn equals(&self, other: &dyn State) -> bool;
    /// Hashes the state as its own type does.
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
