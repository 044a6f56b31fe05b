//! Values of a protocol's own types, and their form where the protocol is unknown: erased, and still compared and
//! hashed.

use crate::news::{News, Purpose};
use std::{
    any::Any,
    fmt::{self, Debug},
    hash::{Hash, Hasher},
    sync::Arc,
};

/// A value of a protocol's or service's own type: a message between candidates, a request, a reply. Elsewhere it
/// travels as an [`Opaque`], and comes back typed.
pub trait Payload: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// The kind of message, for message counts.
    fn kind(&self) -> &'static str {
        "message"
    }

    /// Whether it is data between candidates rather than a message of the election.
    fn is_data(&self) -> bool {
        false
    }

    /// The purpose of a request to a service.
    fn purpose(&self) -> Purpose {
        Purpose::default()
    }

    /// What a service's reply tells about leadership.
    fn news(&self) -> News {
        News::default()
    }

    /// Erases the type. A protocol that wraps others returns the inner value, so that it comes back as theirs.
    fn erase(self) -> Opaque {
        Opaque::new(self)
    }

    /// Restores the type.
    ///
    /// # Errors
    /// A value of another type is given back.
    fn restore(opaque: Opaque) -> Result<Self, Opaque> {
        opaque.downcast()
    }
}

/// A [`Payload`] with its type erased. Values of the same type are compared and hashed as such; values of different
/// types differ.
#[derive(Clone)]
pub struct Opaque(Arc<dyn Value>);

/// The operations on a payload with its type erased.
trait Value: Send + Sync {
    fn message_kind(&self) -> &'static str;
    fn carries_data(&self) -> bool;
    fn purpose(&self) -> Purpose;
    fn news(&self) -> News;
    fn debug(&self, f: &mut fmt::Formatter) -> fmt::Result;
    fn equals(&self, other: &dyn Value) -> bool;
    fn hash_into(&self, state: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Payload> Value for T {
    fn message_kind(&self) -> &'static str {
        self.kind()
    }

    fn carries_data(&self) -> bool {
        self.is_data()
    }

    fn purpose(&self) -> Purpose {
        Payload::purpose(self)
    }

    fn news(&self) -> News {
        Payload::news(self)
    }

    fn debug(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Debug::fmt(self, f)
    }

    fn equals(&self, other: &dyn Value) -> bool {
        other.as_any().downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn hash_into(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Opaque {
    fn new<T: Payload>(value: T) -> Self {
        Opaque(Arc::new(value))
    }

    /// The value, if it has that type.
    pub fn get<T: Payload>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }

    /// Restores the type.
    ///
    /// # Errors
    /// A value of another type is given back.
    pub fn downcast<T: Payload>(self) -> Result<T, Opaque> {
        if self.get::<T>().is_none() {
            return Err(self);
        }
        let again = self.clone();
        self.0.into_any().downcast().map(Arc::unwrap_or_clone).map_err(|_| again)
    }
}

impl Payload for Opaque {
    fn kind(&self) -> &'static str {
        self.0.message_kind()
    }

    fn is_data(&self) -> bool {
        self.0.carries_data()
    }

    fn purpose(&self) -> Purpose {
        self.0.purpose()
    }

    fn news(&self) -> News {
        self.0.news()
    }

    fn erase(self) -> Opaque {
        self
    }

    fn restore(opaque: Opaque) -> Result<Self, Opaque> {
        Ok(opaque)
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Eq for Opaque {}

impl Hash for Opaque {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_into(state);
    }
}

impl Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.debug(f)
    }
}

/// No value: for the messages or requests of a protocol that has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Nothing {}

impl Payload for Nothing {}

// Comparing and hashing states behind a trait object.

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Word {
        Hello(u8),
        Text(String),
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Other(u8);

    impl Payload for Word {
        fn kind(&self) -> &'static str {
            if matches!(self, Word::Hello(_)) { "hello" } else { "text" }
        }
    }

    impl Payload for Other {}

    fn hash(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn what_was_erased_comes_back_as_it_was() {
        let text = Word::Text("one".into());
        let opaque = text.clone().erase();
        assert_eq!((opaque.kind(), format!("{opaque:?}")), ("text", "Text(\"one\")".into()));
        assert_eq!(hash(&opaque), hash(&text));
        assert_eq!(Word::restore(opaque.clone()), Ok(text.clone()));
        assert_eq!(opaque.get(), Some(&text), "a clone has not taken it away");
    }

    #[test]
    fn what_is_of_another_type_is_given_back() {
        let hello = Word::Hello(7).erase();
        assert_eq!(Other::restore(hello.clone()), Err(hello.clone()));
        assert_ne!(Other(7).erase(), hello);
        assert_ne!(Word::Hello(8).erase(), hello);
        assert_eq!(Word::Hello(7).erase(), hello);
        assert_eq!(Other(7).erase().kind(), "message");
    }

    #[test]
    fn erasing_twice_is_erasing_once() {
        let hello = Word::Hello(7).erase();
        assert_eq!(Opaque::restore(hello.clone().erase()), Ok(hello.clone()));
        assert_eq!(hello.erase().get(), Some(&Word::Hello(7)));
    }
}
