//! The rules of identities.

use mongodb::bson::{Bson, DateTime};

use super::{
    documents::{Author, IdentityDocument, Name},
    normal, store,
    types::{
        ChangeIdentityInput, ChangeIdentityResult, ClaimIdentityInput, ClaimIdentityResult,
        Identity, IdentityInput, IdentityProof, ProofNeeded, ProveIdentityInput,
        ProveIdentityResult, ReleaseIdentityInput, ReleaseIdentityResult, SUBJECT,
    },
};
use crate::graphql::prelude::*;

/// Lifetime of a proof in milliseconds: one hour.
const PROOF_MILLIS: i64 = 3_600_000;

/// A user as the author of something. The name is the first username, or else the subject.
pub async fn author(app: &App, user: &str) -> Result<Author> {
    let found = store::find_username(app, user).await?;
    let name = found.map_or_else(|| user.to_owned(), |identity| identity.name.value);
    Ok(Author { id: user.to_owned(), name })
}

/// The user who has a name. Services and admins find every user; other callers only find themselves.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn user_by(cx: Cx<'_>, mut identity: IdentityInput) -> Result<Option<String>> {
    normal::name("identity", &mut identity)?;
    let found = store::identities(&cx).get(&Name::from(&identity).key()).await?;
    let is_visible = |found: &IdentityDocument| {
        found.is_known() && (cx.requester.has(Role::Service) || cx.requester.is(&found.user_id))
    };
    Ok(found.filter(is_visible).map(|found| found.user_id))
}

/// The names of a user.
///
/// # Errors
/// `BadInput` that names the argument, or `Forbidden`.
pub async fn identities(
    cx: Cx<'_>,
    user: Option<&ID>,
    paging: Paging,
) -> Result<Connection<Identity>> {
    if let Some(user) = user {
        input::verbatim("userId", user, SUBJECT)?;
    }
    let user = user_of(cx, user)?;
    let list = format!("identities {user}");
    let page = Page::new(&cx, Order { list, keys: vec![("_id", 1)] }, paging)?;
    let found = store::list_of(&cx, &page, user).await?;
    Ok(page.connection(found, |found| vec![Bson::from(&found.key)], Identity::from))
}

/// Issues a proof that a name belongs to a user.
pub async fn prove_identity(cx: Cx<'_>, input: ProveIdentityInput) -> Answer<ProveIdentityResult> {
    let input = input.checked()?;
    let name = Name::from(&input.identity);
    let end = cx.begin().await?.now().timestamp_millis() + PROOF_MILLIS;
    let signature = cx.ids().derived(&signed(&name.key(), &input.user_id, &end.to_string()));
    let expires_at = DateTime::from_millis(end).into();
    Ok(IdentityProof { proof: format!("{end}.{signature}"), expires_at })
}

fn signed<'a>(key: &'a str, user: &'a str, end: &'a str) -> [&'a str; 4] {
    ["identity proof", key, user, end]
}

/// The user on whose behalf an operation runs: the caller, or the user that a service or an admin names.
fn user_of<'a>(cx: Cx<'a>, named: Option<&'a ID>) -> Result<&'a str> {
    let own = cx.requester.subject()?;
    let user = named.map_or(own, |named| named.as_str());
    if user == own || cx.requester.has(Role::Service) {
        return Ok(user);
    }
    Err(Error::Forbidden(Role::Service.name()))
}

/// Checks that the caller may claim the name for the user.
fn demand_proof(
    cx: Cx<'_>,
    user: &str,
    name: &Name,
    proof: Option<&str>,
    now: DateTime,
) -> Result<(), ProofNeeded> {
    let is_valid = |proof: &str| {
        let Some((end, signature)) = proof.split_once('.') else { return false };
        end.parse::<i64>().is_ok_and(|end| end > now.timestamp_millis())
            && cx.ids().verifies(&signed(&name.key(), user, end), signature)
    };
    if cx.requester.has(Role::Service) || proof.is_some_and(is_valid) {
        return Ok(());
    }
    // The same refusal for a missing proof and for an invalid or expired one.
    Err(ProofNeeded::because(
        "a proof is needed that the name is yours: a service of the site gets it by proveIdentity",
    ))
}

/// Claims a free name for a user. A repeat changes nothing.
pub async fn claim_identity(cx: Cx<'_>, input: ClaimIdentityInput) -> Answer<ClaimIdentityResult> {
    let input = &input.checked()?;
    let user = user_of(cx, input.user_id.as_ref())?;
    let name = &Name::from(&input.identity);
    let read = || async { Ok((cx.begin().await?, ())) };
    decide(read, |attempt: Attempt, ()| async move {
        demand_proof(cx, user, name, input.proof.as_deref(), attempt.now())?;
        claim(&cx, name, user, None, &attempt).await
    })
    .await
}

/// Tries to claim a name for a user, or to reserve it for the change of an `old` one.
async fn claim<U: From<AlreadyExists>>(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
    attempt: &Attempt,
) -> Result<Step<IdentityDocument>, Stop<U>> {
    let identity = IdentityDocument::new(name.clone(), user, old, attempt.now());
    if store::identities(app).insert(&identity).await.decided()?.is_some() {
        return Ok(Step::Done(identity));
    }
    let claim = store::claim_tombstone(app, name, user, old).within(attempt);
    let mut claimed = claim.then_read().await?;
    if let (None, Some(old)) = (&claimed, old) {
        claimed = store::keep(app, name, old).within(attempt).then_read().await?;
    }
    if let Some(claimed) = claimed {
        return Ok(Step::Done(claimed));
    }
    match store::identities(app).get_settled(&name.key()).await? {
        // Its change is finished before the name can be claimed.
        Some(found) if found.released_at.is_some() => {
            finish(app, &found).await?;
        }
        Some(found) if found.user_id != user => {
            return Err(AlreadyExists::new("user with the identity", &name.value).into());
        }
        Some(found) if old.is_none() && found.is_held() => return Ok(Step::Done(found)),
        Some(found) => demand_end(app, &found).await?,
        None => {}
    }
    Ok(Step::Again)
}

