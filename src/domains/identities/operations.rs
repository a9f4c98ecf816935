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
    graphql::{
        input,
        page::{Order, Page},
        refusals::{AlreadyExists, InvalidInput, NotFound, Stop},
        requester::{Requester, Role},
    },
    mongo::Run,
};

/// How long a proof is good for, in milliseconds: an hour.
const PROOF_MILLIS: i64 = 3_600_000;
/// Times that a name which comes and goes is tried to be taken.
const TRIES: usize = 5;

/// The name by which readers know a user: the first username, else the subject.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn display_name(app: &App, user: &str) -> Result<String, Error> {
    let found = store::find_username(app, user).await?;
    Ok(found.map_or_else(|| user.to_owned(), |identity| identity.name.value))
}

/// Who has a name. Services and admins are told; for anyone else only what is their own exists.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn user_by(
    app: &App,
    requester: &Requester,
    identity: &IdentityInput,
) -> Result<Option<String>, Error> {
    let name = normal::name("identity", identity)?;
    let found = store::find(app, &name).await?.filter(IdentityDocument::is_held);
    let told =
        |found: &IdentityDocument| requester.has(Role::Service) || requester.is(&found.user_id);
    Ok(found.filter(told).map(|found| found.user_id))
}

/// The names of a user.
///
/// # Errors
/// `BadInput`, `Forbidden`, `Unavailable` or `Internal`.
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

/// A proof that a name is a user's.
///
/// # Errors
/// A refusal, or trouble.
pub async fn prove(
    app: &App,
    asked: &ProveIdentityInput,
) -> Result<IdentityProof, Stop<ProveIdentityResult>> {
    let name = normal::name("identity", &asked.identity)?;
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

/// For whom something is asked.
struct Caller {
    /// Subject of the user.
    user: String,
    /// Whether the caller needs no proof.
    is_trusted: bool,
}

/// The caller, or for services and admins the user whom they name.
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
    input::text("userId", user, 1..=256)
}

/// Whether the name may be the caller's.
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

/// Gives a user a name that nobody has. Repeated, it changes nothing.
///
/// # Errors
/// A refusal, or trouble.
pub async fn claim(
    app: &App,
    requester: &Requester,
    asked: &ClaimIdentityInput,
) -> Result<IdentityDocument, Stop<ClaimIdentityResult>> {
    let caller = caller(requester, asked.user_id.as_ref())?;
    let name = normal::name("identity", &asked.identity)?;
    let run = app.begin().await?;
    admit(app, &caller, &name, asked.proof.as_deref(), run.now())?;
    let taken = take(app, &name, &caller.user, None, &run).await?;
    taken.ok_or_else(|| taken_by_another(&name).into())
}

fn taken_by_another(name: &Name) -> AlreadyExists {
    AlreadyExists::new("user with the identity", &name.value)
}

/// Takes a name for a user, tentatively where it is to come `instead_of` another. `None`: someone else
/// has it.
async fn take(
    app: &App,
    name: &Name,
    user: &str,
    instead_of: Option<&str>,
    run: &Run,
) -> Result<Option<IdentityDocument>, Error> {
    for _ in 0..TRIES {
        let mut taken = store::insert(app, name, user, instead_of, run).await.decided()?;
        if taken.is_none() {
            taken = store::take_stone(app, name, user, instead_of, run).await.decided()?;
        }
        if let (None, Some(instead_of)) = (&taken, instead_of) {
            taken = store::renew(app, name, user, instead_of, run).await.decided()?;
        }
        if taken.is_some() {
            return Ok(taken);
        }
        match store::find_settled(app, &name.key()).await? {
            Some(found) if found.is_of(user) => return Ok(Some(found)),
            Some(found) if found.pending.is_some() && found.user_id == user => {
                return Err(Error::unavailable("another change is about to take the name"));
            }
            Some(found) if found.released_at.is_none() => return Ok(None),
            // Its change is finished before anyone else may have it.
            Some(IdentityDocument { key, user_id, moved_to: Some(to), .. }) => {
                finish(app, &key, &user_id, &to).await?;
            }
            _ if run.is_over() => return Err(run.overdue()),
            _ => {}
        }
    }
    Err(Error::unavailable("the name comes and goes"))
}

