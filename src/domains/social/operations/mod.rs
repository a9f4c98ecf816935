//! The rules of people, posts and feeds.

mod celebrities;
mod circles;
mod delivery;
mod feeds;
mod posts;
mod votes;
mod watching;

pub(super) use celebrities::{
    add as add_marking, begin as begin_marking, decide as decide_mark, mark_again, mark_all,
};
pub use circles::{
    block_user, blocked_users, circle_user, follower_count, followers, following, is_blocked,
    own_circles, unblock_user, uncircle_user,
};
pub(super) use delivery::{Task, begin as begin_delivery, bring_up_to_date};
pub use feeds::{incoming, news, wall};
pub use posts::{comment_on_post, comments, create_post, delete_post, edit_post, post, unblocked};
pub(super) use votes::count as count_vote;
pub use votes::{own_choice, vote_poll};
pub use watching::news_changed;

use std::collections::HashMap;

use mongodb::bson::Bson;

use super::{
    documents::{Profile, UserDocument},
    store::{self, users},
    types::{CreateUserInput, CreateUserResult, UpdateProfileInput, UpdateProfileResult, User},
};
use crate::{
    domains::{
        assets::operations::asset_by_id,
        metadata::{self, MetadataFilter},
    },
    graphql::prelude::*,
    join::try_join_all,
    mongo::Version,
};

/// Maximum length of a user's subject in bytes; a global id has no room for a longer one.
const SUBJECT: usize = 180;

/// A user by global id, or the caller. Nobody is visible to callers who aren't signed in.
pub async fn user(cx: Cx<'_>, id: Option<&ID>) -> Result<Option<UserDocument>> {
    let Some(own) = &cx.requester.subject else { return Ok(None) };
    let subject = match id {
        None => own.clone(),
        Some(id) => match NodeKind::USER.key(id) {
            Some(subject) => subject,
            None => return Ok(None),
        },
    };
    user_by_subject(cx, &subject).await
}

/// A user by global id or by subject, or the caller.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn user_named(
    cx: Cx<'_>,
    id: Option<&ID>,
    subject: Option<&ID>,
) -> Result<Option<UserDocument>> {
    if subject.is_none() {
        return user(cx, id).await;
    }
    if id.is_some() {
        return Err(Error::bad_input("userId", "can't be combined with `id`"));
    }
    user_by_subject(cx, circles::named(cx, subject)?).await
}

/// The user with this subject, without those whom they block.
pub async fn user_by_subject(cx: Cx<'_>, subject: &str) -> Result<Option<UserDocument>> {
    if subject.len() > SUBJECT {
        return Ok(None);
    }
    users(&cx).get_part(subject, UserDocument::PART).await
}

/// The users with a pair of metadata, by their subjects. It is for merchants, who read all pairs.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn users_with(
    cx: Cx<'_>,
    pair: MetadataFilter,
    paging: Paging,
) -> Result<Connection<User>> {
    let order = Order { list: format!("usersWith {pair:?}"), keys: vec![("_id", 1)] };
    let having = metadata::operations::having_for_editors("metadata", pair)?;
    let page = Page::new(&cx, order, paging)?;
    let found = store::list_users_having(&cx, &page, having).await?;
    Ok(page.connection(found, |user| vec![Bson::from(user.id.as_str())], User::from))
}

/// The refusal that no user has this subject. If it is the caller's, the message tells how to get a profile.
pub fn no_user(requester: &Requester, subject: &str) -> NotFound {
    let refusal = NotFound::given("user", subject);
    if !requester.is(subject) {
        return refusal;
    }
    let message = "you have no profile yet; create it with `createUser`";
    NotFound { message: message.to_owned(), ..refusal }
}

/// The user with this subject, or the refusal that there is none.
async fn demand_user<U: From<NotFound>>(
    cx: Cx<'_>,
    subject: &str,
) -> Result<UserDocument, Stop<U>> {
    let found = user_by_subject(cx, subject).await?;
    Ok(found.ok_or_else(|| no_user(cx.requester, subject))?)
}

