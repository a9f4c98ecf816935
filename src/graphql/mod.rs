//! GraphQL kit of the rooms.
//!
//! - [`requester`]: the requester, roles, and the guard of fields
//! - [`author`]: the author of a text or file
//! - [`scalars`]: `Long`, `DateTime`, `Date`, `CurrencyCode`, `LocaleTag`, `Slug`, and `Money`
//! - [`amounts`]: formatting of money for locales
//! - [`refusals`]: the shared refusals, and the conversion of an operation's result
//! - [`codes`]: declared refusals, and the enum and interface that list them
//! - [`cx`]: the context of an operation: the gateway and the caller
//! - [`declared`]: declared inputs
//! - [`mutations`]: declared mutations and their results
//! - [`bulk`]: declared inputs that a call has many of; [`many`]: lists of them that are parsed with their request
//! - [`fields`]: declared fields of objects, and of the roots `Query` and `Subscription`
//! - [`interface`]: declared interfaces
//! - [`object_of`]: object types that show a stored document
//! - [`input`]: validation of arguments; each error names its field
//! - [`text`]: characters that a text may contain
//! - [`page`]: connections with keyset cursors
//! - [`upload`]: files in a request
//! - [`node_id`]: opaque global ids
//! - [`shares`]: limits of the gateway, and the share of each client
//! - [`shared`]: objects that many subscribers get, resolved once per operation
//! - [`subscription`]: the state of one document after each change
//! - [`watched`]: values that many subscribers follow, each read by one task
//! - [`errors`]: conversion of errors for the client; `wording` has the library's messages in other words

mod amounts;
pub mod author;
pub mod bulk;
pub mod codes;
pub mod cx;
pub mod declared;
pub mod errors;
pub mod fields;
pub mod input;
pub mod interface;
pub mod many;
pub mod mutations;
pub mod node_id;
pub mod object_of;
pub mod page;
pub mod prelude;
pub mod refusals;
pub mod requester;
pub mod scalars;
pub mod shared;
pub mod shares;
pub mod subscription;
pub mod text;
pub mod upload;
pub mod watched;
mod wording;

use async_graphql::{Context, SelectionField};

use crate::app::App;

/// The handles of this gateway.
pub fn app<'a>(context: &Context<'a>) -> &'a App {
    context.data_unchecked::<App>()
}

/// The caller of the operation.
pub fn requester<'a>(context: &Context<'a>) -> &'a requester::Requester {
    context.data_unchecked::<requester::Requester>()
}

/// Whether any of these fields is selected at any depth below the current field. Fields that aren't selected
/// needn't be read.
pub fn is_selected(context: &Context<'_>, names: &[&str]) -> bool {
    fn below(field: SelectionField<'_>, names: &[&str]) -> bool {
        field.selection_set().any(|field| names.contains(&field.name()) || below(field, names))
    }
    below(context.field(), names)
}
