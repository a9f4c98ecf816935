//! Creates assets with their first file.

use async_graphql::ID;
use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{
            AssetDocument, AssetKind, Attribute, Author, Metadata, ParentDocument, TOP, Upload,
        },
        store::{self, Purpose},
        types::{AttributeInput, UploadAssetResult},
    },
    checks,
    finish::{Begun, with_file},
    path_in,
    receive::{self, Opened},
    removal::{dispose, settle},
};
use crate::{
    app::App,
    domains::identities,
    error::Error,
    flow::{Attempt, Op},
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{AlreadyExists, Conflict, InUse, InvalidInput, NotFound, Stop},
        scalars::{LocaleTag, Slug},
        upload::Incoming,
    },
    mongo::Version,
};

/// The input of a new asset.
#[derive(Debug, Default)]
pub struct NewAsset {
    /// Global id of its folder or gallery.
    pub parent: Option<ID>,
    /// Its step in paths.
    pub slug: Option<Slug>,
    /// The title.
    pub title: Option<String>,
    /// Language of the asset.
    pub language: Option<LocaleTag>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<AttributeInput>,
    /// Names of the roles that may read it.
    pub access: Option<Vec<String>>,
    /// When it becomes visible to readers.
    pub publish_at: Option<DateTime>,
    /// The caller's idempotency key.
    pub idempotency_key: Option<ID>,
}

/// The checked input.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) parent: Option<String>,
    pub(super) slug: Option<Slug>,
    pub(super) title: Option<String>,
    pub(super) language: Option<LocaleTag>,
    pub(super) tags: Vec<String>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) access: Option<Vec<String>>,
    pub(super) publish_at: Option<DateTime>,
}

/// Number of tries for a slug that other attempts take and free at the same time.
const TRIES: usize = 5;

/// Creates an asset, once per idempotency key.
pub async fn upload(
    app: &App,
    subject: &str,
    new: NewAsset,
    incoming: Incoming,
) -> Result<AssetDocument, Stop<UploadAssetResult>> {
    let NewAsset {
        parent,
        slug,
        title,
        language,
        tags,
        attributes,
        access,
        publish_at,
        idempotency_key,
    } = new;
    let parent = parent.map(|parent| input::id(NodeKind::Content, &parent)).transpose()?;
    let asked = Asked {
        parent,
        slug,
        title: title.map(|title| checks::title(&title)).transpose()?,
        language,
        tags: input::tags("tags", &tags)?,
        attributes: checks::attributes(&attributes)?,
        access: access.map(|access| checks::access(&access)).transpose()?,
        publish_at,
    };
    let Asked { parent, slug, title, language, tags, attributes, access, publish_at } = &asked;
    let digested = (parent, slug, title, language, tags, attributes, access, publish_at);
    let op = input::op(app, &[subject, "uploadAsset"], idempotency_key.as_ref(), &digested)?;
    if idempotency_key.is_some() {
        // If the first call was applied, a repeat returns its result, whatever became of the parent.
        if let Some(found) = store::find(app, &op.id).await?.filter(|found| found.origin.is_some())
        {
            let opened = receive::open(app, incoming).await?;
            return repeated(app, found, &op, opened).await;
        }
    }
    create(app, subject, asked, &op, idempotency_key.is_some(), incoming).await
}

/// Creates an asset from checked input; its `_id` is the op's id.
pub(super) async fn create(
    app: &App,
    subject: &str,
    asked: Asked,
    op: &Op,
    is_repeatable: bool,
    incoming: Incoming,
) -> Result<AssetDocument, Stop<UploadAssetResult>> {
    // Checked early, because the beginning of the file may take long to arrive.
    if asked.parent.is_some() {
        open_parent(app, asked.parent.as_deref()).await?;
    }
    let opened = receive::open(app, incoming).await?;
    let (attempt, parent) = open_parent(app, asked.parent.as_deref()).await?;
    let slug = asked.slug.clone().or_else(|| checks::slug_of(&opened.name));
    let slug = slug
        .or_else(|| checks::slug_of(&op.id))
        .ok_or_else(|| InvalidInput::new("slug", "can't be made from the file's name: give one"))?;
    let upload = receive::begin(app, &op.id, &attempt);
    let name = identities::operations::display_name(app, subject).await?;
    let author = Author { id: subject.to_owned(), name };
    let asset = placed(author, asked, slug, &opened, op, parent.as_ref(), &upload, &attempt);
    let begun = match begin(app, asset, op, upload).await? {
        Ok(begun) => Begun { op: is_repeatable.then_some(op), ..begun },
        Err(applied) => return repeated(app, applied, op, opened).await,
    };
    if !settle_place(app, &begun.asset).await? {
        begun.give_up(app).await;
        let parent = begun.asset.metadata.parent_id.as_deref().unwrap_or_default();
        settled(store::find_parent(app, parent).await?, parent)?;
        return Err(Error::unavailable("the parent was just being deleted").into());
    }
    begun.fill(app, opened, &attempt).await
}

/// The parent whose values the new asset copies.
async fn open_parent(
    app: &App,
    parent: Option<&str>,
) -> Result<(Attempt, Option<ParentDocument>), Stop<UploadAssetResult>> {
    let Some(id) = parent else { return Ok((app.begin().await?, None)) };
    let (attempt, parent) = store::open_parent(app, id).await?;
    Ok((attempt, Some(settled(parent, id)?)))
}