/// Ends the change that a name is pending for, if there is one.
///
/// # Errors
/// `Unavailable`: an attempt may still commit it.
async fn demand_end(app: &App, pending: &IdentityDocument) -> Result<()> {
    if end(app, pending).await? {
        return Ok(());
    }
    Err(Error::unavailable("a change of the name isn't decided"))
}

/// Releases a name. A repeat within two grace periods gets the same answer.
pub async fn release_identity(
    cx: Cx<'_>,
    input: ReleaseIdentityInput,
) -> Answer<ReleaseIdentityResult> {
    let input = input.checked()?;
    let user = user_of(cx, input.user_id.as_ref())?;
    release(cx.app, &Name::from(&input.identity), user).await
}

/// Releases a name of a user.
pub(super) async fn release<U: From<NotFound>>(
    app: &App,
    name: &Name,
    user: &str,
) -> Result<Name, Stop<U>> {
    let read = || async { Ok((app.begin().await?, ())) };
    decide(read, |attempt: Attempt, ()| async move {
        let release = store::release(app, name, user).within(&attempt);
        if release.held().await? {
            return Ok(Step::Done(name.clone()));
        }
        let found = store::identities(app).get_settled(&name.key()).await?;
        let found = found.filter(|found| found.user_id == user);
        let found = found.ok_or_else(|| not_found(name))?;
        if found.released_at.is_some() {
            finish(app, &found).await?;
            return Ok(Step::Done(name.clone()));
        }
        if !found.is_held() {
            return Err(not_found(name).into());
        }
        demand_end(app, &found).await?;
        Ok(Step::Again)
    })
    .await
}

fn not_found(name: &Name) -> NotFound {
    NotFound::new("identity", &name.value)
}

/// Replaces one name of a user with another: both happen or neither. A repeat returns the new name.
pub async fn change_identity(
    cx: Cx<'_>,
    input: ChangeIdentityInput,
) -> Answer<ChangeIdentityResult> {
    let input = &input.checked()?;
    let user = user_of(cx, input.user_id.as_ref())?;
    let (from, to) = (&Name::from(&input.from), &Name::from(&input.to));
    if from == to {
        return Err(InvalidInput::new("to", "is the same as `from`").into());
    }
    let key = &from.key();
    let read = || async { Ok(cx.begin_with(key).await?) };
    decide(read, |attempt: Attempt, old: Option<IdentityDocument>| async move {
        demand_proof(cx, user, to, input.proof.as_deref(), attempt.now())?;
        match old.filter(|old| old.user_id == user) {
            Some(old) if old.is_held() => {
                // This comes before the new name is reserved: two changes that wait for each other must
                // both stop here.
                demand_end(&cx, &old).await?;
                let Step::Done(new) = claim(&cx, to, user, Some(&old), &attempt).await? else {
                    return Ok(Step::Again);
                };
                let commit = store::commit(&cx, &old, &new.key).within(&attempt);
                // A refused change isn't tried again: the user may have claimed the old name anew.
                match commit.then_read().await? {
                    None => demand_end(&cx, &new).await?,
                    Some(committed) => {
                        if let Some(new) = finish(&cx, &committed).await? {
                            return Ok(Step::Done(new));
                        }
                    }
                }
            }
            Some(old) => {
                finish(&cx, &old).await?;
            }
            None => {}
        }
        // The change was finished before, or by another attempt.
        let new = store::identities(&cx).get_settled(&to.key()).await?;
        let is_new = |new: &IdentityDocument| {
            new.is_held() && new.user_id == user && new.instead_of.as_ref() == Some(key)
        };
        Ok(Step::Done(new.filter(is_new).ok_or_else(|| not_found(from))?))
    })
    .await
}

/// Finishes the change that released a name, if a change did. It can be repeated at any time. Returns the new
/// name if this call gave it to the user.
pub(super) async fn finish(app: &App, old: &IdentityDocument) -> Result<Option<IdentityDocument>> {
    let Some(moved_to) = &old.moved_to else { return Ok(None) };
    // A refused update was done before: later changes of the name are up to the user.
    let confirmed = store::confirm(app, moved_to, old).then_read().await?;
    store::settle(app, old, moved_to).held().await?;
    Ok(confirmed)
}

/// Ends the change that a name is pending for, if there is one, forwards or backwards. `false` means that an
/// attempt may still commit it. That is impossible once the user has released the old name, even if it was
/// claimed again.
pub(super) async fn end(app: &App, pending: &IdentityDocument) -> Result<bool> {
    let Some(mark) = &pending.pending else { return Ok(true) };
    let old = store::identities(app).get_settled(&mark.instead_of).await?;
    let is_same =
        |old: &IdentityDocument| old.user_id == pending.user_id && old.since == mark.since;
    match old.filter(is_same) {
        Some(old) if old.released_at.is_none() => return Ok(false),
        Some(old) if old.moved_to.as_ref() == Some(&pending.key) => {
            finish(app, &old).await?;
        }
        _ => {
            store::withdraw(app, pending, mark).held().await?;
        }
    }
    Ok(true)
}
