//! Edits of drafts, and the versions that they replace.

use super::{
    super::{
        documents::{NodeDocument, RevisionDocument},
        store::{self, Change},
        types::{
            ContentConflict, EditContentInput, EditContentResult, RestoreContentInput,
            RestoreContentResult, Shown,
        },
    },
    changeable,
    checks::{Text, checked_text},
    own_id,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        input,
        refusals::{InvalidInput, NotFound, Stop},
    },
    mongo::Version,
};

/// Maximum number of former versions of one content.
pub const REVISIONS: i64 = 50;

/// Replaces the draft that the editor has read. A repeat of the same edit returns the content.
pub async fn edit(
    app: &App,
    subject: &str,
    asked: &EditContentInput,
) -> Result<Shown, Stop<EditContentResult>> {
    let id = own_id(&asked.content)?;
    let (attempt, node) = store::open(app, &id).await?;
    let node = changeable(node, &id)?;
    let text = checked_text(node.metadata.kind, &asked.text)?;
    replace(app, &attempt, node, subject, &asked.version, &text).await
}

/// Restores a former version as the new draft.
pub async fn restore(
    app: &App,
    subject: &str,
    asked: &RestoreContentInput,
) -> Result<Shown, Stop<RestoreContentResult>> {
    let id = own_id(&asked.content)?;
    let number = input::within("number", asked.number.into(), 0..=i64::from(i32::MAX))?;
    let (attempt, node) = store::open(app, &id).await?;
    let node = changeable(node, &id)?;
    let revision = match node.kept.iter().find(|kept| kept.number == number) {
        Some(kept) => kept.clone(),
        None => match store::find_revision(app, &id, number).await? {
            Some(found) => found.version,
            None => return Err(NotFound::new("revision", number.to_string()).into()),
        },
    };
    let text = Text { title: revision.title, language: revision.language, detail: revision.detail };
    replace(app, &attempt, node, subject, &asked.version, &text).await
}

async fn replace<U>(
    app: &App,
    attempt: &Attempt,
    node: NodeDocument,
    subject: &str,
    nonce: &str,
    text: &Text,
) -> Result<Shown, Stop<U>>
where
    U: From<ContentConflict> + From<InvalidInput> + From<NotFound>,
{
    let nonce = input::key("version", nonce)?;
    // The nonce is derived from the input, so that a repeat is recognised.
    let digest = app.ids().op(&[], None, text).input;
    let next = app.ids().derived(&["version", &node.id, &nonce, &digest, subject]);
    if node.metadata.nonce == next {
        return Ok(Shown::written(kept(app, node).await?, attempt.now()));
    }
    if node.metadata.nonce != nonce {
        return Err(ContentConflict::with(Shown::written(node, attempt.now())).into());
    }
    let change = Change {
        from: &nonce,
        to: &next,
        title: &text.title,
        language: text.language.as_ref(),
        detail: &text.detail,
        by: subject,
    };
    if let Some(edited) = store::edit(app, &node.id, &change, attempt).await.decided()? {
        return Ok(Shown::written(kept(app, edited).await?, attempt.now()));
    }
    let found = changeable(store::find(app, &node.id).await?, &node.id)?;
    if found.metadata.nonce == next {
        return Ok(Shown::written(kept(app, found).await?, attempt.now()));
    }
    if found.metadata.nonce != nonce {
        return Err(ContentConflict::with(Shown::written(found, attempt.now())).into());
    }
    if attempt.is_over() {
        return Err(attempt.overdue().into());
    }
    Err(Error::RateLimited("the versions before this one are still being kept; try again").into())
}

/// Stored versions whose `kept` entries may be settled after the answer.
const BEHIND: usize = 2;

/// Stores replaced versions as former versions. Their entries in `kept` are settled after the answer, unless
/// there are many of them.
async fn kept(app: &App, node: NodeDocument) -> Result<NodeDocument, Error> {
    let numbers = give(app, &node).await?;
    if numbers.len() > BEHIND {
        store::settle_kept(app, &node.id, &numbers).await.decided()?;
    } else if !numbers.is_empty() {
        let (behind, id) = (app.clone(), node.id.clone());
        app.behind("a former version", async move {
            store::settle_kept(&behind, &id, &numbers).await.decided()?;
            Ok(())
        });
    }
    Ok(node)
}

/// Stores and settles replaced versions, for the sweep.
pub(in super::super) async fn keep(app: &App, node: &NodeDocument) -> Result<(), Error> {
    let numbers = give(app, node).await?;
    store::settle_kept(app, &node.id, &numbers).await.decided()?;
    Ok(())
}

async fn give(app: &App, node: &NodeDocument) -> Result<Vec<i64>, Error> {
    let mut numbers: Vec<i64> = Vec::new();
    for version in node.kept.iter().cloned() {
        let number = version.number;
        let (id, node_id) = (RevisionDocument::key(&node.id, number), node.id.clone());
        let revision = RevisionDocument { id, node_id, version, v: Version };
        // A refused insert was stored before.
        store::insert_revision(app, revision).await.decided()?;
        numbers.push(number);
    }
    // An insert has no deadline: a late one is removed by the next edit.
    if let Some(newest) = numbers.iter().max().filter(|newest| **newest >= REVISIONS) {
        store::drop_older_revisions(app, &node.id, newest - REVISIONS).await?;
    }
    Ok(numbers)
}
