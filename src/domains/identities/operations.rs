//! The rules of identities.

use async_graphql::{ID, connection::Connection};
use mongodb::bson::{Bson, DateTime};

use super::{
    documents::{IdentityDocument, Name},
    normal, store,
    types::{
        ChangeIdentityInput, ChangeIdentityResult, ClaimIdentityInput, ClaimIdentityResult,
        Identity, IdentityInput, IdentityProof, ProofNeeded, ProveIdentityInput,
        ProveIdentityResult, ReleaseIdentityInput, ReleaseIdentityResult,
    },
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        input,
        page::{Order, Page},
        refusals::{AlreadyExists, InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
    },
};

/// Lifetime of a proof in milliseconds: one hour.
const PROOF_MILLIS: i64 = 3_600_000;
/// Number of tries for a name that is claimed and released again and again.
const TRIES: usize = 5;

/// The name of a user that readers see: the first username, or else the subject.
pub async fn display_name(app: &App, user: &str) -> Result<String, Error> {
    let found = store::find_username(app, user).await?;
    Ok(found.map_or_else(|| user.to_owned(), |identity| identity.name.value))
}

/// The user who has a name. Services and admins find every user; other callers only find themselves.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn user_by(
    app: &App,
    requester: &Requester,
    identity: &IdentityInput,
) -> Result<Option<String>, Error> {
    let name = normal::name("identity", identity)?;
    let found = store::find(app, &name).await?.filter(IdentityDocument::is_known);
    let told =
        |found: &IdentityDocument| requester.has(Role::Service) || requester.is(&found.user_id);
    Ok(found.filter(told).map(|found| found.user_id))
}

/// The names of a user.
///
/// # Errors
/// `BadInput` that names the argument, or `Forbidden`.
pub async fn identities_of(
    app: &App,
    requester: &Requester,
    user: Option<&ID>,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Identity>, Error> {
    let caller = caller(requester, user)?;
    let list = format!("identities {}", caller.user);
    let page = Page::new(app, Order { list, keys: vec![("_id", 1)] }, first, after)?;
    let found = store::list_of(app, &page, &caller.user).await?;
    Ok(page.connection(found, |found| vec![Bson::from(&found.key)], Identity::from))
}

/// Issues a proof that a name belongs to a user.
pub async fn prove(
    app: &App,
    asked: &ProveIdentityInput,
) -> Result<IdentityProof, Stop<ProveIdentityResult>> {
    let name = normal::new_name("identity", &asked.identity)?;
    let user = checked_user(&asked.user_id)?;
    let now = app.begin().await?.now().timestamp_millis();
    let end = now + PROOF_MILLIS;
    let signature = app.ids().derived(&signed(&name.key(), &user, &end.to_string()));
    let expires_at = DateTime::from_millis(end).into();
    Ok(IdentityProof { proof: format!("{end}.{signature}"), expires_at })
}

fn signed<'a>(key: &'a str, user: &'a str, end: &'a str) -> [&'a str; 4] {
    ["identity proof", key, user, end]
}

/// The user on whose behalf an operation runs.
struct Caller {
    /// Subject of the user.
    user: String,
    /// Whether the caller needs no proof.
    is_trusted: bool,
}

/// The caller, or the user that a service or an admin names.
fn caller(requester: &Requester, user: Option<&ID>) -> Result<Caller, Error> {
    let is_trusted = requester.has(Role::Service);
    let own = requester.subject()?;
    let user = match user {
        Some(user) => checked_user(user).map_err(Error::from)?,
        None => own.to_owned(),
    };
    if is_trusted || user == own {
        return Ok(Caller { user, is_trusted });
    }
    Err(Error::Forbidden(Role::Service.name()))
}

fn checked_user(user: &ID) -> Result<String, InvalidInput> {
    input::verbatim("userId", user, 1..=256)
}

/// Checks that the caller may claim the name.
fn admit(
    app: &App,
    caller: &Caller,
    name: &Name,
    proof: Option<&str>,
    now: DateTime,
) -> Result<(), ProofNeeded> {
    let holds = |proof: &str| {
        let (end, signature) = proof.split_once('.')?;
        let in_time = end.parse::<i64>().ok()? > now.timestamp_millis();
        let key = name.key();
        let sound = app.ids().verifies(&signed(&key, &caller.user, end), signature);
        (in_time && sound).then_some(())
    };
    if caller.is_trusted || proof.and_then(holds).is_some() {
        return Ok(());
    }
    Err(ProofNeeded::new())
}

