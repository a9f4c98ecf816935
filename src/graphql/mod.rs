//! The kit that rooms use to speak GraphQL.
//!
//! - [`requester`]: who asks, roles, and the guard on fields
//! - [`scalars`]: `Long`, `DateTime`, `Date`, `CurrencyCode`, `LocaleTag`, `Slug`, and `Money`
//! - [`amounts`]: money as locales write it
//! - [`refusals`]: `UserError`, the shared refusals, and the way out of an operation
//! - [`input`]: checks of arguments, each naming its field
//! - [`text`]: which characters a text may hold
//! - [`page`]: connections with keyset cursors
//! - [`upload`]: files that come with a request
//! - [`types`]: the schema's types, read from its text
//! - [`mark`]: objects that tell their type
//! - [`measure`]: how much an operation asks for
//! - [`plans`]: each text is read and validated once
//! - [`written_out`]: selections without fragments that hold for certain
//! - [`caching`]: how long answers may be kept
//! - [`completion`]: answers as the specification has them
//! - [`node_id`]: opaque global ids
//! - [`trees`]: changes of a tree's shape
//! - [`subscription`]: the state of one thing whenever it changed
//! - [`errors`]: what of an error reaches the client

mod amounts;
pub mod caching;
mod completion;
pub mod errors;
pub mod input;
mod mark;
pub mod measure;
mod merging;
pub mod node_id;
pub mod page;
pub mod plans;
pub mod refusals;
pub mod requester;
pub mod scalars;
pub mod subscription;
pub mod text;
pub mod trees;
pub mod types;
pub mod upload;
mod written_out;

use async_graphql::{Context, SelectionField};

use crate::app::App;

/// The handles of this gateway.
pub fn app<'a>(context: &Context<'a>) -> &'a App {
    context.data_unchecked::<App>()
}

/// Who asks.
pub fn requester<'a>(context: &Context<'a>) -> &'a requester::Requester {
    context.data_unchecked::<requester::Requester>()
}

/// Whether any of these fields is asked for, anywhere below the field that is being resolved. What nobody asks
/// for needn't be read.
pub fn is_selected(context: &Context<'_>, names: &[&str]) -> bool {
    fn below(field: SelectionField<'_>, names: &[&str]) -> bool {
        field.selection_set().any(|field| names.contains(&field.name()) || below(field, names))
    }
    below(context.field(), names)
}
