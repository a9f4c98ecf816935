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
    let found = store::find(app, &name).await?.filter(IdentityDocument::is_known);
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
    input::verbatim("userId", user, 1..=256)
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
    let name = normal::new_name("identity", &asked.identity)?;
    let run = app.begin().await?;
    admit(app, &caller, &name, asked.proof.as_deref(), run.now())?;
    let taken = take(app, &name, &caller.user, None, &run).await?;
    taken.ok_or_else(|| taken_by_another(&name).into())
}

fn taken_by_another(name: &Name) -> AlreadyExists {
    AlreadyExists::new("user with the identity", &name.value)
}

/// Takes a name for a user, tentatively where it is to come in the place of an `old` one. `None`: someone
/// else has it.
async fn take(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
    run: &Run,
) -> Result<Option<IdentityDocument>, Error> {
    for _ in 0..TRIES {
        let mut taken = store::insert(app, name, user, old, run).await.decided()?;
        if taken.is_none() {
            taken = store::take_stone(app, name, user, old, run).await.decided()?;
        }
        if let (None, Some(old)) = (&taken, old) {
            taken = store::keep(app, name, old, run).await.decided()?;
        }
        if taken.is_some() {
            return Ok(taken);
        }
        match store::find_settled(app, &name.key()).await? {
            // Its change is finished before anyone may have it.
            Some(found) if found.released_at.is_some() => {
                finish(app, &found).await?;
            }
            Some(found) if found.user_id != user => return Ok(None),
            Some(found) if old.is_none() && found.is_held() => return Ok(Some(found)),
            Some(found) if !end(app, &found).await? => return Err(undecided()),
            _ => {}
        }
        if run.is_over() {
            return Err(run.overdue());
        }
    }
    Err(Error::unavailable("the name comes and goes"))
}

fn undecided() -> Error {
    Error::unavailable("a change of the name isn't decided")
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
    for _ in 0..TRIES {
        if store::release(app, &name, &caller.user, &run).await.decided()?.is_some() {
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
        if run.is_over() {
            return Err(run.overdue().into());
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
    let (from, to) = (normal::name("from", &asked.from)?, normal::new_name("to", &asked.to)?);
    if from == to {
        return Err(InvalidInput::new("to", "is the name that it is to replace").into());
    }
    let (run, old) = store::open(app, &from).await?;
    admit(app, &caller, &to, asked.proof.as_deref(), run.now())?;
    let user = &caller.user;
    if let Some(old) = old.filter(|old| old.user_id == *user) {
        if old.is_held() {
            // Before the new name is taken: of two changes that wait for each other none goes on.
            if !end(app, &old).await? {
                return Err(undecided().into());
            }
            let taken = take(app, &to, user, Some(&old), &run).await?;
            let taken = taken.ok_or_else(|| taken_by_another(&to))?;
            let decided = store::decide(app, &old, &taken.key, &run).await.decided()?;
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
    // Finished before, or by another run.
    let new = store::find_settled(app, &to.key()).await?;
    let is_of = |new: &IdentityDocument| new.is_held() && new.user_id == *user;
    let new = new.filter(|new| is_of(new) && new.instead_of == Some(from.key()));
    new.ok_or_else(|| not_found(&from).into())
}

/// Finishes the change by which a name was let go, if it was by one. May be repeated by anyone. Answers
/// with the new name where this gave it.
pub(super) async fn finish(
    app: &App,
    old: &IdentityDocument,
) -> Result<Option<IdentityDocument>, Error> {
    let Some(moved_to) = &old.moved_to else { return Ok(None) };
    // Refused where it was done before: what became of the name since then is its user's business.
    let confirmed = store::confirm(app, moved_to, old).await.decided()?;
    store::settle(app, old, moved_to).await.decided()?;
    Ok(confirmed)
}

/// Ends the change for which a name waits, if it does, forwards or backwards. `false`: a run may still
/// decide it. None can once the user has let go of the old name, even if it was claimed again.
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
