//! Declared fields: what a field of an object shows is one expression.
//!
//! ```text
//! object! {
//!     /// A file with its metadata.
//!     pub type Asset = AssetDocument as asset {
//!         /// Slug, the last step of the path.
//!         slug: &Slug = &asset.metadata.slug,
//!         /// Folder that contains the asset.
//!         parent(context)?: Option<Content> = parent(context, asset).await?,
//!     }
//! }
//! ```
//!
//! `asset` is the object, here an [`ObjectOf`](super::object_of::ObjectOf) the document. `impl Asset as asset` declares the
//! fields of any other type, whose name in the schema can follow as `= "Name"`. With `?` behind its name a field may fail,
//! and `?` can stand in its expression. The arguments of a field stand behind the context. `by merchant` behind the name,
//! or behind the arguments, is the field's guard and the last line of its description.
//!
//! ```text
//! queries! {
//!     /// Query fields.
//!     pub struct TransfersQuery;
//!
//!     /// An account by its global id.
//!     account(
//!         context,
//!         #[graphql(desc = "Global id of the account.")] id: ID,
//!     ) by signed_in: Option<Account> =
//!         operations::account(cx(context), &id).await?.map(Account::from),
//! }
//! ```
//!
//! Every field of a query may fail. `by` is its guard and the last line of its description. A field `with consistency` has
//! the argument `consistency`: a secondary may serve the reads that its expression makes ([`crate::mongo::consistency`]).
//! Only fields have it that nobody decides anything by.
//!
//! ```text
//! subscriptions! {
//!     /// Subscription fields.
//!     pub struct InboxSubscription;
//!
//!     /// Each message that arrives at the caller.
//!     message_arrived(context) by signed_in: Message =
//!         operations::message_arrived(cx(context), Progress::of(context))?,
//! }
//! ```
//!
//! The expression of a subscription field is the stream of its events, each with its result.

/// Declares the fields of an object type; see [`fields`](crate::graphql::fields).
macro_rules! object {
    ($(#[$meta:meta])* pub type $object:ident = $document:ty as $shown:ident { $($fields:tt)* }) => {
        $(#[$meta])*
        pub type $object = $crate::graphql::object_of::ObjectOf<$document>;

        $crate::graphql::fields::object! { $(#[$meta])* impl $object as $shown { $($fields)* } }
    };
    (
        $(#[$meta:meta])*
        impl $object:ty $(= $name:tt)? as $shown:ident {
            $(
                $(#[$field_meta:meta])*
                $visibility:vis $field:ident $((
                    $context:ident
                    $(, $(#[$argument_meta:meta])* $argument:ident: $argument_type:ty)* $(,)?
                ))?
                $(by $who:ident)? $(?: $fallible:ty)? $(: $type:ty)? = $value:expr,
            )*
        }
    ) => {
        $(#[$meta])*
        #[async_graphql::Object$((name = $name))?]
        impl $object {
            $(
                $(#[$field_meta])*
                $(
                    #[doc = ""]
                    #[doc = $crate::graphql::requester::who!(text $who)]
                    #[graphql(guard = $crate::graphql::requester::who!(guard $who))]
                )?
                $visibility async fn $field(
                    &self,
                    $(
                        $context: &async_graphql::Context<'_>,
                        $( $(#[$argument_meta])* $argument: $argument_type, )*
                    )?
                ) -> $($type)? $(async_graphql::Result<$fallible>)? {
                    let $shown = self;
                    // The field may be a constant.
                    let _ = $shown;
                    $crate::graphql::fields::shown!($value $(; $fallible)?)
                }
            )*
        }
    };
}

/// The value of a field, as the result that a field which may fail has.
macro_rules! shown {
    ($value:expr) => {
        $value
    };
    ($value:expr; $fallible:ty) => {
        Ok($value)
    };
}

/// Declares the query fields of a room; see [`fields`](crate::graphql::fields).
macro_rules! queries {
    (
        $(#[$meta:meta])*
        pub struct $name:ident;
        $(
            $(#[$field_meta:meta])*
            $field:ident(
                $context:ident
                $(, $(#[$argument_meta:meta])* $argument:ident: $argument_type:ty)* $(,)?
            ) $(by $who:ident)? $(with $consistency:ident)?: $type:ty = $value:expr,
        )*
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        pub struct $name;

        #[allow(clippy::too_many_arguments, reason = "a field has as many as its declaration says")]
        #[async_graphql::Object]
        impl $name {
            $(
                $(#[$field_meta])*
                $(
                    #[doc = ""]
                    #[doc = $crate::graphql::requester::who!(text $who)]
                    #[graphql(guard = $crate::graphql::requester::who!(guard $who))]
                )?
                async fn $field(
                    &self,
                    $context: &async_graphql::Context<'_>,
                    $( $(#[$argument_meta])* $argument: $argument_type, )*
                    $(
                        #[graphql(desc = "How current the answer is. It applies to this field, not to the fields below it. \
                                          Default: `STRONG`, unless the operator sets another one.")]
                        $consistency: Option<$crate::config::Consistency>,
                    )?
                ) -> async_graphql::Result<$type> {
                    $crate::graphql::fields::found!($type, $value $(, $consistency)?)
                }
            )*
        }
    };
}

/// Declares the subscription fields of a room; see [`fields`](crate::graphql::fields).
macro_rules! subscriptions {
    (
        $(#[$meta:meta])*
        pub struct $name:ident;
        $(
            $(#[$field_meta:meta])*
            $field:ident(
                $context:ident
                $(, $(#[$argument_meta:meta])* $argument:ident: $argument_type:ty)* $(,)?
            ) $(by $who:ident)?: $type:ty = $stream:expr,
        )*
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        pub struct $name;

        #[async_graphql::Subscription]
        impl $name {
            $(
                $(#[$field_meta])*
                $(
                    #[doc = ""]
                    #[doc = $crate::graphql::requester::who!(text $who)]
                    #[graphql(guard = $crate::graphql::requester::who!(guard $who))]
                )?
                async fn $field(
                    &self,
                    $context: &async_graphql::Context<'_>,
                    $( $(#[$argument_meta])* $argument: $argument_type, )*
                ) -> async_graphql::Result<
                    impl futures_util::Stream<Item = async_graphql::Result<$type>> + use<>,
                > {
                    Ok($stream)
                }
            )*
        }
    };
}

/// The result of a query field, whose reads have the consistency that its call asks for. It is boxed, because the futures
/// of the merged objects around it contain that of each field.
macro_rules! found {
    ($type:ty, $value:expr) => {
        Box::pin(async { Ok::<$type, async_graphql::Error>($value) }).await
    };
    ($type:ty, $value:expr, $consistency:ident) => {
        Box::pin($crate::mongo::consistency::asked($consistency, async {
            Ok::<$type, async_graphql::Error>($value)
        }))
        .await
    };
}

pub(crate) use {found, object, queries, shown, subscriptions};
