//! Creates content. The insert copies values from the parent; then the parent is read again and compared.

use super::{
    super::{
        documents::{Author, ContentType, Metadata, NodeDocument, Text, listed},
        store::{self, Nodes},
        types::{CreateContentInput, CreateContentResult, ReaderRole, Shown},
    },
    DEPTH,
};
use crate::{
    domains::identities,
    error::Error,
    flow::{Attempt, Op},
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{AlreadyExists, Conflict, InvalidInput, Stop},
    },
    mongo::Version,
};

type Refused = Stop<CreateContentResult>;

/// Creates content that readers can't see yet, once per idempotency key.
pub async fn create_content(cx: Cx<'_>, input: CreateContentInput) -> Result<Shown, Refused> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createContent"], input.idempotency_key.as_ref(), &*input);
    let text = input.text.of_kind(input.kind.into())?;
    let name = match &input.author_name {
        Some(name) => name.clone(),
        None => identities::operations::display_name(&cx, subject).await?,
    };
    let author = Author { id: subject.to_owned(), name };
    let tree = Nodes::over(&cx);
    let (now, inserted) = match open_parent(&tree, &input).await {
        Ok((attempt, parent)) => {
            let node = placed(op, &input, text, author, parent.as_ref(), &attempt);
            match tree.insert(node.clone()).await.decided()? {
                Some(()) => (attempt.now(), node),
                None => (attempt.now(), inserted_before(&tree, &node).await?),
            }
        }
        // If the first call was applied, a repeat returns its result, whatever became of the parent.
        Err(Stop::Refused(refusal)) => match cx.begin_with(&op.id).await? {
            (attempt, Some(found)) => (attempt.now(), of_op(found, &op.input)?),
            (_, None) => return Err(Stop::Refused(refusal)),
        },
        Err(failed) => return Err(failed),
    };
    Ok(Shown::written(tree.complete(inserted).await?, now))
}

/// The content that an op created, if the input was the same.
fn of_op(found: NodeDocument, input: &str) -> Result<NodeDocument, Conflict> {
    if found.input != input {
        return Err(Conflict::other_input());
    }
    if found.deleted_at.is_some() {
        return Err(Conflict::because("what this op created was deleted", None));
    }
    Ok(found)
}

/// The parent whose values the new content copies.
async fn open_parent(
    tree: &Nodes,
    input: &CreateContentInput,
) -> Result<(Attempt, Option<NodeDocument>), Refused> {
    let kind = input.kind.into();
    let Some(id) = &input.parent_id else {
        fits(None, kind)?;
        return Ok((tree.handles.begin().await?, None));
    };
    let (attempt, parent) = tree.open(id).await?;
    fits(Some(&parent), kind)?;
    if parent.within.len() > DEPTH {
        let reason = format!("would lie deeper than {DEPTH} steps");
        return Err(InvalidInput::new("parentId", reason).into());
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
    Err(InvalidInput::new("parentId", reason))
}

fn placed(
    op: Op,
    input: &CreateContentInput,
    text: Text,
    author: Author,
    parent: Option<&NodeDocument>,
    attempt: &Attempt,
) -> NodeDocument {
    let above = parent.map_or("", |parent| parent.metadata.path.as_str());
    let path = format!("{above}/{}", input.slug.as_str());
    let access = match &input.access {
        Some(roles) => ReaderRole::names(roles),
        None => parent.map(|parent| parent.metadata.access.clone()).unwrap_or_default(),
    };
    let metadata = Metadata {
        nonce: op.id.clone(),
        kind: input.kind.into(),
        parent_id: parent.map(|parent| parent.id.clone()),
        slug: input.slug.clone(),
        path: path.clone(),
        title: text.title,
        language: text.language,
        created: attempt.now(),
        author,
        tags: input.tags.clone(),
        access,
        detail: text.detail,
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
async fn inserted_before(tree: &Nodes, node: &NodeDocument) -> Result<NodeDocument, Refused> {
    let (parent, slug) = (node.metadata.parent_id.as_deref(), node.metadata.slug.as_str());
    match tree.find(&node.id).await? {
        Some(found) => Ok(of_op(found, &node.input)?),
        None if store::has_slug(&tree.handles, parent, slug).await? => {
            Err(AlreadyExists::new("content", &node.metadata.path).into())
        }
        None => Err(Error::unavailable("what took the slug is already gone").into()),
    }
}
