//! Uploads: of a new asset's first file, or of another file for an existing asset.

use super::{
    super::{
        documents::{
            AssetDocument, AssetKind, Attribute, Metadata, ParentDocument, Upload, path_in,
        },
        store::{self, Expected},
        types::{
            AssetConflict, ReplaceAssetInput, ReplaceAssetResult, UploadAssetInput,
            UploadAssetResult,
        },
    },
    Changed,
    blobs::new_blob,
    changes::{dispose, settle},
    find_visible,
    receive::{OpenFile, slug_of},
    reservation::{Refusals, Reservation, is_committed, with_file},
};
use crate::{
    domains::identities::{self, Author},
    graphql::{prelude::*, upload::Incoming},
    mongo::Version,
};

/// Number of tries for a slug that other attempts reserve and free at the same time.
const TRIES: usize = 5;

/// Creates an asset, once per idempotency key.
pub async fn upload_asset(
    cx: Cx<'_>,
    input: UploadAssetInput,
    incoming: Incoming,
) -> Answer<UploadAssetResult> {
    let input = input.checked()?;
    let op = cx.op(&[cx.requester.subject()?, "uploadAsset"], &input);
    if input.idempotency_key.is_some() {
        // If the first call was applied, a repeat returns its result, whatever became of the parent.
        let found = store::assets(&cx).get_settled(&op.id).await?;
        if let Some(found) = found.filter(|found| found.origin.is_some()) {
            let file = OpenFile::open(&cx, incoming).await?;
            return repeated(found, &op, file).await;
        }
    }
    create(cx, input.into_inner(), &op, incoming).await
}

/// Replaces the file of an asset, once per idempotency key.
pub async fn replace_asset(
    cx: Cx<'_>,
    input: ReplaceAssetInput,
    incoming: Incoming,
) -> Answer<ReplaceAssetResult> {
    let input = input.checked()?;
    let op = cx.op(&[cx.requester.subject()?, "replaceAsset"], &input);
    let expected = input.version.clone().map_or(Expected::Any, |read| Expected::Version(read.0));
    replace(cx, &input.asset_id, &expected, &op, input.idempotency_key.is_some(), incoming).await
}

/// Creates an asset from checked input; its `_id` is the op's id.
pub(super) async fn create<U: Refusals + From<AlreadyExists>>(
    Cx { app, requester }: Cx<'_>,
    input: UploadAssetInput,
    op: &Op,
    incoming: Incoming,
) -> Changed<U> {
    // Checked early, because the beginning of the file may take long to arrive.
    if input.parent_id.is_some() {
        open_parent(app, input.parent_id.as_ref()).await?;
    }
    let file = OpenFile::open(app, incoming).await?;
    let (attempt, parent) = open_parent(app, input.parent_id.as_ref()).await?;
    let upload = new_upload(app, op, &attempt);
    let recorded = input.idempotency_key.is_some().then_some(op);
    let subject = requester.subject()?;
    let author = identities::operations::author(app, subject).await?;
    let asset = new_asset(author, input, &file.name, op, parent, &upload)?;
    let asset = reserve(app, asset, &upload).await?;
    if asset.origin.is_some() {
        return repeated(asset, op, file).await;
    }
    let reservation = Reservation { app, asset, upload, expected: None, op: recorded };
    let asset = &reservation.asset;
    // The parent may have been moved or deleted since it was read.
    if let Some(id) = &asset.metadata.parent_id {
        let parent = store::parents(app).get_settled(id).await?;
        let Some(parent) = parent.filter(ParentDocument::stays) else {
            reservation.abort().await;
            settled(store::parents(app).get_settled(id).await?, id)?;
            return Err(Error::unavailable("the parent is being deleted").into());
        };
        if parent.cv > asset.parent_cv {
            let path = &parent.metadata.path;
            store::update_paths(app, id, path, parent.cv, Some(&asset.id)).await?;
        }
    }
    reservation.fill(file, &attempt).await
}

/// The parent whose values the new asset copies.
async fn open_parent<U: Refusals>(
    app: &App,
    parent: Option<&ID>,
) -> Result<(Attempt, Option<ParentDocument>), Stop<U>> {
    let Some(id) = parent else { return Ok((app.begin().await?, None)) };
    let (attempt, parent) = app.begin_with(id).await?;
    Ok((attempt, Some(settled(parent, id)?)))
}

/// The parent, if it can contain assets. During its own creation or deletion its existence is undecided: that
/// is a temporary error, not a refusal.
fn settled<U: Refusals>(
    found: Option<ParentDocument>,
    id: &str,
) -> Result<ParentDocument, Stop<U>> {
    match found.filter(ParentDocument::holds_assets) {
        Some(parent) if parent.copying.is_none() && parent.stays() => Ok(parent),
        Some(_) => Err(Error::unavailable("the parent is being created or deleted").into()),
        None => Err(NotFound::of(NodeKind::CONTENT, id).into()),
    }
}

