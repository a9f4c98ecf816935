//! Edits of drafts, and the versions that they replace.

use super::super::{
    documents::{NodeDocument, RevisionDocument, Text},
    store::{self, Nodes, WAITING},
    types::{
        ContentConflict, EditContentInput, EditContentResult, RestoreContentInput,
        RestoreContentResult, Shown,
    },
};
use crate::{domains::images, graphql::prelude::*, mongo::Version};

/// Maximum number of former versions of one content.
pub const REVISIONS: i64 = 50;

/// Replaces the draft that the editor has read. A repeat of the same edit returns the content.
pub async fn edit_content(cx: Cx<'_>, input: EditContentInput) -> Answer<EditContentResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    replace(cx, subject, &input.content_id, &input.version, |node| {
        let text = input.text.of_kind(node.metadata.kind);
        // A repeat is answered even if an asset is gone.
        let is_new = node.metadata.version == *input.version;
        async move {
            let text = text?;
            if is_new {
                images::check(cx, text.detail.images.as_deref().unwrap_or_default()).await?;
            }
            Ok(text)
        }
    })
    .await
}

/// Restores a former version as the new draft.
pub async fn restore_content(
    cx: Cx<'_>,
    input: RestoreContentInput,
) -> Answer<RestoreContentResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (id, number) = (&input.content_id, i64::from(input.number));
    replace(cx, subject, id, &input.version, |node| {
        let kept = node.kept.iter().find(|kept| kept.number == number).cloned();
        async move {
            let revision = match kept {
                Some(kept) => Some(kept),
                None => store::find_revision(&cx, id, number).await?.map(|found| found.version),
            };
            let revision = revision.ok_or_else(|| NotFound::new("revision", number.to_string()))?;
            Ok(revision.text)
        }
    })
    .await
}

/// Replaces the draft that has this version by `text`, which is computed from the content as it is.
async fn replace<U, F>(
    cx: Cx<'_>,
    subject: &str,
    id: &str,
    version: &str,
    text: impl Fn(&NodeDocument) -> F,
) -> Result<Shown, Stop<U>>
where
    U: From<ContentConflict> + From<NotFound>,
    F: Future<Output = Result<Text, Stop<U>>>,
{
    let (tree, text) = (&Nodes::over(&cx), &text);
    let read = || async { Ok(tree.open(id).await?) };
    decide(read, |attempt: Attempt, node: NodeDocument| async move {
        let text = text(&node).await?;
        // The version is derived from the input, so that a repeat is recognised.
        let digest = Op::digest(&text);
        let next = cx.ids().derived(&["version", id, version, &digest, subject]);
        let shown = |node| Shown::written(node, attempt.now());
        if node.metadata.version == next {
            return Ok(Step::Done(shown(store_kept(&cx, node).await?)));
        }
        if node.metadata.version != version {
            return Err(ContentConflict::with(shown(node)).into());
        }
        if node.kept.len() >= usize::from(WAITING) {
            let reason = "too many edits of this content are being saved; try again in a moment";
            return Err(Error::rate_limited(reason).into());
        }
        let edit = store::edit(&cx, id, (version, &next), &text, subject).within(&attempt);
        match edit.then_read().await? {
            Some(edited) => Ok(Step::Done(shown(store_kept(&cx, edited).await?))),
            None => Ok(Step::Again),
        }
    })
    .await
}

/// Stored versions whose `kept` entries may be settled after the answer.
const SETTLED_LATER: usize = 2;

/// Stores replaced versions as former versions. Their entries in `kept` are settled after the answer, unless
/// there are many of them.
async fn store_kept(app: &App, node: NodeDocument) -> Result<NodeDocument> {
    insert_kept(app, &node).await?;
    let settle = store::settle_kept(app, &node);
    if node.kept.len() > SETTLED_LATER {
        settle.held().await?;
    } else if !node.kept.is_empty() {
        let settle = async move { settle.held().await.map(|_| ()) };
        app.in_background("settling former versions", settle);
    }
    Ok(node)
}

/// Stores and settles replaced versions, for the sweep.
pub(in super::super) async fn keep(app: &App, node: &NodeDocument) -> Result<()> {
    insert_kept(app, node).await?;
    store::settle_kept(app, node).held().await?;
    Ok(())
}

async fn insert_kept(app: &App, node: &NodeDocument) -> Result<()> {
    for version in node.kept.iter().cloned() {
        let id = RevisionDocument::key(&node.id, version.number);
        let revision = RevisionDocument { id, node_id: node.id.clone(), version, v: Version };
        // A refused insert was stored before.
        app.collection().insert(&revision).await.decided()?;
    }
    // An insert has no deadline: a late one is removed by the next edit.
    let newest = node.kept.iter().map(|version| version.number).max();
    if let Some(newest) = newest.filter(|newest| *newest >= REVISIONS) {
        store::drop_older_revisions(app, &node.id, newest - REVISIONS).await?;
    }
    Ok(())
}