/// Lets go of a name. Repeated within two bounds it is answered as the first time.
///
/// # Errors
/// A refusal, or trouble.
pub async fn release(
    app: &App,
    requester: &Requester,
    asked: &ReleaseIdentityInput,
) -> Result<Name, Stop<ReleaseIdentityResult>> {
    let caller = caller(requester, asked.user_id.as_ref())?;
    let name = normal::name("identity", &asked.identity)?;
    let run = app.begin().await?;
    if store::release(app, &name, &caller.user, None, &run).await.decided()?.is_some() {
        return Ok(name);
    }
    match store::find_settled(app, &name.key()).await? {
        Some(found) if found.released_at.is_some() && found.user_id == caller.user => Ok(name),
        Some(found) if found.is_of(&caller.user) => Err(run.overdue().into()),
        _ => Err(not_found(&name).into()),
    }
}

fn not_found(name: &Name) -> NotFound {
    NotFound::new("identity", &name.value)
}

/// Gives a user one name in the place of another: both happen, or neither. Repeated, it is answered with
/// the new name.
///
/// # Errors
/// A refusal, or trouble.
pub async fn change(
    app: &App,
    requester: &Requester,
    asked: &ChangeIdentityInput,
) -> Result<IdentityDocument, Stop<ChangeIdentityResult>> {
    let caller = caller(requester, asked.user_id.as_ref())?;
    let (from, to) = (normal::name("from", &asked.from)?, normal::name("to", &asked.to)?);
    if from == to {
        return Err(InvalidInput::new("to", "is the name that it is to replace").into());
    }
    let (run, old) = store::open(app, &from).await?;
    admit(app, &caller, &to, asked.proof.as_deref(), run.now())?;
    let (user, new_key) = (&caller.user, to.key());
    if old.as_ref().is_some_and(|old| went_to(old, user, &new_key)) {
        return Ok(finish(app, &from.key(), user, &new_key).await?);
    }
    if !old.is_some_and(|old| old.is_of(user)) {
        // A repeat of what was finished long ago.
        let new = store::find_settled(app, &new_key).await?;
        let new = new.filter(|new| new.is_of(user) && new.instead_of == Some(from.key()));
        return new.ok_or_else(|| not_found(&from).into());
    }
    let taken = take(app, &to, user, Some(&from.key()), &run).await?;
    let taken = taken.ok_or_else(|| taken_by_another(&to))?;
    if store::release(app, &from, user, Some(&new_key), &run).await.decided()?.is_some() {
        return Ok(finish(app, &from.key(), user, &new_key).await?);
    }
    let old = store::find_settled(app, &from.key()).await?;
    if old.as_ref().is_some_and(|old| went_to(old, user, &new_key)) {
        return Ok(finish(app, &from.key(), user, &new_key).await?);
    }
    if old.is_some_and(|old| old.is_of(user)) {
        // Only the deadline can have refused it: a repeat takes the name again, or the sweep gives it
        // back.
        return Err(run.overdue().into());
    }
    give_back(app, &taken).await?;
    Err(not_found(&from).into())
}

/// Whether the name was let go by the change to that other name.
fn went_to(old: &IdentityDocument, user: &str, new_key: &str) -> bool {
    old.released_at.is_some() && old.user_id == user && old.moved_to.as_deref() == Some(new_key)
}

/// Ends a change that was decided. May be repeated by anyone.
pub(super) async fn finish(
    app: &App,
    from: &str,
    user: &str,
    to: &str,
) -> Result<IdentityDocument, Error> {
    let confirmed = store::confirm(app, to, user, from).await.decided()?;
    store::settle(app, from, user, to).await.decided()?;
    confirmed.ok_or_else(|| Error::unavailable("the new name was let go meanwhile"))
}

/// Gives back what a change has taken that can't be decided any more.
pub(super) async fn give_back(app: &App, taken: &IdentityDocument) -> Result<(), Error> {
    let Some(pending) = &taken.pending else { return Ok(()) };
    let IdentityDocument { key, user_id, .. } = taken;
    store::withdraw(app, key, user_id, &pending.instead_of, pending.at).await.decided()?;
    Ok(())
}

/// Ends a change of which the sweep found the new name waiting.
pub(super) async fn end(app: &App, waiting: &IdentityDocument) -> Result<(), Error> {
    let Some(pending) = &waiting.pending else { return Ok(()) };
    let old = store::find_settled(app, &pending.instead_of).await?;
    if old.is_some_and(|old| went_to(&old, &waiting.user_id, &waiting.key)) {
        finish(app, &pending.instead_of, &waiting.user_id, &waiting.key).await?;
        return Ok(());
    }
    give_back(app, waiting).await
}
