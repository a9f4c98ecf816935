//! Invariants of people, posts and feeds, for `docgate check`. Collections are read one after the other, and posts
//! change meanwhile. So a document that seems wrong is read again before it is reported.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::{
    documents::{
        Detail, EdgeDocument, FeedPage, PostDocument, Shown, UserDocument, VoteDocument, edge_id,
        wall_of,
    },
    operations::mark_again,
    store::posts::count_votes,
};
use crate::{app::App, error::Result, invariants::Report};

/// What the check remembers of a post.
struct Seen {
    by: String,
    version: i64,
    is_deleted: bool,
    is_pending: bool,
}

impl Seen {
    fn of(post: &PostDocument) -> Self {
        Self {
            by: post.shown.by.clone(),
            version: post.shown.version,
            is_deleted: post.deleted_at.is_some(),
            is_pending: post.delivering.is_some() || post.due.is_some(),
        }
    }

    /// What is wrong with a copy of the post.
    fn fault(post: Option<&Self>, copy: &Shown) -> Option<&'static str> {
        match post {
            None => Some("no post"),
            Some(post) if post.is_pending => None,
            Some(post) if post.is_deleted => Some("deleted"),
            Some(post) => (post.version != copy.version).then_some("an old copy"),
        }
    }
}

/// Maximum number of suspects of each rule that are looked at again, and how often each.
const SUSPECTS: usize = 50;
const LOOKS: usize = 3;
/// Pause before such a look.
const PAUSE: Duration = Duration::from_millis(200);

/// Checks the graph, the copies and the counts.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    // With whether all edges to the user have the mark.
    let mut users = HashMap::new();
    let each = |user: UserDocument| {
        users.insert(user.id, user.merged_at.is_some());
    };
    app.collection().for_each(each).await?;
    check_edges(app, &users, report).await?;
    let (votes, uncounted) = votes(app).await?;
    let (mut posts, mut suspects) = (HashMap::new(), Vec::new());
    report.rule("social: the numbers of a post equal what they count");
    let each = |post: PostDocument| {
        if let Some(fault) = fault(&post, &votes, &uncounted) {
            suspects.push((post.id.clone(), fault));
        }
        let seen = Seen::of(&post);
        posts.insert(post.id, seen);
    };
    app.collection().for_each(each).await?;
    for (number, (id, fault)) in suspects.into_iter().enumerate() {
        if number >= SUSPECTS || is_miscounted(app, &id).await? {
            report.broken(format!("post {id}: {fault}"));
        }
    }
    check_feeds(app, &posts, report).await
}

/// Both sides of the graph are one document; it has to be that of its users.
async fn check_edges(app: &App, users: &HashMap<String, bool>, report: &mut Report) -> Result<()> {
    let mut unmarked = Vec::new();
    report.rule("social: both sides of the graph agree");
    let each = |edge: EdgeDocument| {
        let EdgeDocument { id, by, of, circles, merged, .. } = &edge;
        let has_mark = merged.as_ref() == Some(by);
        if !has_mark && (merged.is_some() || users.get(of).is_some_and(|is_merged| *is_merged)) {
            unmarked.push(id.clone());
        }
        let names: HashSet<_> = circles.iter().collect();
        let rules = [
            (*id == edge_id(by, of), "its id"),
            (by != of, "its users are one"),
            (users.contains_key(by) && users.contains_key(of), "a user that doesn't exist"),
            (!circles.is_empty() && names.len() == circles.len(), "its circles"),
        ];
        for (_, what) in rules.iter().filter(|(holds, _)| !holds) {
            report.broken(format!("{id}: {what}"));
        }
    };
    app.collection().for_each(each).await?;
    report.add("social: edges to users whose posts news merge in have the mark", unmarked);
    Ok(())
}

/// Marks the edges to users whose posts news merge in, if they have no mark. Returns the users.
pub async fn repair(app: &App) -> Result<Vec<String>> {
    let mut merged = Vec::new();
    let each = |user: UserDocument| {
        merged.extend(user.merged_at.map(|_| user.id));
    };
    app.collection().for_each(each).await?;
    let mut repaired = Vec::new();
    for user in merged {
        if mark_again(app, &user).await? > 0 {
            repaired.push(format!("the marks of edges to user {user}"));
        }
    }
    Ok(repaired)
}

