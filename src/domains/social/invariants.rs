//! Invariants of people, posts and feeds, for `docgate check`.

use std::collections::{HashMap, HashSet};

use super::documents::{
    Detail, EdgeDocument, FeedPage, PostDocument, UserDocument, VoteDocument, edge_id, wall_of,
};
use crate::{app::App, error::Error, invariants::Report};

/// What the check remembers of a post.
struct Seen {
    by: String,
    version: i64,
    is_deleted: bool,
    is_pending: bool,
}

/// Checks the graph, the copies and the counts.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let mut users = HashSet::new();
    let each = |user: UserDocument| {
        users.insert(user.id);
    };
    app.collection().for_each(each).await?;
    check_edges(app, &users, report).await?;
    let (votes, uncounted) = votes(app).await?;
    let mut posts = HashMap::new();
    report.rule("social: the numbers of a post equal what they count");
    let each = |post: PostDocument| {
        if let Some(fault) = fault(&post, &votes, &uncounted) {
            report.broken(format!("post {}: {fault}", post.id));
        }
        let seen = Seen {
            by: post.shown.by,
            version: post.shown.version,
            is_deleted: post.deleted_at.is_some(),
            is_pending: post.delivering.is_some() || post.due.is_some(),
        };
        posts.insert(post.id, seen);
    };
    app.collection().for_each(each).await?;
    check_feeds(app, &posts, report).await
}

/// Both sides of the graph are one document; it has to be that of its users.
async fn check_edges(app: &App, users: &HashSet<String>, report: &mut Report) -> Result<(), Error> {
    report.rule("social: both sides of the graph agree");
    let each = |edge: EdgeDocument| {
        let EdgeDocument { id, by, of, circles, .. } = &edge;
        let names: HashSet<_> = circles.iter().collect();
        let rules = [
            (*id == edge_id(by, of), "its id"),
            (by != of, "its users are one"),
            (users.contains(by) && users.contains(of), "a user that doesn't exist"),
            (!circles.is_empty() && names.len() == circles.len(), "its circles"),
        ];
        for (_, what) in rules.iter().filter(|(holds, _)| !holds) {
            report.broken(format!("{id}: {what}"));
        }
    };
    app.collection().for_each(each).await
}

/// Numbers of votes by post and choice, and the posts with votes that they needn't count yet.
type Votes = (HashMap<(String, i32), i64>, HashSet<String>);

async fn votes(app: &App) -> Result<Votes, Error> {
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

/// Checks the pages of the feeds.
async fn check_feeds(
    app: &App,
    posts: &HashMap<String, Seen>,
    report: &mut Report,
) -> Result<(), Error> {
    let (mut copies, mut faults) = (HashSet::new(), Vec::new());
    report.rule("social: every copy is of a post that exists and is as new, unless work on the post is pending");
    let each = |page: FeedPage| {
        if page.posts.len() > FeedPage::CAP || page.posts.len() == FeedPage::CAP && !page.full {
            faults.push(format!("page {} has {} copies", page.id, page.posts.len()));
        }
        for copy in page.posts {
            match posts.get(&copy.id) {
                None => report.broken(format!("{} on {}: no post", copy.id, page.id)),
                Some(post) if post.is_pending => {}
                Some(post) if post.is_deleted => {
                    report.broken(format!("{} on {}: deleted", copy.id, page.id));
                }
                Some(post) if post.version != copy.version => {
                    report.broken(format!("{} on {}: an old copy", copy.id, page.id));
                }
                Some(_) => {}
            }
            if !copies.insert((page.feed.clone(), copy.id.clone())) {
                faults.push(format!("{} is twice in {}", copy.id, page.feed));
            }
        }
    };
    app.collection().for_each(each).await?;
    for (id, post) in posts {
        let has_copy = copies.contains(&(wall_of(&post.by), id.clone()));
        if !has_copy && !post.is_deleted && !post.is_pending {
            faults.push(format!("{id} isn't on its author's wall"));
        }
    }
    report.add("social: every post is on its author's wall; no feed has a post twice, and no page too many", faults);
    Ok(())
}
