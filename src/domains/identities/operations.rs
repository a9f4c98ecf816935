//! The rules of identities.

use async_graphql::{ID, connection::Connection};
use mongodb::bson::{Bson, DateTime};

use super::{
    documents::{IdentityDocument, Name},
    normal, store,
    types::{
        self, ChangeIdentityInput, ChangeIdentityResult, ClaimIdentityInput, ClaimIdentityResult,
        Identity, IdentityInput, IdentityProof, ProofNeeded, ProveIdentityInput,
        ProveIdentityResult, ReleaseIdentityInput, ReleaseIdentityResult,
    },
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        page::{Order, Page, Paging},
        refusals::{AlreadyExists, InvalidInput, NotFound, Stop},
        requester::Role,
    },
};

/// Lifetime of a proof in milliseconds: one hour.
const PROOF_MILLIS: i64 = 3_600_000;

/// The name of a user that readers see: the first username, or else the subject.
pub async fn display_name(app: &App, user: &str) -> Result<String, Error> {
    let found = store::find_username(app, user).await?;
    Ok(found.map_or_else(|| user.to_owned(), |identity| identity.name.value))
}

/// The user who has a name. Services and admins find every user; other callers only find themselves.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn user_by(cx: Cx<'_>, mut identity: IdentityInput) -> Result<Option<String>, Error> {
    normal::name("identity", &mut identity)?;
    let found = store::find(&cx, &Name::from(&identity)).await?;
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
) -> Result<Connection<String, Identity>, Error> {
    let user = user_of(cx, user)?;
    let list = format!("identities {user}");
    let page = Page::new(&cx, Order { list, keys: vec![("_id", 1)] }, paging)?;
    let found = store::list_of(&cx, &page, &user).await?;
    Ok(page.connection(found, |found| vec![Bson::from(&found.key)], Identity::from))
}

