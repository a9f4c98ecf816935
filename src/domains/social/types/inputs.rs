//! Inputs and results of the mutations.

use async_graphql::OneofObject;

use super::{
    super::documents::{Audience, Shown, UserDocument},
    AlreadyVoted, DeletedPost, Post, User,
};
use crate::graphql::{
    declared::{each, id, text},
    input as checks,
    prelude::*,
};

/// Maximum length of the name of a circle in characters.
const CIRCLE: usize = 50;
/// Maximum number of circles that a post names.
const CIRCLES: usize = 20;
/// Maximum number of photos of a post.
const PHOTOS: usize = 10;
/// Numbers of choices of a poll.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=10;

/// Checks the name of a circle. It is stored as a value and never as a part of a path; `.` and `$` are refused so that
/// clients can use it as a name in theirs.
fn circle(field: &str, name: &mut str) -> Result<(), InvalidInput> {
    checks::line(field, name, 1..=CIRCLE)?;
    if name.contains(['.', '$']) {
        return Err(InvalidInput::new(field, "takes no `.` and no `$`"));
    }
    Ok(())
}

/// Checks the circles of a post, and sorts them.
fn circles(field: &str, names: &mut Vec<String>) -> Result<(), InvalidInput> {
    each(CIRCLES, |field: &str, name: &mut String| circle(field, name))(field, names)?;
    names.sort();
    names.dedup();
    Ok(())
}

/// Checks the text of a post, which may be empty.
fn post_text(field: &str, value: &mut String) -> Result<(), InvalidInput> {
    text(0..=5_000)(field, value)
}

/// Checks the address of a link.
fn address(field: &str, value: &mut str) -> Result<(), InvalidInput> {
    checks::line(field, value, 1..=2_000)?;
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    if rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !value.contains(' ')) {
        return Ok(());
    }
    Err(InvalidInput::new(field, "takes a URL that begins with `https://` or `http://`"))
}

/// Checks the choices of a poll.
fn choices(field: &str, values: &mut Vec<String>) -> Result<(), InvalidInput> {
    if !CHOICES.contains(&values.len()) {
        let (least, most) = (CHOICES.start(), CHOICES.end());
        return Err(InvalidInput::new(field, format!("takes {least} to {most} choices")));
    }
    each(*CHOICES.end(), text(1..=200))(field, values)
}

/// Checks the photos of a post.
fn photos(field: &str, values: &mut Vec<ID>) -> Result<(), Unusable> {
    if values.is_empty() {
        return Err(InvalidInput::new(field, "takes at least one photo").into());
    }
    let asset =
        |field: &str, value: &mut ID| id(NodeKind::ASSET)(field, value).map_err(Unusable::from);
    each(PHOTOS, asset)(field, values)
}

/// Checks the detail of a post.
fn detail(field: &str, value: &mut PostDetailInput) -> Result<(), Unusable> {
    let checked = match value {
        PostDetailInput::Photo(input) => input.check(),
        PostDetailInput::Link(input) => input.check(),
        PostDetailInput::CheckIn(input) => input.check(),
        PostDetailInput::Poll(input) => input.check(),
    };
    let name = match value {
        PostDetailInput::Photo(_) => "photo",
        PostDetailInput::Link(_) => "link",
        PostDetailInput::CheckIn(_) => "checkIn",
        PostDetailInput::Poll(_) => "poll",
    };
    checked.map_err(|fault| match fault {
        Unusable::Invalid(invalid) => Unusable::Invalid(invalid.below(&format!("{field}.{name}"))),
        missing @ Unusable::Missing(_) => missing,
    })
}

/// What a post consists of beside its text. Exactly one field must be set.
#[derive(Debug, Clone, OneofObject, serde::Serialize)]
pub enum PostDetailInput {
    /// Pictures, each an asset.
    Photo(PhotoDetailInput),
    /// The address of a page.
    Link(LinkDetailInput),
    /// A visit to a place.
    CheckIn(CheckInDetailInput),
    /// Choices for which each user has one vote.
    Poll(PollDetailInput),
}

