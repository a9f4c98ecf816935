//! Changes of one document as values: the document, the rules with the reason of each refusal, the fields, and the op.

use std::{borrow::Borrow, convert::Infallible, iter};

use mongodb::bson::{DateTime, Document, doc};

use super::{Attempt, Bounds, Op, OpRecord, ops};
use crate::{
    error::Error,
    join::join_all,
    mongo::{
        Collection, Stored, batched,
        condition::Condition,
        expression::{all, both, stored_fields},
        guarded::{Guarded, Sends},
    },
};

/// A change of one document: the document, its rules, the fields that it sets, as expressions of a pipeline update, and
/// the ops that it commits. A rule is a condition and the reason `R` of a refusal because of it. A change without reasons
/// has a filter as its guard.
#[derive(Debug, Clone)]
pub struct Change<R = Infallible> {
    /// `_id` of the document.
    pub(super) id: String,
    /// The guard, a filter. It includes the rules.
    guard: Document,
    /// The rules, in the order in which their reasons are reported.
    rules: Vec<(Condition, R)>,
    /// The fields with their new values.
    set: Document,
    /// Stages of the update after the one that sets the fields.
    then: Vec<Document>,
    /// The records of the ops that the change commits: `id` and `tag`.
    commits: Vec<Document>,
    /// Whether its command has a number; see [`Guarded::numbered`].
    is_numbered: bool,
}

/// A change of several documents, for [`Collection::change_of_each`].
#[derive(Debug)]
pub struct OfEach<R = Infallible> {
    /// The change of the first document.
    change: Change<R>,
    /// `_id`s of the other documents.
    others: Vec<String>,
}

impl Change {
    /// A change of the document with this `_id`, guarded by a filter, that sets fields to the values of expressions.
    pub fn new(id: impl Into<String>, guard: Document, set: Document) -> Self {
        Self::guarded(id.into(), guard, Vec::new(), set)
    }
}

impl<R> Change<R> {
    fn guarded(id: String, guard: Document, rules: Vec<(Condition, R)>, set: Document) -> Self {
        let (then, commits) = (Vec::new(), Vec::new());
        Self { id, guard, rules, set, then, commits, is_numbered: false }
    }

    /// A change that is guarded by rules. The first of several broken rules is the reason of a refusal. The document's
    /// type has all fields of the rules.
    pub fn ruled(
        id: impl Into<String>,
        rules: impl IntoIterator<Item = (Condition, R)>,
        set: Document,
    ) -> Self {
        let rules = Vec::from_iter(rules);
        let guard = all(rules.iter().map(|(condition, _)| condition.expression()).collect());
        Self::guarded(id.into(), guard, rules, set)
    }

    /// Like [`Self::ruled`], with other conditions as the guard. All of them hold if and only if all rules do, in every
    /// document that there can be; but MongoDB evaluates them with less work. The rules give the reason of a refusal.
    pub fn ruled_and_guarded(
        id: impl Into<String>,
        guard: impl IntoIterator<Item: Borrow<Condition>>,
        rules: impl IntoIterator<Item = (Condition, R)>,
        set: Document,
    ) -> Self {
        let guard = all(guard.into_iter().map(|one| one.borrow().expression()).collect());
        Self::guarded(id.into(), guard, Vec::from_iter(rules), set)
    }

    /// The same change of these documents as well. It commits no op, and has no number.
    #[must_use]
    pub fn also_of(self, others: impl IntoIterator<Item: Into<String>>) -> OfEach<R> {
        let others = others.into_iter().map(Into::into).collect();
        OfEach { change: self, others }
    }

    /// Adds stages to the update, after the one that sets the fields.
    #[must_use]
    pub fn then(mut self, stages: impl IntoIterator<Item = Document>) -> Self {
        self.then.extend(stages);
        self
    }

    /// States that a copy of the command that arrived late would undo a later change; see [`Guarded::numbered`].
    #[must_use]
    pub fn numbered(mut self) -> Self {
        self.is_numbered = true;
        self
    }

    /// The change as the commit of an op under a tag. The same update adds the op's record to `ops`; its guard includes
    /// that the op isn't committed, that the tag isn't recorded, and that there is room for the record. If the reply to
    /// the update is lost, the record tells whether it was applied.
    #[must_use]
    pub fn committing(mut self, op: &Op, tag: &str, bounds: Bounds) -> Self {
        self.guard = both(self.guard, ops::guard(op, tag, bounds));
        self.set.insert("ops", ops::committed(&[(op, tag)], bounds));
        self.recording(&[(op, tag)])
    }

    /// Like [`Self::committing`], of several ops with their tags, on a decider with these op records as the attempt read it. All of
    /// the ops are committed, or none. The guard is that nothing was committed or aborted since the read. So it includes what the
    /// caller checked on the decider as it was read: that the ops aren't committed and the tags aren't recorded, that there is
    /// [room](Bounds::demand_room), and all that only commits change.
    #[must_use]
    pub fn committing_as_read(
        mut self,
        ops: &[(&Op, &str)],
        read: &[OpRecord],
        attempt: &Attempt,
        bounds: Bounds,
    ) -> Self {
        self.guard = both(self.guard, ops::as_read(read));
        self.set.insert("ops", ops::committed_as_read(ops, read, attempt, bounds));
        self.recording(ops)
    }

    /// Remembers the ops, by whose records a commit is recognised.
    fn recording(mut self, ops: &[(&Op, &str)]) -> Self {
        self.commits.extend(ops.iter().map(|(op, tag)| doc! { "id": &op.id, "tag": *tag }));
        self
    }

