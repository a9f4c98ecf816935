//! Changes of tags and access: these are sets, and their changes need no nonce.

use super::{
    super::{
        store::{self, Nodes},
        types::{
            ReaderRole, SetContentAccessInput, SetContentAccessResult, Shown, TagContentInput,
            TagContentResult, UntagContentInput, UntagContentResult,
        },
    },
    written,
};
use crate::graphql::{
    cx::Cx,
    declared::Input,
    input::TAGS,
    refusals::{InvalidInput, Stop},
};

/// Adds tags.
pub async fn tag_content(
    cx: Cx<'_>,
    input: TagContentInput,
) -> Result<Shown, Stop<TagContentResult>> {
    let input = input.checked()?;
    let attempt = cx.begin().await?;
    let tagged = store::add_tags(&cx, &input.content_id, &input.tags, &attempt).await;
    if let Some(tagged) = tagged.decided()? {
        return Ok(Shown::written(tagged, attempt.now()));
    }
    let has = Nodes::over(&cx).get(&input.content_id).await?.metadata.tags;
    let more = input.tags.iter().filter(|tag| !has.contains(tag)).count();
    if has.len() + more > TAGS {
        let reason = format!("it would have more than {TAGS}");
        return Err(InvalidInput::new("tags", reason).into());
    }
    Err(attempt.overdue().into())
}

/// Removes tags.
pub async fn untag_content(
    cx: Cx<'_>,
    input: UntagContentInput,
) -> Result<Shown, Stop<UntagContentResult>> {
    let input = input.checked()?;
    let attempt = cx.begin().await?;
    let outcome = store::remove_tags(&cx, &input.content_id, &input.tags, &attempt).await;
    Ok(written(&Nodes::over(&cx), &input.content_id, &attempt, outcome).await?)
}

/// Sets the roles that may read it.
pub async fn set_content_access(
    cx: Cx<'_>,
    input: SetContentAccessInput,
) -> Result<Shown, Stop<SetContentAccessResult>> {
    let input = input.checked()?;
    let (id, roles) = (&input.content_id, ReaderRole::names(&input.roles));
    let attempt = cx.begin().await?;
    let outcome = store::set_access(&cx, id, &roles, &attempt).await;
    Ok(written(&Nodes::over(&cx), id, &attempt, outcome).await?)
}
