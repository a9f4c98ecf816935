//! Creates content. The insert copies values from the parent; then the parent is read again and compared.

use super::{
    super::{
        documents::{Author, ContentType, Metadata, NodeDocument, listed},
        store,
        types::{CreateContentInput, CreateContentResult, Shown},
    },
    DEPTH, changeable,
    checks::{Text, checked_text, stored_access},
    own_id,
};
use crate::{
    app::App,
    domains::identities,
    error::Error,
    flow::{Attempt, Op},
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{AlreadyExists, Conflict, InvalidInput, Stop},
        scalars::Slug,
        trees::planted,
    },
    mongo::Version,
};

type Refused = Stop<CreateContentResult>;

/// Checked input of new content.
struct New {
    op: Op,
    kind: ContentType,
    slug: Slug,
    text: Text,
    tags: Vec<String>,
    access: Option<Vec<String>>,
    author: Author,
}

/// Creates content that readers can't see yet, once per idempotency key.
pub async fn create(app: &App, subject: &str, new: &CreateContentInput) -> Result<Shown, Refused> {
    let kind = new.kind.into();
    let text = checked_text(kind, &new.text)?;
    let tags = input::tags("tags", &new.tags)?;
    let access = new.access.as_deref().map(stored_access);
    let parent = new.parent.as_ref().map(|parent| own_id(parent)).transpose()?;
    let name = new.author_name.as_deref();
    let name = name.map(|name| input::text("authorName", name, 1..=100)).transpose()?;
    let asked = (kind, &new.slug, &text, &tags, &access, &parent, &name);
    let op = input::op(app, &[subject, "createContent"], new.idempotency_key.as_ref(), &asked)?;
    let name = match name {
        Some(name) => name,
        None => identities::operations::display_name(app, subject).await?,
    };
    let author = Author { id: subject.to_owned(), name };
    let new = New { op, kind, slug: new.slug.clone(), text, tags, access, author };
    plant(app, new, parent.as_deref()).await
}

async fn plant(app: &App, new: New, parent: Option<&str>) -> Result<Shown, Refused> {
    let op = new.op.clone();
    let (now, inserted) = match open_parent(app, parent, new.kind).await {
        Ok((attempt, parent)) => {
            let node = placed(new, parent.as_ref(), &attempt);
            match store::insert(app, node.clone()).await.decided()? {
                Some(()) => (attempt.now(), node),
                None => (attempt.now(), inserted_before(app, &node).await?),
            }
        }
        // If the first call was applied, a repeat returns its result, whatever became of the parent.
        Err(Stop::Refused(refusal)) => match store::open(app, &op.id).await? {
            (attempt, Some(found)) => (attempt.now(), of_op(found, &op.input)?),
            (_, None) => return Err(Stop::Refused(refusal)),
        },
        Err(failed) => return Err(failed),
    };
    Ok(Shown::written(planted(&store::tree(app), NodeKind::Content, inserted).await?, now))
}

/// The content that an op created, if the input was the same.
fn of_op(found: NodeDocument, input: &str) -> Result<NodeDocument, Conflict> {
    if found.input != input {
        return Err(Conflict::other_input());
    }
    if found.deleted_at.is_some() {
        return Err(Conflict::because("what this op created was deleted"));
    }
    Ok(found)
}

/// The parent whose values the new content copies.
async fn open_parent(
    app: &App,
    parent: Option<&str>,
    kind: ContentType,
) -> Result<(Attempt, Option<NodeDocument>), Refused> {
    let Some(id) = parent else {
        fits(None, kind)?;
        return Ok((app.begin().await?, None));
    };
    let (attempt, parent) = store::open(app, id).await?;
    let parent = changeable(parent, id)?;
    fits(Some(&parent), kind)?;
    if parent.within.len() > DEPTH {
        let reason = format!("would lie deeper than {DEPTH} steps");
        return Err(InvalidInput::new("parent", reason).into());
    }
    Ok((attempt, Some(parent)))
}

/// Checks that content of the type may be placed in `parent`, or at the root.
pub(super) fn fits(parent: Option<&NodeDocument>, kind: ContentType) -> Result<(), InvalidInput> {
    let holds = |parent: &NodeDocument| parent.metadata.kind.may_hold(kind);
    if parent.map_or(kind != ContentType::BlogEntry, holds) {
        return Ok(());
    }
    let reason = match kind {
        ContentType::BlogEntry => "blog entries lie in blogs",
        _ => "content lies in folders",
    };
    Err(InvalidInput::new("parent", reason))
}

fn placed(new: New, parent: Option<&NodeDocument>, attempt: &Attempt) -> NodeDocument {
    let New { op, kind, slug, text: Text { title, language, detail }, tags, access, author } = new;
    let above = parent.map_or("", |parent| parent.metadata.path.as_str());
    let path = format!("{above}/{}", slug.as_str());
    let inherited = || parent.map(|parent| parent.metadata.access.clone()).unwrap_or_default();
    let metadata = Metadata {
        nonce: op.id.clone(),
        kind,
        parent_id: parent.map(|parent| parent.id.clone()),
        slug,
        path: path.clone(),
        title,
        language,
        created: attempt.now(),
        author,
        tags,
        access: access.unwrap_or_else(inherited),
        detail,
    };
    let mut within = NodeDocument::line(parent);
    within.push(path);
    NodeDocument {
        listed: listed(&metadata, &within),
        within,
        metadata,
        live: None,
        next: None,
        published_at: None,
        former: Vec::new(),
        kept: Vec::new(),
        revision: 0,
        cv: attempt.now().timestamp_millis(),
        parent_cv: parent.map_or(0, |parent| parent.cv),
        outbox: Vec::new(),
        // A root copies nothing from a parent.
        copying: parent.map(|_| attempt.now()),
        deleting: None,
        deleted_at: None,
        remains: None,
        discussion: None,
        id: op.id,
        input: op.input,
        v: Version,
    }
}

/// The content that the op inserted before, after a unique key was found taken.
async fn inserted_before(app: &App, node: &NodeDocument) -> Result<NodeDocument, Refused> {
    let (parent, slug) = (node.metadata.parent_id.as_deref(), node.metadata.slug.as_str());
    match store::find(app, &node.id).await? {
        Some(found) => Ok(of_op(found, &node.input)?),
        None if store::has_slug(app, parent, slug).await? => {
            Err(AlreadyExists::new("content", &node.metadata.path).into())
        }
        None => Err(Error::unavailable("what took the slug is already gone").into()),
    }
}