/// Claims a free name for a user. A repeat changes nothing.
pub async fn claim(
    app: &App,
    requester: &Requester,
    asked: &ClaimIdentityInput,
) -> Result<IdentityDocument, Stop<ClaimIdentityResult>> {
    let caller = caller(requester, asked.user_id.as_ref())?;
    let name = normal::new_name("identity", &asked.identity)?;
    let attempt = app.begin().await?;
    admit(app, &caller, &name, asked.proof.as_deref(), attempt.now())?;
    let taken = take(app, &name, &caller.user, None, &attempt).await?;
    taken.ok_or_else(|| taken_by_another(&name).into())
}

fn taken_by_another(name: &Name) -> AlreadyExists {
    AlreadyExists::new("user with the identity", &name.value)
}

/// Takes a name for a user: provisionally if it is to replace an `old` one. `None` if another user has it.
async fn take(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
    attempt: &Attempt,
) -> Result<Option<IdentityDocument>, Error> {
    for _ in 0..TRIES {
        let mut taken = store::insert(app, name, user, old, attempt).await.decided()?;
        if taken.is_none() {
            taken = store::take_stone(app, name, user, old, attempt).await.decided()?;
        }
        if let (None, Some(old)) = (&taken, old) {
            taken = store::keep(app, name, old, attempt).await.decided()?;
        }
        if taken.is_some() {
            return Ok(taken);
        }
        match store::find_settled(app, &name.key()).await? {
            // Its change is finished before the name can be claimed.
            Some(found) if found.released_at.is_some() => {
                finish(app, &found).await?;
            }
            Some(found) if found.user_id != user => return Ok(None),
            Some(found) if old.is_none() && found.is_held() => return Ok(Some(found)),
            Some(found) if !end(app, &found).await? => return Err(undecided()),
            _ => {}
        }
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
    }
    Err(Error::unavailable("the name comes and goes"))
}

fn undecided() -> Error {
    Error::unavailable("a change of the name isn't decided")
}

/// Releases a name. A repeat within two grace periods gets the same answer.
pub async fn release(
    app: &App,
    requester: &Requester,
    asked: &ReleaseIdentityInput,
) -> Result<Name, Stop<ReleaseIdentityResult>> {
    let caller = caller(requester, asked.user_id.as_ref())?;
    let name = normal::name("identity", &asked.identity)?;
    let attempt = app.begin().await?;
    for _ in 0..TRIES {
        if store::release(app, &name, &caller.user, &attempt).await.decided()?.is_some() {
            return Ok(name);
        }
        let found = store::find_settled(app, &name.key()).await?;
        let found = found.filter(|found| found.user_id == caller.user);
        let found = found.ok_or_else(|| not_found(&name))?;
        if found.released_at.is_some() {
            finish(app, &found).await?;
            return Ok(name);
        }
        if !found.is_held() {
            return Err(not_found(&name).into());
        }
        if attempt.is_over() {
            return Err(attempt.overdue().into());
        }
        if !end(app, &found).await? {
            return Err(undecided().into());
        }
    }
    Err(Error::unavailable("the name comes and goes").into())
}

fn not_found(name: &Name) -> NotFound {
    NotFound::new("identity", &name.value)
}

/// Replaces one name of a user with another: both happen or neither. A repeat returns the new name.
pub async fn change(
    app: &App,
    requester: &Requester,
    asked: &ChangeIdentityInput,
) -> Result<IdentityDocument, Stop<ChangeIdentityResult>> {
    let caller = caller(requester, asked.user_id.as_ref())?;
    let (from, to) = (normal::name("from", &asked.from)?, normal::new_name("to", &asked.to)?);
    if from == to {
        return Err(InvalidInput::new("to", "is the name that it is to replace").into());
    }
    let (attempt, old) = store::open(app, &from).await?;
    admit(app, &caller, &to, asked.proof.as_deref(), attempt.now())?;
    let user = &caller.user;
    if let Some(old) = old.filter(|old| old.user_id == *user) {
        if old.is_held() {
            // This comes before the new name is taken: two changes that wait for each other must both stop
            // here.
            if !end(app, &old).await? {
                return Err(undecided().into());
            }
            let taken = take(app, &to, user, Some(&old), &attempt).await?;
            let taken = taken.ok_or_else(|| taken_by_another(&to))?;
            let decided = store::decide(app, &old, &taken.key, &attempt).await.decided()?;
            if let Some(decided) = decided {
                if let Some(new) = finish(app, &decided).await? {
                    return Ok(new);
                }
            } else if !end(app, &taken).await? {
                return Err(undecided().into());
            }
        } else {
            finish(app, &old).await?;
        }
    }
    // The change was finished before, or by another attempt.
    let new = store::find_settled(app, &to.key()).await?;
    let is_of = |new: &IdentityDocument| new.is_held() && new.user_id == *user;
    let new = new.filter(|new| is_of(new) && new.instead_of == Some(from.key()));
    new.ok_or_else(|| not_found(&from).into())
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