/// Issues a proof that a name belongs to a user.
pub async fn prove_identity(
    cx: Cx<'_>,
    input: ProveIdentityInput,
) -> Result<IdentityProof, Stop<ProveIdentityResult>> {
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
fn user_of(cx: Cx<'_>, named: Option<&ID>) -> Result<String, Error> {
    let own = cx.requester.subject()?;
    let Some(mut user) = named.cloned() else { return Ok(own.to_owned()) };
    types::user("userId", &mut user)?;
    if cx.requester.has(Role::Service) || *user == *own {
        return Ok(user.0);
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
    Err(ProofNeeded::default())
}

/// Claims a free name for a user. A repeat changes nothing.
pub async fn claim_identity(
    cx: Cx<'_>,
    input: ClaimIdentityInput,
) -> Result<IdentityDocument, Stop<ClaimIdentityResult>> {
    let user = &user_of(cx, input.user_id.as_ref())?;
    let input = &input.checked()?;
    let name = &Name::from(&input.identity);
    let read = || begin(cx);
    decide(read, |attempt: Attempt, ()| async move {
        demand_proof(cx, user, name, input.proof.as_deref(), attempt.now())?;
        take(&cx, name, user, None, &attempt).await
    })
    .await
}

/// Begins an attempt on a name that isn't read first.
async fn begin<U>(cx: Cx<'_>) -> Result<(Attempt, ()), Stop<U>> {
    Ok((cx.begin().await?, ()))
}

/// Tries to take a name for a user: provisionally if it is to replace an `old` one.
async fn take<U: From<AlreadyExists>>(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
    attempt: &Attempt,
) -> Result<Step<IdentityDocument>, Stop<U>> {
    let mut taken = store::insert(app, name, user, old, attempt).await?;
    if taken.is_none() {
        taken = store::take_tombstone(app, name, user, old, attempt).await.decided()?;
    }
    if let (None, Some(old)) = (&taken, old) {
        taken = store::keep(app, name, old, attempt).await.decided()?;
    }
    if let Some(taken) = taken {
        return Ok(Step::Done(taken));
    }
    match store::find_settled(app, &name.key()).await? {
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
async fn demand_end(app: &App, waiting: &IdentityDocument) -> Result<(), Error> {
    if end(app, waiting).await? {
        return Ok(());
    }
    Err(Error::unavailable("a change of the name isn't decided"))
}

/// Releases a name. A repeat within two grace periods gets the same answer.
pub async fn release_identity(
    cx: Cx<'_>,
    input: ReleaseIdentityInput,
) -> Result<Name, Stop<ReleaseIdentityResult>> {
    let user = &user_of(cx, input.user_id.as_ref())?;
    let input = input.checked()?;
    let name = &Name::from(&input.identity);
    let read = || begin(cx);
    decide(read, |attempt: Attempt, ()| async move {
        if store::release(&cx, name, user, &attempt).await.decided()?.is_some() {
            return Ok(Step::Done(name.clone()));
        }
        let found = store::find_settled(&cx, &name.key()).await?;
        let found = found.filter(|found| found.user_id == *user);
        let found = found.ok_or_else(|| not_found(name))?;
        if found.released_at.is_some() {
            finish(&cx, &found).await?;
            return Ok(Step::Done(name.clone()));
        }
        if !found.is_held() {
            return Err(not_found(name).into());
        }
        demand_end(&cx, &found).await?;
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
) -> Result<IdentityDocument, Stop<ChangeIdentityResult>> {
    let user = &user_of(cx, input.user_id.as_ref())?;
    let input = &input.checked()?;
    let (from, to) = (&Name::from(&input.from), &Name::from(&input.to));
    if from == to {
        return Err(InvalidInput::new("to", "is the name that it is to replace").into());
    }
    let key = &from.key();
    let read = || async { Ok(store::open(&cx, key).await?) };
    decide(read, |attempt: Attempt, old: Option<IdentityDocument>| async move {
        demand_proof(cx, user, to, input.proof.as_deref(), attempt.now())?;
        match old.filter(|old| old.user_id == *user) {
            Some(old) if old.is_held() => {
                // This comes before the new name is taken: two changes that wait for each other must both
                // stop here.
                demand_end(&cx, &old).await?;
                let Step::Done(taken) = take(&cx, to, user, Some(&old), &attempt).await? else {
                    return Ok(Step::Again);
                };
                let committed = store::commit(&cx, &old, &taken.key, &attempt).await.decided()?;
                // A refused change isn't tried again: the user may have claimed the old name anew.
                match committed {
                    None => demand_end(&cx, &taken).await?,
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
        let new = store::find_settled(&cx, &to.key()).await?;
        let is_new = |new: &IdentityDocument| {
            new.is_held() && new.user_id == *user && new.instead_of.as_ref() == Some(key)
        };
        Ok(Step::Done(new.filter(is_new).ok_or_else(|| not_found(from))?))
    })
    .await
}

/// Finishes the change that released a name, if a change did. It can be repeated at any time. Returns the new
/// name if this call gave it to the user.
pub(super) async fn finish(
    app: &App,
    old: &IdentityDocument,
) -> Result<Option<IdentityDocument>, Error> {
    let Some(moved_to) = &old.moved_to else { return Ok(None) };
    // A refused update was done before: later changes of the name are up to the user.
    let confirmed = store::confirm(app, moved_to, old).await.decided()?;
    store::settle(app, old, moved_to).await.decided()?;
    Ok(confirmed)
}

/// Ends the change that a name is pending for, if there is one, forwards or backwards. `false` means that an
/// attempt may still commit it. That is impossible once the user has released the old name, even if it was
/// claimed again.
pub(super) async fn end(app: &App, waiting: &IdentityDocument) -> Result<bool, Error> {
    let Some(pending) = &waiting.pending else { return Ok(true) };
    let old = store::find_settled(app, &pending.instead_of).await?;
    let is_same =
        |old: &IdentityDocument| old.user_id == waiting.user_id && old.since == pending.since;
    match old.filter(is_same) {
        Some(old) if old.released_at.is_none() => return Ok(false),
        Some(old) if old.moved_to.as_ref() == Some(&waiting.key) => {
            finish(app, &old).await?;
        }
        _ => {
            store::withdraw(app, waiting).await.decided()?;
        }
    }
    Ok(true)
}
