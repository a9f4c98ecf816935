//! Resolvers: they translate between GraphQL and the operations of assets.

use async_graphql::{Context, Object, Result, connection::Connection};

use super::operations;
use crate::graphql::{
    cx::cx,
    declared::mutations,
    page::paging,
    requester::{Role, Who},
};

/// Query fields.
#[derive(Default)]
pub struct AssetsQuery;

#[Object]
impl AssetsQuery {
    /// An asset by its id or path. Null if it doesn't exist or isn't visible to the caller.
    ///
    /// Who: everyone.
    async fn asset(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id or path of the asset.")] by: AssetBy,
    ) -> Result<Option<Asset>> {
        Ok(operations::asset(cx(context), &by).await?.map(Asset::from))
    }

    /// Assets that the caller may read. By tag, parent or root they are sorted newest first; by attributes
    /// they are sorted by the values of the condition that is looked up, then by id.
    ///
    /// Who: everyone.
    async fn assets(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Filter and sort order.")] by: AssetsBy,
    ) -> Result<Connection<String, Asset>> {
        Ok(operations::assets(cx(context), by, paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct AssetsMutation;

    /// Changes the metadata of an asset. It is refused with `AssetConflict` if the asset changed since the
    /// client read it.
    ///
    /// Who: editor.
    edit_asset(EditAssetInput) -> EditAssetResult
        for Who::Role(Role::Editor);

    /// Adds tags to an asset. Tags are a set, so no version is needed. Repeatable: existing tags are ignored.
    ///
    /// Who: editor.
    tag_asset(TagAssetInput) -> TagAssetResult
        for Who::Role(Role::Editor);

    /// Removes tags from an asset. Tags are a set, so no version is needed. Repeatable: missing tags are
    /// ignored.
    ///
    /// Who: editor.
    untag_asset(UntagAssetInput) -> UntagAssetResult
        for Who::Role(Role::Editor);

    /// Deletes an asset with its file. Downloads that have begun continue to their end.
    ///
    /// Who: editor.
    delete_asset(DeleteAssetInput) -> DeleteAssetResult
        for Who::Role(Role::Editor);

    /// Uploads a file and creates an asset. The file is sent as `multipart/form-data` in the same request.
    /// The media type is detected from the bytes. The size of a picture and the attributes that a camera
    /// wrote into it are stored too.
    ///
    /// Who: editor.
    upload_asset(UploadAssetInput, file) -> UploadAssetResult
        for Who::Role(Role::Editor);

    /// Replaces the file of an asset. The file is sent as `multipart/form-data` in the same request. Readers
    /// get either the old file or the new one, always complete. Downloads that have begun continue with the
    /// old file.
    ///
    /// Who: editor.
    replace_asset(ReplaceAssetInput, file) -> ReplaceAssetResult
        for Who::Role(Role::Editor);
}