    /// The reason of the first rule that a document breaks, if there is one. The document was read when the server's
    /// clock showed `now`.
    pub fn broken(&self, document: &impl Stored, now: DateTime) -> Option<&R> {
        let fields = stored_fields(document);
        let broken = self.rules.iter().find(|(condition, _)| !condition.holds(&fields, now));
        broken.map(|(_, reason)| reason)
    }
}

/// What became of a change with rules.
#[derive(Debug)]
pub enum Verdict<T, R, A = Sends> {
    /// It was applied.
    Applied(A),
    /// A rule is broken. Contains its reason, and the document that breaks it.
    Refused(R, T),
    /// There is no such document.
    Missing,
}

impl<T, R, A> Verdict<T, R, A> {
    /// What was applied, if it was.
    pub fn applied(self) -> Option<A> {
        match self {
            Self::Applied(applied) => Some(applied),
            Self::Refused(..) | Self::Missing => None,
        }
    }
}

impl<T: Stored> Collection<T> {
    /// The guarded write of a change.
    pub fn change<R>(&self, change: Change<R>) -> Guarded<T> {
        let Change { id, guard, set, then, commits, is_numbered, .. } = change;
        let stages = iter::once(doc! { "$set": set }).chain(then).collect::<Vec<_>>();
        let write = self.guarded(both(doc! { "_id": &id }, guard), stages);
        let write = if is_numbered { write.numbered() } else { write };
        if commits.is_empty() {
            return write;
        }
        // Another caller may have committed one of several ops, but not the others.
        let records = commits.into_iter().map(|record| doc! { "$elemMatch": record });
        write.applied_if(doc! { "_id": id, "ops": { "$all": records.collect::<Vec<_>>() } })
    }

    /// Applies a change before the attempt's deadline, and returns how often it was sent. If it is refused and no rule is
    /// broken, the document has changed since, and the change is tried again.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over.
    pub async fn write<R: Clone>(
        &self,
        change: &Change<R>,
        attempt: &Attempt,
    ) -> Result<Verdict<T, R>, Error> {
        self.write_made(|| change.clone(), attempt).await
    }

    /// Like [`Self::write`], of a change that `make` makes. It is made again only if it was refused: a copy of each change
    /// would cost as much.
    ///
    /// # Errors
    /// As those of [`Self::write`].
    pub async fn write_made<R: Clone>(
        &self,
        make: impl Fn() -> Change<R>,
        attempt: &Attempt,
    ) -> Result<Verdict<T, R>, Error> {
        loop {
            if let Some(sends) = self.change(make()).within(attempt).sends().await? {
                return Ok(Verdict::Applied(sends));
            }
            if let Some(refused) = self.refusal(&make(), attempt).await? {
                return Ok(refused);
            }
        }
    }

    /// Like [`Self::write`], with the document after the change; see [`Guarded::then_read`].
    ///
    /// # Errors
    /// As those of [`Self::write`].
    pub async fn write_and_read<R: Clone>(
        &self,
        change: &Change<R>,
        attempt: &Attempt,
    ) -> Result<Verdict<T, R, T>, Error> {
        loop {
            let write = self.change(change.clone()).within(attempt);
            if let Some(after) = write.then_read().await? {
                return Ok(Verdict::Applied(after));
            }
            if let Some(refused) = self.refusal(change, attempt).await? {
                return Ok(refused);
            }
        }
    }

    /// Why a change was refused, by the document as it is now; `None` if it permits the change.
    ///
    /// # Errors
    /// The attempt is over and no reason was found, so its deadline may be the reason.
    pub async fn refusal<R: Clone, A>(
        &self,
        change: &Change<R>,
        attempt: &Attempt,
    ) -> Result<Option<Verdict<T, R, A>>, Error> {
        let Some(document) = self.get_settled(&change.id).await? else {
            return Ok(Some(Verdict::Missing));
        };
        let reason = change.broken(&document, attempt.clock()).cloned();
        if let Some(reason) = reason {
            return Ok(Some(Verdict::Refused(reason, document)));
        }
        if attempt.is_over() { Err(attempt.overdue()) } else { Ok(None) }
    }

    /// Applies changes of different documents before the attempt's deadline. They share a command, also with those of
    /// other attempts. Returns `None` if a guard didn't hold; a change whose guard held is applied. Otherwise it returns
    /// [`Sends::Twice`] if any of the changes was sent twice.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the changes may have been applied.
    pub async fn change_each<R>(
        &self,
        changes: impl Iterator<Item = Change<R>>,
        attempt: &Attempt,
    ) -> Result<Option<Sends>, Error> {
        all_sent(changes.map(|change| self.change(change).within(attempt))).await
    }

    /// Like [`Self::change_each`], of changes of several documents. Each of them is one statement. `None` can also mean that all
    /// are applied; see [`Guarded::of_each`].
    ///
    /// # Errors
    /// As those of [`Self::change_each`].
    pub async fn change_of_each<R>(
        &self,
        changes: impl Iterator<Item = OfEach<R>>,
        attempt: &Attempt,
    ) -> Result<Option<Sends>, Error> {
        let writes = changes.flat_map(|OfEach { change, mut others }| {
            let Change { id, guard, set, then, .. } = change;
            others.push(id);
            let stages = iter::once(doc! { "$set": set }).chain(then).collect::<Vec<_>>();
            self.guarded(guard, stages).within(attempt).of_each(others)
        });
        all_sent(writes).await
    }
}

/// Sends writes together; see [`Collection::change_each`].
async fn all_sent<T: Stored>(
    writes: impl Iterator<Item = Guarded<T>>,
) -> Result<Option<Sends>, Error> {
    let each = batched(join_all(writes.map(Guarded::sends))).await;
    each.into_iter()
        .try_fold(Some(Sends::Once), |all, one| Ok(all.zip(one?).map(|(all, one)| all.max(one))))
}
