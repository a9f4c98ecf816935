//! Creates content.

use mongodb::bson::DateTime;

use super::super::{
    documents::{Metadata, NodeDocument, Text, listed},
    store::Nodes,
    types::{CreateContentInput, CreateContentResult, ReaderRole, Shown},
};
use crate::{
    domains::{
        identities::{self, Author},
        images,
    },
    flow::tree::{TreeFields, path_below},
    graphql::prelude::*,
    mongo::Version,
};

/// Creates content that readers can't see yet, once per idempotency key.
pub async fn create_content(cx: Cx<'_>, input: CreateContentInput) -> Answer<CreateContentResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let op = &cx.op(&[subject, "createContent"], input);
    let text = input.text.of_kind(input.kind.into())?;
    let images = text.detail.images.as_deref().unwrap_or_default();
    if let Err(refused) = images::check(cx, images).await {
        // A repeat is answered even if an asset is gone.
        if Nodes::over(&cx).find(&op.id).await?.is_none() {
            return Err(refused);
        }
    }
    let author = match &input.author_name {
        Some(name) => Author { id: subject.to_owned(), name: name.clone() },
        None => identities::operations::author(&cx, subject).await?,
    };
    let parent = input.parent_id.as_ref().map(|parent| parent.as_str());
    let new = |parent: Option<&NodeDocument>, now| placed(op, input, text, author, parent, now);
    let (created, now) = Nodes::over(&cx).create(op, parent, new).await?;
    Ok(Shown::written(created, now))
}

fn placed(
    op: &Op,
    input: &CreateContentInput,
    text: Text,
    author: Author,
    parent: Option<&NodeDocument>,
    now: DateTime,
) -> NodeDocument {
    let path = path_below(parent, input.slug.as_str());
    let access = match &input.access {
        Some(roles) => ReaderRole::names(roles),
        None => parent.map(|parent| parent.metadata.access.clone()).unwrap_or_default(),
    };
    let metadata = Metadata {
        version: op.id.clone(),
        kind: input.kind.into(),
        parent_id: parent.map(|parent| parent.id.clone()),
        slug: input.slug.clone(),
        path: path.clone(),
        title: text.title,
        language: text.language,
        created: now,
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
        tree: TreeFields::new(parent.map(|parent| &parent.tree), now),
        deleted_at: None,
        remains: None,
        discussion: None,
        meta: None,
        id: op.id.clone(),
        input: op.input.clone(),
        v: Version,
    }
}