/// What a sender has to know of the recipients of a message.
#[derive(Debug, Default)]
pub struct Recipients {
    /// Subjects that no user has, sorted.
    pub unknown: Vec<String>,
    /// Subjects of the users who block the sender, sorted.
    pub blocking: Vec<String>,
}

/// Number of recipients that one command reads.
const RECIPIENTS: usize = 1_000;

/// Looks at the recipients of a message. `subjects` are sorted.
pub async fn recipients(app: &App, sender: &str, subjects: &[String]) -> Result<Recipients> {
    let mut seen = Recipients::default();
    for subjects in subjects.chunks(RECIPIENTS) {
        let found = store::list_recipients(app, sender, subjects).await?;
        let found: HashMap<_, _> =
            found.into_iter().map(|user| (user.id, !user.blocked.is_empty())).collect();
        for subject in subjects {
            match found.get(subject) {
                None => seen.unknown.push(subject.clone()),
                Some(true) => seen.blocking.push(subject.clone()),
                Some(false) => {}
            }
        }
    }
    Ok(seen)
}

/// Checks that the caller can see these assets.
async fn demand_assets<U: From<NotFound>>(cx: Cx<'_>, ids: Vec<&str>) -> Result<(), Stop<U>> {
    let look = |id| async move { Ok::<_, Error>((id, asset_by_id(cx, id).await?.is_some())) };
    let found = try_join_all(ids.into_iter().map(look)).await?;
    match found.into_iter().find(|(_, is_there)| !is_there) {
        Some((id, _)) => Err(NotFound::of(NodeKind::ASSET, id).into()),
        None => Ok(()),
    }
}

/// Creates the caller's user. A repeat with the same profile returns it.
pub async fn create_user(cx: Cx<'_>, input: CreateUserInput) -> Answer<CreateUserResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?.into_inner());
    if subject.len() > SUBJECT {
        let reason = "has a subject of more than 180 bytes, which can't be a user's";
        return Err(Error::bad_input("token", reason).into());
    }
    let CreateUserInput { name, about, picture_id } = input;
    let assets = picture_id.iter().map(|id| id.as_str()).collect();
    if let Err(refused) = demand_assets::<CreateUserResult>(cx, assets).await {
        // A repeat is answered even if the asset is gone.
        if users(&cx).get_settled(subject).await?.is_none() {
            return Err(refused);
        }
    }
    let profile = profile(name, about, picture_id);
    let user = UserDocument {
        id: subject.to_owned(),
        profile: profile.clone(),
        version: 0,
        at: cx.clock(),
        blocked: Vec::new(),
        marking: None,
        merged_at: None,
        celebrity_at: None,
        meta: None,
        v: Version,
    };
    let user = users(&cx).insert_once(user).await?;
    if user.profile != profile {
        return Err(AlreadyExists::new("user", subject).into());
    }
    Ok(user)
}

fn profile(name: String, about: Option<String>, picture: Option<ID>) -> Profile {
    Profile { name, about: about.unwrap_or_default(), picture: picture.map(|id| id.0) }
}

/// Replaces the caller's profile.
pub async fn update_profile(cx: Cx<'_>, input: UpdateProfileInput) -> Answer<UpdateProfileResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?.into_inner());
    let UpdateProfileInput { version, name, about, picture_id } = input;
    let assets = picture_id.iter().map(|id| id.as_str()).collect();
    let refused = demand_assets::<UpdateProfileResult>(cx, assets).await.err();
    let profile = profile(name, about, picture_id);
    if refused.is_none()
        && let Ok(version) = version.parse::<i64>()
        && let Some(user) = store::update_profile(&cx, subject, version, &profile).after().await?
    {
        return Ok(user);
    }
    let found = users(&cx).get_settled(subject).await?;
    let found = found.ok_or_else(|| no_user(cx.requester, subject))?;
    // The same call was made before. It is answered even if the asset is gone.
    let is_next =
        version.parse::<i64>().is_ok_and(|version| version.checked_add(1) == Some(found.version));
    if is_next && found.profile == profile {
        return Ok(found);
    }
    Err(refused.unwrap_or_else(|| Conflict::stale_version(found.version.to_string()).into()))
}
