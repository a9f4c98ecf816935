//! Creates many users with their circles and posts at once. It may be repeated: what exists is left as it is.

use std::collections::{BTreeMap, HashMap};

use mongodb::bson::DateTime;

pub use super::documents::{Choice, Detail};
use super::{
    documents::{
        Audience, CommentEntry, EdgeDocument, FeedPage, PostDocument, Profile, Shown, UserDocument,
        VoteDocument, month_of, news_of, vote_id, wall_of,
    },
    operations::mark_all,
    store::{
        edges, feeds,
        posts::{posts, votes},
        users,
    },
};
use crate::{app::App, error::Result, mongo::Version};

/// Documents per command.
const BATCH: usize = 2_000;
/// Documents with posts per command.
const POSTS: usize = 500;

/// A user to create.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Subject of the user's tokens.
    pub subject: String,
    /// Name for display.
    pub name: String,
    /// What the user says about themselves.
    pub about: String,
}

/// A user who is put into a circle of another one.
#[derive(Debug, Clone)]
pub struct NewMember {
    /// Subject of the user whose circle it is.
    pub by: String,
    /// Subject of the user who is put into it.
    pub of: String,
    /// Name of the circle.
    pub circle: String,
}

/// A post to create, with its copies.
#[derive(Debug, Clone)]
pub struct NewPost {
    /// Identifies the post among all that are imported.
    pub key: String,
    /// Subject of the author.
    pub by: String,
    /// Subject of the user on whose wall it is written, if that isn't the author.
    pub to: Option<String>,
    /// The only circle of the author that may see it. Everyone may see it without one.
    pub circle: Option<String>,
    /// Text.
    pub text: String,
    /// What it consists of beside its text. The votes of a poll are those of [`Self::votes`].
    pub detail: Option<Detail>,
    /// Time at which it was created. No two posts have the same one.
    pub at: DateTime,
    /// Author, text and time of each comment.
    pub comments: Vec<(String, String, DateTime)>,
    /// Votes in a poll: user and choice, from 0. A user votes once.
    pub votes: Vec<(String, i32)>,
}

/// Creates these users, and then puts users into circles, all at the time `at`.
///
/// # Errors
/// `Unavailable` or `Internal`; some of them may have been created.
pub async fn import(app: &App, new: &[NewUser], members: &[NewMember], at: DateTime) -> Result<()> {
    for some in new.chunks(BATCH) {
        let user = |NewUser { subject, name, about }: &NewUser| UserDocument {
            id: subject.clone(),
            profile: Profile { name: name.clone(), about: about.clone(), picture: None },
            version: 0,
            at,
            blocked: Vec::new(),
            marking: None,
            merged_at: None,
            celebrity_at: None,
            meta: None,
            v: Version,
        };
        users(app).insert_many(some.iter().map(user).collect()).await?;
    }
    for some in members.chunks(BATCH) {
        let edge = |NewMember { by, of, circle }: &NewMember| EdgeDocument::new(by, of, circle, at);
        edges(app).insert_many(some.iter().map(edge).collect()).await?;
    }
    Ok(())
}

/// Creates these posts with their copies on walls and in the news of followers. `members` are the circles as they were
/// imported. Nobody else may write posts meanwhile.
///
/// # Errors
/// `Unavailable` or `Internal`; some of them may have been created.
pub async fn import_posts(app: &App, mut new: Vec<NewPost>, members: &[NewMember]) -> Result<()> {
    new.sort_by_key(|post| post.at);
    let graph = Graph::of(members);
    let bound = usize::try_from(app.config().post_delivery_followers).unwrap_or(usize::MAX);
    let (mut all, mut cast) = (Vec::new(), Vec::new());
    // The copies of each feed, oldest first.
    let mut copies: BTreeMap<String, Vec<Shown>> = BTreeMap::new();
    for new in new {
        let shown = shown(app, &new);
        let votes = new.votes.iter().map(|(by, choice)| VoteDocument {
            id: vote_id(&shown.id, by),
            post: shown.id.clone(),
            choice: *choice,
            at: shown.at,
            due: None,
            v: Version,
        });
        cast.extend(votes);
        let followers = graph.followers(&shown.by);
        let is_merged = followers.len() > bound;
        let mut to = vec![wall_of(&shown.by)];
        to.extend(shown.to.as_deref().map(wall_of));
        if !is_merged {
            let entitled = followers.iter().filter(|by| graph.may_see(by, &shown));
            to.extend(entitled.map(|by| news_of(by)));
        }
        for feed in to {
            copies.entry(feed).or_default().push(shown.clone());
        }
        all.push(document(app, &new, shown, is_merged));
    }
    for by in graph.0.iter().filter(|(_, of)| of.len() > bound).map(|(by, _)| by) {
        mark_all(app, by).await?;
    }
    for some in all.chunks(POSTS) {
        posts(app).insert_many(some.to_vec()).await?;
    }
    for some in cast.chunks(BATCH) {
        votes(app).insert_many(some.to_vec()).await?;
    }
    let pages: Vec<_> = copies.into_iter().flat_map(|(feed, posts)| pages(&feed, posts)).collect();
    for some in pages.chunks(POSTS) {
        feeds::pages(app).insert_many(some.to_vec()).await?;
    }
    Ok(())
}

