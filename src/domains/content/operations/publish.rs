//! What readers see, and from when on.

use async_graphql::ID;
use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{Edition, NodeDocument},
        store,
        types::{
            ContentConflict, PublishContentInput, PublishContentResult, Shown,
            UnpublishContentResult,
        },
    },
    changeable, own_id, written,
};
use crate::{
    app::App,
    graphql::{
        input,
        refusals::{InvalidInput, Stop},
        scalars::LocaleTag,
    },
};

/// The last millisecond that has a four-digit year.
const LATEST: i64 = 253_402_300_799_999;

/// Lets readers see the draft that the editor has read, now or from a time on. The same sent again is
/// answered with the content.
///
/// # Errors
/// A refusal, or trouble.
pub async fn publish(
    app: &App,
    asked: &PublishContentInput,
) -> Result<Shown, Stop<PublishContentResult>> {
    let id = own_id(&asked.content)?;
    let nonce = input::key("nonce", &asked.nonce)?;
    let at = asked.at.map(|at| at.0);
    if at.is_some_and(|at| !(0..=LATEST).contains(&at.timestamp_millis())) {
        return Err(InvalidInput::new("at", "must be between the years 1970 and 9999").into());
    }
    let (run, node) = store::open(app, &id).await?;
    let node = changeable(node, &id)?;
    if is_done(&node, &nonce, at, run.now()) {
        return Ok(Shown::written(node, run.now()));
    }
    if node.metadata.nonce != nonce {
        return Err(ContentConflict::with(Shown::written(node, run.now())).into());
    }
    let edition = Edition {
        at: run.now(),
        nonce,
        title: node.metadata.title.clone(),
        language: node.metadata.language.clone(),
        stemming: LocaleTag::stemming_of(
            node.metadata.language.as_ref(),
            &app.config().site_locale,
        )
        .to_owned(),
        detail: node.metadata.detail.clone(),
    };
    if let Some(published) = store::publish(app, &id, &edition, at, &run).await.decided()? {
        // What was published now is seen now, by the clock that it was published by.
        let is_now = at.is_none_or(|at| at <= run.now());
        let live = published.live.as_ref().filter(|_| is_now);
        let now = live.map_or(run.now(), |live| live.at.max(run.now()));
        return Ok(Shown::written(published, now));
    }
    let found = changeable(store::find(app, &id).await?, &id)?;
    if found.metadata.nonce != edition.nonce {
        return Err(ContentConflict::with(Shown::written(found, run.now())).into());
    }
    Err(run.overdue().into())
}

/// Whether readers see this version from just then on already, or, where that time is past, see it now
/// and no other is to come.
fn is_done(node: &NodeDocument, nonce: &str, at: Option<DateTime>, now: DateTime) -> bool {
    let last = node.next.as_ref().or(node.live.as_ref()).filter(|last| last.nonce == nonce);
    last.is_some_and(|last| match at.filter(|at| *at > now) {
        None => last.at <= now,
        Some(at) => last.at == at,
    })
}

/// Takes back what is published, and what is to be.
///
/// # Errors
/// A refusal, or trouble.
pub async fn unpublish(app: &App, content: &ID) -> Result<Shown, Stop<UnpublishContentResult>> {
    let id = own_id(content)?;
    let run = app.begin().await?;
    let outcome = store::unpublish(app, &id, &run).await;
    Ok(Shown::written(written(app, &id, &run, outcome).await?, run.now()))
}
