//! Changes of tags and access: these are sets, and their changes need no nonce.

use super::{
    super::{
        store,
        types::{
            SetContentAccessInput, SetContentAccessResult, Shown, TagContentInput,
            TagContentResult, UntagContentInput, UntagContentResult,
        },
    },
    changeable,
    checks::stored_access,
    own_id, written,
};
use crate::{
    app::App,
    graphql::{
        input,
        refusals::{InvalidInput, Stop},
    },
};

/// Adds tags.
pub async fn tag(app: &App, asked: &TagContentInput) -> Result<Shown, Stop<TagContentResult>> {
    let id = own_id(&asked.content)?;
    let tags = input::tags("tags", &asked.tags)?;
    let attempt = app.begin().await?;
    if let Some(tagged) = store::add_tags(app, &id, &tags, input::TAGS, &attempt).await.decided()? {
        return Ok(Shown::written(tagged, attempt.now()));
    }
    let mut all = changeable(store::find(app, &id).await?, &id)?.metadata.tags;
    all.extend(tags);
    all.sort();
    all.dedup();
    if all.len() > input::TAGS {
        let reason = format!("it would have more than {}", input::TAGS);
        return Err(InvalidInput::new("tags", reason).into());
    }
    Err(attempt.overdue().into())
}

/// Removes tags.
pub async fn untag(
    app: &App,
    asked: &UntagContentInput,
) -> Result<Shown, Stop<UntagContentResult>> {
    let id = own_id(&asked.content)?;
    let tags = input::tags("tags", &asked.tags)?;
    let attempt = app.begin().await?;
    let outcome = store::remove_tags(app, &id, &tags, &attempt).await;
    Ok(Shown::written(written(app, &id, &attempt, outcome).await?, attempt.now()))
}

/// Sets the roles that may read it.
pub async fn set_access(
    app: &App,
    asked: &SetContentAccessInput,
) -> Result<Shown, Stop<SetContentAccessResult>> {
    let id = own_id(&asked.content)?;
    input::at_most("roles", &asked.roles, 20)?;
    let attempt = app.begin().await?;
    let outcome = store::set_access(app, &id, &stored_access(&asked.roles), &attempt).await;
    Ok(Shown::written(written(app, &id, &attempt, outcome).await?, attempt.now()))
}