/// The circles: by the user who is in them, those whose circles they are, with the name.
struct Graph<'a>(HashMap<&'a str, BTreeMap<&'a str, &'a str>>);

impl<'a> Graph<'a> {
    fn of(members: &'a [NewMember]) -> Self {
        let mut graph: HashMap<_, BTreeMap<_, _>> = HashMap::new();
        for NewMember { by, of, circle } in members {
            // Of two circles of the same users the first one is imported.
            graph.entry(of.as_str()).or_default().entry(by.as_str()).or_insert(circle.as_str());
        }
        Self(graph)
    }

    fn followers(&self, of: &str) -> Vec<&'a str> {
        self.0.get(of).map(|by| by.keys().copied().collect()).unwrap_or_default()
    }

    fn may_see(&self, user: &str, post: &Shown) -> bool {
        let circle = self.0.get(user).and_then(|by| by.get(post.by.as_str()));
        post.audience == Audience::Public
            || post.to.as_deref() == Some(user)
            || circle.is_some_and(|circle| post.circles.iter().any(|name| name == circle))
    }
}

/// What readers see of a post.
fn shown(app: &App, new: &NewPost) -> Shown {
    let mut detail = new.detail.clone();
    if let Some(Detail::Poll { choices }) = &mut detail {
        for (at, choice) in (0..).zip(choices) {
            let votes = new.votes.iter().filter(|(_, voted)| *voted == at).count();
            choice.votes = i64::try_from(votes).unwrap_or(i64::MAX);
        }
    }
    let comments = comments(app, new);
    Shown {
        id: app.ids().derived(&["import post", &new.key]),
        by: new.by.clone(),
        to: new.to.clone(),
        audience: if new.circle.is_some() { Audience::Named } else { Audience::Public },
        circles: new.circle.iter().cloned().collect(),
        text: new.text.clone(),
        detail,
        at: new.at,
        edits: 0,
        version: 0,
        comment_count: i64::try_from(comments.len()).unwrap_or(i64::MAX),
        latest: comments[comments.len().saturating_sub(3)..].to_vec(),
        is_unblocked: false,
    }
}

fn comments(app: &App, new: &NewPost) -> Vec<CommentEntry> {
    let entry = |(n, (by, text, at)): (i64, &(String, String, DateTime))| CommentEntry {
        id: app.ids().derived(&["import comment", &new.key, &n.to_string()]),
        input: String::new(),
        by: by.clone(),
        text: text.clone(),
        at: *at,
        n,
    };
    (1..).zip(&new.comments).map(entry).collect()
}

fn document(app: &App, new: &NewPost, shown: Shown, is_merged: bool) -> PostDocument {
    PostDocument {
        id: shown.id.clone(),
        comments: comments(app, new),
        input: String::new(),
        delivering: None,
        due: None,
        merged: is_merged.then(|| shown.by.clone()),
        deleted_at: None,
        shown,
        v: Version,
    }
}

/// The pages of a feed with these copies, which are in the order of their time.
fn pages(feed: &str, posts: Vec<Shown>) -> Vec<FeedPage> {
    let mut pages: Vec<FeedPage> = Vec::new();
    for post in posts {
        let month = month_of(post.at);
        let next = match pages.last_mut().filter(|page| page.month == month) {
            Some(page) if !page.full => {
                page.posts.push(post);
                page.full = page.posts.len() >= FeedPage::CAP;
                continue;
            }
            last => FeedPage::after(last.as_deref(), feed, &post),
        };
        pages.push(next);
    }
    pages
}