/// Numbers of votes by post and choice, and the posts with votes that they needn't count yet.
type Votes = (HashMap<(String, i32), i64>, HashSet<String>);

async fn votes(app: &App) -> Result<Votes> {
    let (mut votes, mut uncounted) = (HashMap::new(), HashSet::new());
    let each = |vote: VoteDocument| {
        if vote.due.is_some() {
            uncounted.insert(vote.post.clone());
        }
        *votes.entry((vote.post, vote.choice)).or_default() += 1;
    };
    app.collection().for_each(each).await?;
    Ok((votes, uncounted))
}

/// What is wrong with the numbers of a post.
fn fault(
    post: &PostDocument,
    votes: &HashMap<(String, i32), i64>,
    uncounted: &HashSet<String>,
) -> Option<&'static str> {
    let (shown, comments) = (&post.shown, &post.comments);
    let numbers = (1..).zip(comments).all(|(n, comment)| comment.n == n);
    if !numbers || usize::try_from(shown.comment_count) != Ok(comments.len()) {
        return Some("the number of comments");
    }
    if shown.latest != comments[comments.len().saturating_sub(3)..] {
        return Some("the last comments");
    }
    let Some(Detail::Poll { choices }) = &shown.detail else { return None };
    let is_counted = |(at, votes_of): (i32, i64)| {
        votes.get(&(post.id.clone(), at)).copied().unwrap_or_default() == votes_of
    };
    let counts = (0..).zip(choices.iter().map(|choice| choice.votes));
    let all = uncounted.contains(&post.id) || counts.into_iter().all(is_counted);
    (!all).then_some("the votes")
}

/// Whether the numbers of a post are wrong at each of some looks.
async fn is_miscounted(app: &App, id: &str) -> Result<bool> {
    for _ in 0..LOOKS {
        tokio::time::sleep(PAUSE).await;
        let Some(post) = app.collection::<PostDocument>().get(id).await? else { return Ok(false) };
        let mut votes = HashMap::new();
        if let Some(Detail::Poll { choices }) = &post.shown.detail {
            for (choice, _) in (0..).zip(choices) {
                let count = count_votes(app, id, choice).await?;
                votes.insert((id.to_owned(), choice), i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        if fault(&post, &votes, &HashSet::new()).is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the copy of a post on a page is wrong at each of some looks.
async fn is_astray(app: &App, page: &str, post: &str) -> Result<bool> {
    for _ in 0..LOOKS {
        tokio::time::sleep(PAUSE).await;
        let page = app.collection::<FeedPage>().get(page).await?;
        let copies = page.map(|page| page.posts).unwrap_or_default();
        let Some(copy) = copies.into_iter().find(|copy| copy.id == post) else { return Ok(false) };
        let seen = app.collection::<PostDocument>().get(post).await?.as_ref().map(Seen::of);
        if Seen::fault(seen.as_ref(), &copy).is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks the pages of the feeds.
async fn check_feeds(app: &App, posts: &HashMap<String, Seen>, report: &mut Report) -> Result<()> {
    let (mut copies, mut faults, mut suspects) = (HashSet::new(), Vec::new(), Vec::new());
    report.rule("social: every copy is of a post that exists and is as new, unless work on the post is pending");
    let each = |page: FeedPage| {
        if page.posts.len() > FeedPage::CAP || page.posts.len() == FeedPage::CAP && !page.full {
            faults.push(format!("page {} has {} copies", page.id, page.posts.len()));
        }
        for copy in page.posts {
            if let Some(fault) = Seen::fault(posts.get(&copy.id), &copy) {
                suspects.push((page.id.clone(), copy.id.clone(), fault));
            }
            if !copies.insert((page.feed.clone(), copy.id.clone())) {
                faults.push(format!("{} is twice in {}", copy.id, page.feed));
            }
        }
    };
    app.collection().for_each(each).await?;
    for (number, (page, post, fault)) in suspects.into_iter().enumerate() {
        if number >= SUSPECTS || is_astray(app, &page, &post).await? {
            report.broken(format!("{post} on {page}: {fault}"));
        }
    }
    for (id, post) in posts {
        let has_copy = copies.contains(&(wall_of(&post.by), id.clone()));
        if !has_copy && !post.is_deleted && !post.is_pending {
            faults.push(format!("{id} isn't on its author's wall"));
        }
    }
    report.add("social: every post is on its author's wall; no feed has a post twice, and no page too many", faults);
    Ok(())
}
