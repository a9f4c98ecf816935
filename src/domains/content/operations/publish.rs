//! Publishes and unpublishes content.

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

/// Publishes the draft that the editor has read, now or from a given time on. A repeat of the same call
/// returns the content.
pub async fn publish(
    app: &App,
    asked: &PublishContentInput,
) -> Result<Shown, Stop<PublishContentResult>> {
    let id = own_id(&asked.content)?;
    let nonce = input::key("version", &asked.version)?;
    let at = asked.at.map(|at| at.0);
    if at.is_some_and(|at| !(0..=LATEST).contains(&at.timestamp_millis())) {
        return Err(InvalidInput::new("at", "must be between the years 1970 and 9999").into());
    }
    let (attempt, node) = store::open(app, &id).await?;
    let node = changeable(node, &id)?;
    if is_done(&node, &nonce, at, attempt.now()) {
        return Ok(Shown::written(node, attempt.now()));
    }
    if node.metadata.nonce != nonce {
        return Err(ContentConflict::with(Shown::written(node, attempt.now())).into());
    }
    let edition = Edition {
        at: attempt.now(),
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
    if let Some(published) = store::publish(app, &id, &edition, at, &attempt).await.decided()? {
        // An edition that was published now is visible at once, by the server clock of its update.
        let is_now = at.is_none_or(|at| at <= attempt.now());
        let live = published.live.as_ref().filter(|_| is_now);
        let now = live.map_or(attempt.now(), |live| live.at.max(attempt.now()));
        return Ok(Shown::written(published, now));
    }
    let found = changeable(store::find(app, &id).await?, &id)?;
    if found.metadata.nonce != edition.nonce {
        return Err(ContentConflict::with(Shown::written(found, attempt.now())).into());
    }
    Err(attempt.overdue().into())
}

/// Whether this version is already published from exactly that time on; for a past time, whether it is
/// visible now and no other edition is due later.
fn is_done(node: &NodeDocument, nonce: &str, at: Option<DateTime>, now: DateTime) -> bool {
    let last = node.next.as_ref().or(node.live.as_ref()).filter(|last| last.nonce == nonce);
    last.is_some_and(|last| match at.filter(|at| *at > now) {
        None => last.at <= now,
        Some(at) => last.at == at,
    })
}

/// Withdraws the current and the next edition.
pub async fn unpublish(app: &App, content: &ID) -> Result<Shown, Stop<UnpublishContentResult>> {
    let id = own_id(content)?;
    let attempt = app.begin().await?;
    let outcome = store::unpublish(app, &id, &attempt).await;
    Ok(Shown::written(written(app, &id, &attempt, outcome).await?, attempt.now()))
}
