//! Changes the tags and the access of content. Both are sets, so a change needs no version.

use super::{
    super::{
        store::{self, Nodes},
        types::{
            ReaderRole, SetContentAccessInput, SetContentAccessResult, Shown, TagContentInput,
            TagContentResult, UntagContentInput, UntagContentResult,
        },
    },
    write,
};
use crate::graphql::{input::TAGS, prelude::*};

/// Adds tags.
pub async fn tag_content(cx: Cx<'_>, input: TagContentInput) -> Answer<TagContentResult> {
    let input = input.checked()?;
    let attempt = cx.begin().await?;
    let tag = store::change_tags(&cx, &input.content_id, &input.tags, &[]).within(&attempt);
    if let Some(tagged) = tag.then_read().await? {
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
pub async fn untag_content(cx: Cx<'_>, input: UntagContentInput) -> Answer<UntagContentResult> {
    let input = input.checked()?;
    let id = &input.content_id;
    Ok(write(&cx, id, store::change_tags(&cx, id, &[], &input.tags)).await?)
}

/// Sets the roles that may read it.
pub async fn set_content_access(
    cx: Cx<'_>,
    input: SetContentAccessInput,
) -> Answer<SetContentAccessResult> {
    let input = input.checked()?;
    let (id, roles) = (&input.content_id, ReaderRole::names(&input.roles));
    Ok(write(&cx, id, store::set_access(&cx, id, &roles)).await?)
}
