//! Publishes and unpublishes content.

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{Edition, NodeDocument},
        store::{self, Nodes},
        types::{
            ContentConflict, PublishContentInput, PublishContentResult, Shown,
            UnpublishContentInput, UnpublishContentResult,
        },
    },
    write,
};
use crate::graphql::prelude::*;

/// Publishes the draft that the editor has read, now or from a given time on. A repeat of the same call
/// returns the content.
pub async fn publish_content(
    cx: Cx<'_>,
    input: PublishContentInput,
) -> Answer<PublishContentResult> {
    let (tree, input) = (&Nodes::over(&cx), &input.checked()?);
    let at = input.at.map(|at| at.0);
    let read = || async { Ok(tree.open(&input.content_id).await?) };
    decide(read, |attempt: Attempt, node: NodeDocument| async move {
        if is_done(&node, &input.version, at, attempt.now()) {
            return Ok(Step::Done(Shown::written(node, attempt.now())));
        }
        let draft = &node.metadata;
        if draft.version != *input.version {
            return Err(ContentConflict::with(Shown::written(node, attempt.now())).into());
        }
        let site = &cx.config().site_locale;
        let edition = Edition {
            at: attempt.now(),
            version: draft.version.clone(),
            title: draft.title.clone(),
            language: draft.language.clone(),
            stemming: LocaleTag::stemming_of(draft.language.as_ref(), site).to_owned(),
            detail: draft.detail.clone(),
        };
        let publish = store::publish(&cx, &node.id, &edition, at).within(&attempt);
        let Some(published) = publish.then_read().await? else { return Ok(Step::Again) };
        // An edition that was published now is visible at once, by the server clock of its update.
        let is_now = at.is_none_or(|at| at <= attempt.now());
        let live = published.live.as_ref().filter(|_| is_now);
        let now = live.map_or(attempt.now(), |live| live.at.max(attempt.now()));
        Ok(Step::Done(Shown::written(published, now)))
    })
    .await
}

/// Whether this version is already published from exactly that time on; for a past time, whether it is
/// visible now and no other edition is due later.
fn is_done(node: &NodeDocument, version: &str, at: Option<DateTime>, now: DateTime) -> bool {
    let last = node.next.as_ref().or(node.live.as_ref()).filter(|last| last.version == version);
    last.is_some_and(|last| match at.filter(|at| *at > now) {
        None => last.at <= now,
        Some(at) => last.at == at,
    })
}

/// Withdraws the current and the next edition.
pub async fn unpublish_content(
    cx: Cx<'_>,
    input: UnpublishContentInput,
) -> Answer<UnpublishContentResult> {
    let input = input.checked()?;
    let id = &input.content_id;
    Ok(write(&cx, id, store::unpublish(&cx, id)).await?)
}