/// The document of a new asset, with its upload.
fn new_asset(
    author: Author,
    input: UploadAssetInput,
    file_name: &str,
    op: &Op,
    parent: Option<ParentDocument>,
    upload: &Upload,
) -> Result<AssetDocument, InvalidInput> {
    let slug = input.slug.or_else(|| slug_of(file_name)).or_else(|| slug_of(&op.id));
    let slug = slug
        .ok_or_else(|| InvalidInput::new("slug", "can't be made from the file's name: give one"))?;
    let above = parent.as_ref().map_or("", |parent| &parent.metadata.path);
    let path = path_in(above, &slug);
    let parent_cv = parent.as_ref().map_or(0, |parent| parent.cv);
    let inherited = || parent.map(|parent| parent.metadata.access).unwrap_or_default();
    Ok(AssetDocument {
        id: op.id.clone(),
        metadata: Metadata {
            version: upload.token.clone(),
            kind: AssetKind::File,
            parent_id: input.parent_id.map(|parent| parent.0),
            slug,
            path,
            title: input.title.unwrap_or_else(|| file_name.to_owned()),
            description: input.description,
            language: input.language,
            created: upload.at,
            author,
            tags: input.tags,
            access: input.access.unwrap_or_else(inherited),
        },
        attributes: input.attributes.into_iter().map(Attribute::from).collect(),
        file: None,
        upload: Some(upload.clone()),
        outbox: Vec::new(),
        former: None,
        redirected_from: None,
        published_at: input.publish_at.map_or(upload.at, |at| at.0),
        listed: Vec::new(),
        parent_cv,
        deleting: None,
        deleted_at: None,
        discussion: None,
        meta: None,
        input: op.input.clone(),
        origin: None,
        ops: Vec::new(),
        v: Version,
    })
}

/// Reserves the slug of a new asset, or takes over an interrupted attempt of the same op. If the op was
/// applied, its asset is returned as it is, which has an `origin`.
async fn reserve<U: Refusals + From<AlreadyExists>>(
    app: &App,
    asset: AssetDocument,
    upload: &Upload,
) -> Changed<U> {
    let (parent, slug) = (asset.metadata.parent_id.as_deref(), &asset.metadata.slug);
    for _ in 0..TRIES {
        if store::assets(app).insert(&asset).await.decided()?.is_some() {
            return Ok(asset);
        }
        let holder = match store::assets(app).get_settled(&asset.id).await? {
            Some(own) => Some(own),
            None => store::find_slug(app, parent, slug).await?,
        };
        match holder {
            None => {}
            Some(own) if own.deleted_at.is_some() => return Err(Conflict::deleted().into()),
            Some(holder) if holder.deleting.is_some() => dispose(app, &holder).await?,
            Some(own) if own.id == asset.id => {
                if own.origin.is_some() {
                    return Ok(own);
                }
                if own.input != asset.input {
                    return Err(OtherInput.into());
                }
                let resumed = store::resume_upload(app, &own, upload).after().await?;
                if let Some(asset) = resumed {
                    settle(app, &asset).await;
                    return Ok(asset);
                }
            }
            Some(holder) if holder.file.is_some() => {
                return Err(AlreadyExists::new("file", holder.metadata.path).into());
            }
            Some(_) => {
                return Err(InUse::because("another upload to this path is in progress").into());
            }
        }
    }
    Err(Error::unavailable("the slug keeps being taken and freed; try again").into())
}

/// Replaces the file of an asset if the asset is in the expected version.
pub(super) async fn replace<U: Refusals>(
    Cx { app, .. }: Cx<'_>,
    id: &str,
    expected: &Expected,
    op: &Op,
    is_repeatable: bool,
    incoming: Incoming,
) -> Changed<U> {
    let is_known = |asset: &AssetDocument| {
        is_repeatable && asset.ops.iter().any(|record| record.id.as_ref() == Some(&op.id))
    };
    let asset = find_visible(app, id).await?;
    if !is_known(&asset) && !expected.is(Some(&asset)) {
        return Err(AssetConflict::with(asset).into());
    }
    let file = OpenFile::open(app, incoming).await?;
    if is_known(&asset) {
        return repeated(asset, op, file).await;
    }
    let attempt = app.begin().await?;
    let upload = new_upload(app, op, &attempt);
    let reserved = store::reserve_replacement(app, id, &upload, expected);
    let Some(asset) = reserved.after().await? else {
        let asset = find_visible(app, id).await?;
        if is_known(&asset) {
            return repeated(asset, op, file).await;
        }
        return Err(match asset.upload {
            _ if !expected.is(Some(&asset)) => AssetConflict::with(asset).into(),
            Some(_) => InUse::because("another upload of this asset is in progress").into(),
            None => Error::unavailable("another upload of this asset has just ended").into(),
        });
    };
    // Removes the blob of an attempt that was taken over.
    settle(app, &asset).await;
    let (expected, op) = (Some(expected), is_repeatable.then_some(op));
    Reservation { app, asset, upload, expected, op }.fill(file, &attempt).await
}

fn new_upload(app: &App, op: &Op, attempt: &Attempt) -> Upload {
    let blob = new_blob(app, attempt);
    Upload { token: app.ids().random(), blob, at: attempt.now(), op: op.id.clone() }
}

/// The answer if the op was applied before: the asset in its current state, provided that the file is the
/// same.
async fn repeated<U: Refusals>(asset: AssetDocument, op: &Op, file: OpenFile<'_>) -> Changed<U> {
    if !is_committed(&with_file(op, &file.digest().await?), &asset)? {
        return Err(OtherInput.into());
    }
    if asset.deleted_at.is_some() {
        return Err(Conflict::deleted().into());
    }
    Ok(asset)
}
