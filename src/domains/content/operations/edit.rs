//! Edits, and the versions that they replace.

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
    graphql::{
        input,
        refusals::{InvalidInput, NotFound, Stop},
    },
    mongo::{Run, Version},
};

/// Former versions that are kept of one piece of content.
pub const REVISIONS: i64 = 50;

/// Replaces the draft that the editor has read. The same edit sent again is answered with the content.
///
/// # Errors
/// A refusal, or trouble.
pub async fn edit(
    app: &App,
    subject: &str,
    asked: &EditContentInput,
) -> Result<Shown, Stop<EditContentResult>> {
    let id = own_id(&asked.content)?;
    let (run, node) = store::open(app, &id).await?;
    let node = changeable(node, &id)?;
    let text = checked_text(node.metadata.kind, &asked.text)?;
    replace(app, &run, node, subject, &asked.nonce, &text).await
}

/// Makes a former version the newest draft.
///
/// # Errors
/// A refusal, or trouble.
pub async fn restore(
    app: &App,
    subject: &str,
    asked: &RestoreContentInput,
) -> Result<Shown, Stop<RestoreContentResult>> {
    let id = own_id(&asked.content)?;
    let number = input::within("number", asked.number.into(), 0..=i64::from(i32::MAX))?;
    let (run, node) = store::open(app, &id).await?;
    let node = changeable(node, &id)?;
    let revision = match node.kept.iter().find(|kept| kept.number == number) {
        Some(kept) => kept.clone(),
        None => match store::find_revision(app, &id, number).await? {
            Some(found) => found.version,
            None => return Err(NotFound::new("revision", number.to_string()).into()),
        },
    };
    let text = Text { title: revision.title, language: revision.language, detail: revision.detail };
    replace(app, &run, node, subject, &asked.nonce, &text).await
}

async fn replace<U>(
    app: &App,
    run: &Run,
    node: NodeDocument,
    subject: &str,
    nonce: &str,
    text: &Text,
) -> Result<Shown, Stop<U>>
where
    U: From<ContentConflict> + From<InvalidInput> + From<NotFound>,
{
    let nonce = input::key("nonce", nonce)?;
    // Follows from what is asked, so that a repeat is known.
    let digest = app.ids().op(&[], None, text).input;
    let next = app.ids().derived(&["version", &node.id, &nonce, &digest, subject]);
    if node.metadata.nonce == next {
        return Ok(Shown::written(kept(app, node).await?, run.now()));
    }
    if node.metadata.nonce != nonce {
        return Err(ContentConflict::with(Shown::written(node, run.now())).into());
    }
    let change = Change {
        from: &nonce,
        to: &next,
        title: &text.title,
        language: text.language.as_ref(),
        detail: &text.detail,
        by: subject,
    };
    if let Some(edited) = store::edit(app, &node.id, &change, run).await.decided()? {
        return Ok(Shown::written(kept(app, edited).await?, run.now()));
    }
    let found = changeable(store::find(app, &node.id).await?, &node.id)?;
    if found.metadata.nonce == next {
        return Ok(Shown::written(kept(app, found).await?, run.now()));
    }
    if found.metadata.nonce != nonce {
        return Err(ContentConflict::with(Shown::written(found, run.now())).into());
    }
    if run.is_over() {
        return Err(run.overdue().into());
    }
    Err(Error::RateLimited("the versions before this one are still being kept; try again").into())
}

/// Versions that may wait to be noted as kept behind the answers.
const BEHIND: usize = 2;

/// Puts what an edit replaced among the former versions; noting it goes on behind the answer, unless much
/// of that waits.
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

/// As [`edit`] does it, for the sweep.
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
        // Refused: kept before.
        store::insert_revision(app, revision).await.decided()?;
        numbers.push(number);
    }
    // An insert has no deadline: one that comes late goes with the next edit.
    if let Some(newest) = numbers.iter().max().filter(|newest| **newest >= REVISIONS) {
        store::drop_older_revisions(app, &node.id, newest - REVISIONS).await?;
    }
    Ok(numbers)
}
