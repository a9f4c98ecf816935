//! Declared refusals. One declaration gives the type with its `code` and `message`, the value of the enum
//! `ErrorCode`, and the member of the interface `UserError`. So no list of the refusals of all rooms is needed.
//!
//! ```text
//! refusal! {
//!     /// The cart can't be changed in its present state.
//!     struct CartNotActive as "CART_NOT_ACTIVE" {
//!         /// State of the cart.
//!         pub cart_state: CartState,
//!     }
//! }
//! ```
//!
//! `CartNotActive::because(message, cart_state)` makes one.

use std::{any::type_name, borrow::Cow, fmt, marker::PhantomData};

use async_graphql::{
    ContextSelectionSet, Enum, Interface, Name, OutputType, Positioned, ServerResult, Value,
    parser::types::Field,
    registry::{MetaType, Registry},
};

use super::refusals::NotFound;

/// A refusal type of the schema; [`refusal!`](crate::graphql::codes) implements it.
pub trait Coded: OutputType {
    /// Value of the enum `ErrorCode`. Several types may have the same one.
    const CODE: &'static str;
    /// Description of the type.
    const ABOUT: &'static str;

    /// Explanation in English, for people.
    fn message(self) -> String;
}

/// The field `code` of the refusal `R`.
pub struct Code<R>(PhantomData<fn() -> R>);

impl<R> Code<R> {
    /// The code of `R`.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R> Default for Code<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> Clone for Code<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Code<R> {}

impl<R> fmt::Debug for Code<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(type_name::<R>())
    }
}

/// Kind of refusal. Programs can rely on these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
enum ErrorCode {
    NotFound,
}

/// A refusal: a mutation was refused for an expected reason. Carts, stock, balances and content are as before.
#[derive(Debug, Interface)]
#[graphql(
    field(name = "code", ty = "&Code<NotFound>", desc = "Kind of refusal, for programs."),
    field(
        name = "message",
        ty = "&String",
        desc = "Explanation in English, for people. Programs should use `code`."
    )
)]
pub enum UserError {
    /// The first member; [`UserError::register`] adds the others.
    NotFound(NotFound),
}

impl UserError {
    /// Registers the interface with all refusals as its members. The library drops types that no field names, so
    /// this is done after all other types are registered.
    pub fn register(registry: &mut Registry) {
        Self::create_type_info(registry);
        let name = Self::type_name();
        let refusals = registry.implements.iter();
        let refusals = refusals.filter(|(_, interfaces)| interfaces.contains(&*name));
        let refusals: Vec<_> = refusals.map(|(refusal, _)| refusal.clone()).collect();
        let exists = |refusal: &String| registry.types.contains_key(refusal);
        let refusals: Vec<_> = refusals.into_iter().filter(exists).collect();
        if let Some(MetaType::Interface { possible_types, .. }) = registry.types.get_mut(&*name) {
            possible_types.extend(refusals);
        }
    }
}

impl<R: Coded> OutputType for Code<R> {
    fn type_name() -> Cow<'static, str> {
        <ErrorCode as OutputType>::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        let name = <ErrorCode as OutputType>::create_type_info(registry);
        if let Some(MetaType::Enum { enum_values, .. }) =
            registry.types.get_mut(&*Self::type_name())
            && let Some(value) = enum_values.values().next().cloned()
        {
            // The description is that of the type with the code's name.
            let refusal = R::type_name().to_ascii_uppercase();
            let is_own = refusal == R::CODE.replace('_', "");
            if is_own || !enum_values.contains_key(R::CODE) {
                let description = Some(R::ABOUT.trim().to_owned());
                let value = async_graphql::registry::MetaEnumValue {
                    name: R::CODE.to_owned(),
                    description,
                    ..value
                };
                enum_values.insert(R::CODE.to_owned(), value);
            }
        }
        registry.add_implements(&R::type_name(), &UserError::type_name());
        name
    }

    async fn resolve(
        &self,
        _: &ContextSelectionSet<'_>,
        _: &Positioned<Field>,
    ) -> ServerResult<Value> {
        Ok(Value::Enum(Name::new(R::CODE)))
    }
}

/// Declares refusals; see [`codes`](crate::graphql::codes).
macro_rules! refusal {
    ($(
        $(#[doc = $about:literal])+
        struct $name:ident as $code:literal $($marker:ident)? {
            $( $(#[$meta:meta])* pub $field:ident: $type:ty, )*
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone, async_graphql::SimpleObject)]
        #[graphql($($marker)?)]
        pub struct $name {
            #[doc = concat!("Always `", $code, "`.")]
            pub code: $crate::graphql::codes::Code<$name>,
            /// Explanation in English, for people. Programs should use `code`.
            pub message: String,
            $( $(#[$meta])* pub $field: $type, )*
        }

        impl $name {
            /// The refusal with this message, which must be safe to show to clients.
            pub(crate) fn because(message: impl Into<String>, $($field: $type),*) -> Self {
                Self { code: $crate::graphql::codes::Code::new(), message: message.into(), $($field),* }
            }
        }

        impl $crate::graphql::codes::Coded for $name {
            const CODE: &'static str = $code;
            const ABOUT: &'static str = concat!($($about, "\n"),+);

            fn message(self) -> String {
                self.message
            }
        }

        impl $crate::graphql::refusals::Refusal for $name {}
    )+};
}

pub(crate) use refusal;
