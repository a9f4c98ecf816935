//! Resolvers: they translate between GraphQL and the operations of metadata.

use super::operations;
use crate::graphql::prelude::*;

mutations! {
    /// Mutation fields.
    pub struct MetadataMutation;

    /// Sets and removes pairs of metadata of a product, a category, an order or a user, for merchants, or of content or
    /// an asset, for editors. All pairs of the call change at once; the others stay. Repeatable: the same call with the
    /// same `version` returns the metadata.
    set_metadata(SetMetadataInput) -> SetMetadataResult by editor_or_merchant;
}
