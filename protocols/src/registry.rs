//! Registries: lists to which a new entry adds one line.

/// A constant array whose length is counted, so that a new entry does not require changing it.
///
/// ```
/// protocols::registry! {
///     /// The first primes.
///     pub const PRIMES: [u8] = [2, 3, 5];
/// }
/// assert_eq!(PRIMES.len(), 3);
/// ```
#[macro_export]
macro_rules! registry {
    ($(#[$about:meta])* $vis:vis const $name:ident: [$entry:ty] = [$($value:expr),+ $(,)?];) => {
        $(#[$about])*
        $vis const $name: [$entry; [$(stringify!($value)),+].len()] = [$($value),+];
    };
}
