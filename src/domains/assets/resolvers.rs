//! Translates between GraphQL and the operations of assets.

use async_graphql::{Context, Object, Result, connection::Connection};

use super::{
    operations,
    operations::{Edit, NewAsset, Replacement},
    types::{
        Asset, AssetBy, AssetsBy, DeleteAssetInput, DeleteAssetResult, EditAssetInput,
        EditAssetResult, ReplaceAssetInput, ReplaceAssetResult, TagAssetInput, TagAssetResult,
        UntagAssetInput, UntagAssetResult, UploadAssetInput, UploadAssetResult,
    },
};
use crate::{
    error::Error,
    graphql::{
        app,
        refusals::answer,
        requester,
        requester::{Role, Who},
        upload::{Files, Incoming, Upload},
    },
};

/// Reads.
#[derive(Default)]
pub struct AssetsQuery;

#[Object]
impl AssetsQuery {
    /// One asset; null where there is none, or none for you to read.
    ///
    /// Who: everyone.
    async fn asset(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which.")] by: AssetBy,
    ) -> Result<Option<Asset>> {
        Ok(operations::asset(app(context), requester(context), &by).await?.map(Asset::from))
    }

    /// Assets that you may read: by tag or parent the newest first; by attributes in the order of the first
    /// condition's values, and of their ids.
    ///
    /// Who: everyone.
    async fn assets(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which, in one of the ways that have an index.")] by: AssetsBy,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor of the last one that you have.")] after: Option<String>,
    ) -> Result<Connection<String, Asset>> {
        let (app, requester) = (app(context), requester(context));
        let (page, found) =
            operations::assets(app, requester, &by, first, after.as_deref()).await?;
        Ok(page.connection(
            found,
            |(position, _)| position.clone(),
            |(_, asset)| Asset::from(asset),
        ))
    }
}

/// Writes.
#[derive(Default)]
pub struct AssetsMutation;

#[Object]
impl AssetsMutation {
    /// Uploads a file, sent as `multipart/form-data` in the same request. What it is, is seen by its
    /// bytes; a picture's size and what a camera wrote into it are taken over.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn upload_asset(
        &self,
        context: &Context<'_>,
        input: UploadAssetInput,
    ) -> Result<UploadAssetResult> {
        let incoming = file_of(context, input.file).await?;
        let new = NewAsset {
            parent: input.parent,
            slug: input.slug,
            title: input.title,
            language: input.language,
            tags: input.tags,
            attributes: input.attributes,
            access: input.access,
            publish_at: input.publish_at.map(|at| at.0),
            op_id: input.op_id,
        };
        let subject = requester(context).subject()?;
        Ok(answer(operations::upload(app(context), subject, new, incoming).await)?)
    }

    /// Gives an asset another file, sent as `multipart/form-data` in the same request. Readers get the
    /// old file or the new one, each whole; downloads that have begun come to their end.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn replace_asset(
        &self,
        context: &Context<'_>,
        input: ReplaceAssetInput,
    ) -> Result<ReplaceAssetResult> {
        let ReplaceAssetInput { asset, file, nonce, op_id } = input;
        let incoming = file_of(context, file).await?;
        let replacement = Replacement { asset, nonce, op_id };
        let subject = requester(context).subject()?;
        Ok(answer(operations::replace(app(context), subject, replacement, incoming).await)?)
    }

    /// Changes what is known of an asset, if nobody has changed it since you read its nonce.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn edit_asset(
        &self,
        context: &Context<'_>,
        input: EditAssetInput,
    ) -> Result<EditAssetResult> {
        let EditAssetInput { asset, nonce, title, language, access, publish_at, attributes } =
            input;
        let publish_at = publish_at.map(|at| at.0);
        let edit = Edit { asset, nonce, title, language, access, publish_at, attributes };
        Ok(answer(operations::edit(app(context), edit).await)?)
    }

    /// Adds tags. They are a set: no nonce is needed.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn tag_asset(
        &self,
        context: &Context<'_>,
        input: TagAssetInput,
    ) -> Result<TagAssetResult> {
        Ok(answer(operations::tag(app(context), &input.asset, &input.tags).await)?)
    }

    /// Removes tags. They are a set: no nonce is needed.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn untag_asset(
        &self,
        context: &Context<'_>,
        input: UntagAssetInput,
    ) -> Result<UntagAssetResult> {
        Ok(answer(operations::untag(app(context), &input.asset, &input.tags).await)?)
    }

    /// Deletes an asset. Downloads that have begun come to their end.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn delete_asset(
        &self,
        context: &Context<'_>,
        input: DeleteAssetInput,
    ) -> Result<DeleteAssetResult> {
        let DeleteAssetInput { asset, nonce } = input;
        Ok(answer(operations::delete(app(context), &asset, nonce.as_ref()).await)?)
    }
}

/// The file that came with the request.
async fn file_of(context: &Context<'_>, file: Upload) -> Result<Incoming, Error> {
    let Some(files) = context.data_opt::<Files>() else {
        let reason = "needs a request as multipart/form-data";
        return Err(Error::bad_input("input.file", reason));
    };
    files.take("input.file", file).await
}