/// The parent, if assets can be placed in it. During its own creation or deletion its existence is undecided:
/// that is a temporary error, not a refusal.
fn settled(
    found: Option<ParentDocument>,
    id: &str,
) -> Result<ParentDocument, Stop<UploadAssetResult>> {
    match found.filter(ParentDocument::holds_assets) {
        Some(parent) if parent.is_settled() => Ok(parent),
        Some(_) => Err(Error::unavailable("the parent is just being created or deleted").into()),
        None => Err(NotFound::of(NodeKind::Content, id).into()),
    }
}

#[expect(clippy::too_many_arguments, reason = "all that a document is made of")]
fn placed(
    author: Author,
    asked: Asked,
    slug: Slug,
    opened: &Opened,
    op: &Op,
    parent: Option<&ParentDocument>,
    upload: &Upload,
    attempt: &Attempt,
) -> AssetDocument {
    let inherited = || parent.map(|parent| parent.metadata.access.clone()).unwrap_or_default();
    AssetDocument {
        id: op.id.clone(),
        metadata: Metadata {
            nonce: upload.token.clone(),
            kind: AssetKind::File,
            parent_id: asked.parent,
            path: path_in(parent.map_or(TOP, |parent| &parent.metadata.path), &slug),
            slug,
            title: asked.title.unwrap_or_else(|| opened.name.clone()),
            language: asked.language,
            created: attempt.now(),
            author,
            tags: asked.tags,
            access: asked.access.unwrap_or_else(inherited),
        },
        attributes: asked.attributes,
        file: None,
        upload: Some(upload.clone()),
        outbox: Vec::new(),
        published_at: asked.publish_at.unwrap_or(attempt.now()),
        listed: Vec::new(),
        parent_cv: parent.map_or(0, |parent| parent.cv),
        deleting: None,
        deleted_at: None,
        discussion: None,
        input: op.input.clone(),
        origin: None,
        ops: Vec::new(),
        v: Version,
    }
}

/// Reserves the slug, or takes over an interrupted attempt of the same op. The inner `Err` is the asset if
/// the op was applied.
async fn begin<'a>(
    app: &App,
    asset: AssetDocument,
    op: &'a Op,
    upload: Upload,
) -> Result<Result<Begun<'a>, AssetDocument>, Stop<UploadAssetResult>> {
    let purpose = Purpose::First { input: &op.input };
    for _ in 0..TRIES {
        if store::insert(app, asset.clone()).await.decided()?.is_some() {
            return Ok(Ok(Begun { asset, upload, purpose, op: None }));
        }
        let (parent, slug) = (asset.metadata.parent_id.as_deref(), &asset.metadata.slug);
        let holder = match store::find(app, &op.id).await? {
            Some(own) => Some(own),
            None => store::find_slug(app, parent, slug).await?,
        };
        match holder {
            None => {}
            Some(own) if own.deleted_at.is_some() => return Err(was_deleted().into()),
            Some(holder) if holder.deleting.is_some() => dispose(app, &holder).await?,
            Some(own) if own.id == op.id => {
                if own.origin.is_some() {
                    return Ok(Err(own));
                }
                if own.input != op.input {
                    return Err(Conflict::other_input().into());
                }
                let taken = store::take_upload(app, &own.id, &upload, purpose).await.decided()?;
                if let Some(asset) = taken {
                    settle(app, &asset).await;
                    return Ok(Ok(Begun { asset, upload, purpose, op: None }));
                }
            }
            Some(holder) if holder.file.is_some() => {
                return Err(AlreadyExists::new("file", holder.metadata.path).into());
            }
            Some(_) => {
                return Err(InUse::because("another upload to this path is under way").into());
            }
        }
    }
    Err(Error::unavailable("the slug is taken and freed again and again").into())
}

/// Compares a new asset with its parent again; false if the parent is deleted or being deleted.
async fn settle_place(app: &App, asset: &AssetDocument) -> Result<bool, Error> {
    let Some(parent) = &asset.metadata.parent_id else { return Ok(true) };
    let parent = store::find_parent(app, parent).await?.filter(ParentDocument::stays);
    let Some(parent) = parent else { return Ok(false) };
    if parent.cv > asset.parent_cv {
        let path = &parent.metadata.path;
        store::update_paths(app, &parent.id, path, parent.cv, Some(&asset.id)).await?;
    }
    Ok(true)
}

/// The answer if the op was applied before: the asset in its current state, provided that the file is the
/// same.
async fn repeated(
    app: &App,
    asset: AssetDocument,
    op: &Op,
    opened: Opened,
) -> Result<AssetDocument, Stop<UploadAssetResult>> {
    let digest = opened.digest(app).await?;
    if asset.origin.as_ref() != Some(&with_file(op, &digest).input) {
        return Err(Conflict::other_input().into());
    }
    if asset.deleted_at.is_some() {
        return Err(was_deleted().into());
    }
    Ok(asset)
}

fn was_deleted() -> Conflict {
    Conflict::because("what this op created was deleted")
}