input! {
    /// Photos of a post.
    pub struct PhotoDetailInput {
        /// Global ids of the assets, 1 to 10. Readers see those that are visible to them.
        pub asset_ids: Vec<ID> where photos,
    }

    /// A link of a post.
    pub struct LinkDetailInput {
        /// Address: a URL of up to 2,000 characters that begins with `https://` or `http://`.
        pub url: String where address,
        /// Title of the page, up to 300 characters. Default: none.
        pub title: Option<String> where optional(text(0..=300)),
    }

    /// A visit to a place.
    pub struct CheckInDetailInput {
        /// Name of the place, 1 to 200 characters.
        pub place: String where text(1..=200),
    }

    /// Choices for which each user has one vote. They never change.
    pub struct PollDetailInput {
        /// Texts of the choices, 2 to 10 of 1 to 200 characters.
        pub choices: Vec<String> where choices,
    }

    /// Input of `createUser`: the profile.
    pub struct CreateUserInput {
        /// Name for display, 1 to 100 characters.
        pub name: String where text(1..=100),
        /// What the user says about themselves, up to 1,000 characters. Default: nothing.
        pub about: Option<String> where optional(text(0..=1_000)),
        /// Global id of the asset that is the user's picture. Default: none.
        pub picture_id: Option<ID> where optional(id(NodeKind::ASSET)),
    }

    /// Input of `updateProfile`: the whole new profile, and the version of the old one.
    pub struct UpdateProfileInput {
        /// `version` of the caller's profile as the client read it. If the profile changed since, the update is
        /// refused with `Conflict`.
        pub version: ID where verbatim(1..=128),
        /// Name for display, 1 to 100 characters.
        pub name: String where text(1..=100),
        /// What the user says about themselves, up to 1,000 characters. Default: nothing.
        pub about: Option<String> where optional(text(0..=1_000)),
        /// Global id of the asset that is the user's picture. Default: none.
        pub picture_id: Option<ID> where optional(id(NodeKind::ASSET)),
    }

    /// Input of `circleUser`: the user and the circle.
    pub struct CircleUserInput {
        /// Subject of the user's tokens.
        pub user_id: ID where verbatim(1..=256),
        /// Name of the circle, 1 to 50 characters without `.` and `$`. It needn't exist before.
        pub circle: String where circle,
    }

    /// Input of `uncircleUser`: the user and the circle.
    pub struct UncircleUserInput {
        /// Subject of the user's tokens.
        pub user_id: ID where verbatim(1..=256),
        /// Name of the circle, 1 to 50 characters without `.` and `$`.
        pub circle: String where circle,
    }

    /// Input of `blockUser`: the user.
    pub struct BlockUserInput {
        /// Subject of the user's tokens.
        pub user_id: ID where verbatim(1..=256),
    }

    /// Input of `unblockUser`: the user.
    pub struct UnblockUserInput {
        /// Subject of the user's tokens.
        pub user_id: ID where verbatim(1..=256),
    }

    /// Input of `createPost`: the post and who may see it.
    pub struct CreatePostInput {
        /// Subject of the user on whose wall it is written. Default: the author's own wall.
        pub to_user_id: Option<ID> where optional(verbatim(1..=256)),
        /// Who may see the post.
        pub audience: Audience,
        /// Names of the author's circles that may see it, at least one and up to 20; only with the audience `NAMED`. Each
        /// of them has at least one user.
        pub circles: Option<Vec<String>> where optional(circles),
        /// Text, up to 5,000 characters. It may only be missing if there is a `detail`.
        pub text: Option<String> where optional(post_text),
        /// What the post consists of beside its text. Default: nothing, which makes it a `STATUS`.
        pub detail: Option<PostDetailInput> where optional(detail),
        /// Idempotency key, 1 to 128 characters. Without one, a repeated call creates another post.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `editPost`: the new text, and the version of the old one.
    pub struct EditPostInput {
        /// Global id of the post.
        pub post_id: ID where id(NodeKind::POST),
        /// `version` of the post as the client read it. If the text changed since, the edit is refused with `Conflict`.
        pub version: ID where verbatim(1..=128),
        /// Text, up to 5,000 characters. It may only be empty if the post has a `detail`.
        pub text: String where post_text,
    }

    /// Input of `deletePost`: the post.
    pub struct DeletePostInput {
        /// Global id of the post.
        pub post_id: ID where id(NodeKind::POST),
    }

    /// Input of `commentOnPost`: the post and the comment.
    pub struct CommentOnPostInput {
        /// Global id of the post.
        pub post_id: ID where id(NodeKind::POST),
        /// Text, 1 to 1,000 characters.
        pub text: String where text(1..=1_000),
        /// Idempotency key, 1 to 128 characters. Without one, a repeated call adds another comment.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `votePoll`: the poll and the choice.
    pub struct VotePollInput {
        /// Global id of the post.
        pub post_id: ID where id(NodeKind::POST),
        /// Position of the choice, from 0.
        pub choice: i32,
    }
}

result! {
    /// Result of `createUser`: the user, or a refusal. `AlreadyExists`: the caller has another profile.
    pub enum CreateUserResult:
        UserDocument => User | AlreadyExists | NotFound | InvalidInput;

    /// Result of `updateProfile`: the user, or a refusal. `NotFound`: the caller has no profile yet.
    pub enum UpdateProfileResult:
        UserDocument => User | NotFound | Conflict | InvalidInput;

    /// Result of `circleUser`: the user in the circle, or a refusal.
    pub enum CircleUserResult:
        UserDocument => User | NotFound | InvalidInput;

    /// Result of `uncircleUser`: the user, or a refusal.
    pub enum UncircleUserResult:
        UserDocument => User | NotFound | InvalidInput;

    /// Result of `blockUser`: the blocked user, or a refusal.
    pub enum BlockUserResult:
        UserDocument => User | NotFound | InvalidInput;

    /// Result of `unblockUser`: the user, or a refusal.
    pub enum UnblockUserResult:
        UserDocument => User | NotFound | InvalidInput;

    /// Result of `createPost`: the post, or a refusal.
    pub enum CreatePostResult:
        Shown => Post | NotFound | Conflict | InvalidInput;

    /// Result of `editPost`: the edited post, or a refusal.
    pub enum EditPostResult:
        Shown => Post | NotFound | Conflict | InvalidInput;

    /// Result of `deletePost`: the id of the deleted post, or a refusal.
    pub enum DeletePostResult:
        DeletedPost | NotFound | InvalidInput;

    /// Result of `commentOnPost`: the post with the comment, or a refusal.
    pub enum CommentOnPostResult:
        Shown => Post | NotFound | Conflict | InvalidInput;

    /// Result of `votePoll`: the post with the vote, or a refusal.
    pub enum VotePollResult:
        Shown => Post | AlreadyVoted | NotFound | InvalidInput;
}
