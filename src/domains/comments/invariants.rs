//! Invariants of comments, for `docgate check`.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;

use super::{
    derived::Derived,
    documents::{AuthoredComment, CommentDocument, CommentExcerpt, Layout, OpenDiscussion},
    store::{self, CAP},
};
use crate::{app::rfc3339, graphql::prelude::*, invariants::Report, mongo::expression::count};

/// Checks that discussions agree with their comments and that no outbox entry is left.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut discussions = Vec::new();
    store::for_each(app, |discussed| discussions.push(discussed)).await?;
    let mut faults: HashMap<&str, Vec<String>> = HashMap::new();
    let mut copies = Copies::default();
    let mut stores = HashSet::new();
    for discussed in &discussions {
        let comments: Vec<_> = discussed.store().all().try_collect().await?;
        for (rule, fault) in faults_of(discussed, &comments) {
            faults.entry(rule).or_default().push(format!("{}: {fault}", discussed.parent.key));
        }
        let store = discussed.store();
        stores.insert((store.on(), store.layout));
        stores.extend(discussed.before().map(|old| (old.on(), old.layout)));
        if discussed.migration.is_some() {
            copies.moving.insert(discussed.id.clone());
        } else if !store.lists_authors() {
            for comment in comments {
                copies.of.insert(comment.id.clone(), comment);
            }
        }
    }
    for rule in [COUNTED, LATEST, RATED, UNIQUE, CAPPED, SETTLED] {
        report.add(rule, faults.remove(rule).into_iter().flatten());
    }
    let wrong = store::list_wrong_pages(app).await?;
    report.add("comments: no page holds more than 100 or none, and each knows its last", wrong);
    let mut lost = store::list_stores(app).await?;
    lost.retain(|store| !stores.contains(store));
    let lost = lost.into_iter().map(|(on, _)| on);
    report.add("comments: every store is one of a discussion", lost);
    let rule = "comments: authors' lists have a copy of every comment that isn't a document";
    report.add(rule, copies.faults(app).await?);
    Ok(())
}

const COUNTED: &str = "comments: a discussion counts the comments that aren't removed";
const LATEST: &str = "comments: a discussion carries the newest ten that aren't removed";
const RATED: &str = "comments: a rating is the sum of the reviews, one from each author";
const UNIQUE: &str = "comments: every comment, slug and place in the threads is unique";
const CAPPED: &str = "comments: no more than 100 are embedded";
const SETTLED: &str = "comments: no outbox entry is left";

fn faults_of(
    discussion: &OpenDiscussion,
    comments: &[CommentDocument],
) -> Vec<(&'static str, String)> {
    let derived = Derived::of(&comments.iter().collect::<Vec<_>>());
    let mut faults = differences(&Derived::stored(discussion), &derived);
    let mut reviewers = HashSet::new();
    for review in comments.iter().filter(|comment| comment.stars.is_some()) {
        if !reviewers.insert(&review.author) {
            faults.push((RATED, format!("{} reviewed twice", review.author)));
        }
    }
    let mut names = HashSet::new();
    for comment in comments {
        let keys = [("id", &comment.id), ("slug", &comment.slug), ("key", &comment.sort_key)];
        for key in keys {
            if !names.insert(key) {
                faults.push((UNIQUE, format!("{} {}", key.0, key.1)));
            }
        }
        if let Some(due) = &comment.due {
            faults.push((SETTLED, format!("{} of {}", due.tag, comment.slug)));
        }
    }
    if discussion.layout == Layout::Embedded && count(comments.len()) > CAP {
        faults.push((CAPPED, comments.len().to_string()));
    }
    faults
}

/// The rules that the stored values break, with a description each.
fn differences(old: &Derived, new: &Derived) -> Vec<(&'static str, String)> {
    let newest = |all: &[CommentExcerpt]| {
        let each = all.iter().map(|one| format!("{} of {}", one.slug, rfc3339(one.at)));
        each.collect::<Vec<_>>().join(", ")
    };
    let compared = [
        (COUNTED, old.count == new.count, format!("{} for {}", old.count, new.count)),
        (COUNTED, old.total == new.total, format!("{} for {}, all", old.total, new.total)),
        (
            LATEST,
            old.latest == new.latest,
            format!("{} for {}", newest(&old.latest), newest(&new.latest)),
        ),
        (RATED, old.rating.is(&new.rating), format!("{:?} for {:?}", old.rating, new.rating)),
    ];
    let broken = compared.into_iter().filter(|(_, is_same, _)| !is_same);
    broken.map(|(rule, _, fault)| (rule, fault)).collect()
}

/// The copies that are expected.
#[derive(Default)]
struct Copies {
    /// Comments that have a copy. The copy of a comment with an outbox entry may be missing or outdated.
    of: HashMap<String, CommentDocument>,
    /// Discussions that are being migrated: their copies aren't checked.
    moving: HashSet<String>,
}

impl Copies {
    async fn faults(mut self, app: &App) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        let check = |copy: AuthoredComment| {
            let same = |comment: &CommentDocument| {
                comment.version == copy.version
                    && comment.text == copy.comment.text
                    && comment.stars == copy.comment.stars
                    && comment.removed == copy.comment.removed
                    && (comment.at, &comment.slug) == (copy.at, &copy.comment.slug)
            };
            match self.of.remove(&copy.id) {
                Some(comment) if comment.due.is_none() && !same(&comment) => {
                    faults.push(format!("{} is another", copy.id));
                }
                None if !self.moving.contains(&copy.discussion) => {
                    faults.push(format!("{} is a copy of nothing", copy.id));
                }
                _ => {}
            }
        };
        app.collection().for_each(check).await?;
        let missing = self.of.into_values().filter(|comment| comment.due.is_none());
        faults.extend(missing.map(|missing| format!("{} is missing", missing.id)));
        Ok(faults)
    }
}
