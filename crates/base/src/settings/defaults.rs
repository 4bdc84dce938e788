//! Settings whose defaults stand beside them.

/// Declares a struct with the default of each field, and implements [`Default`].
///
/// ```
/// airwatt_base::with_defaults! {
///     /// How pages are loaded.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Loading {
///         /// Number of connections.
///         pub connections: u32 = 6,
///         /// Whether they are kept.
///         pub kept: bool = true,
///     }
/// }
/// assert_eq!(Loading::default(), Loading { connections: 6, kept: true });
/// ```
#[macro_export]
macro_rules! with_defaults {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty = $value:expr),+ $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type),+
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self { $($field: $value),+ }
            }
        }
    };
}
