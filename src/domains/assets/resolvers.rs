//! Resolvers: they translate between GraphQL and the operations of assets.

use super::operations;
use crate::graphql::prelude::*;

queries! {
    /// Query fields.
    pub struct AssetsQuery;

    /// An asset by its id or path. Null if it doesn't exist or isn't visible to the caller.
    ///
    /// Who: everyone.
    asset(
        context,
        #[graphql(desc = "Global id or path of the asset.")] by: AssetBy,
    ) with consistency: Option<Asset> = operations::asset(cx(context), by).await?.map(Asset::from),

    /// Assets that the caller may read. By tag, parent or root they are sorted newest first; by attributes
    /// they are sorted by the values of the condition that is looked up, then by id.
    ///
    /// Who: everyone.
    assets(
        context,
        #[graphql(desc = "Filter and sort order.")] by: AssetsBy,
    ) with consistency: Connection<Asset> = operations::assets(cx(context), by, paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct AssetsMutation;

    /// Changes the metadata of an asset. It is refused with `AssetConflict` if the asset changed since the
    /// client read it.
    edit_asset(EditAssetInput) -> EditAssetResult by editor;

    /// Adds tags to an asset. Tags are a set, so no version is needed. Repeatable: existing tags are ignored.
    tag_asset(TagAssetInput) -> TagAssetResult by editor;

    /// Removes tags from an asset. Tags are a set, so no version is needed. Repeatable: missing tags are
    /// ignored.
    untag_asset(UntagAssetInput) -> UntagAssetResult by editor;

    /// Replaces all images of a product, person or category. The images of content are part of its text: `createContent`
    /// and `editContent` set them. Repeatable: the same images once more change nothing.
    set_images(SetImagesInput) -> SetImagesResult by merchant;

    /// Deletes an asset with its file. Downloads that have begun continue to their end.
    delete_asset(DeleteAssetInput) -> DeleteAssetResult by editor;

    /// Uploads a file and creates an asset. The file is sent as `multipart/form-data` in the same request.
    /// The media type is detected from the bytes. The size of a picture and the attributes that a camera
    /// wrote into it are stored too.
    upload_asset(UploadAssetInput, file) -> UploadAssetResult by editor;

    /// Replaces the file of an asset. The file is sent as `multipart/form-data` in the same request. Readers
    /// get either the old file or the new one, always complete. Downloads that have begun continue with the
    /// old file.
    replace_asset(ReplaceAssetInput, file) -> ReplaceAssetResult by editor;
}
