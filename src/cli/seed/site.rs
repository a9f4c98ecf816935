//! The shop's site: pages, galleries, and two blogs in three languages.

use async_graphql::ID;
use docgate_demo::{
    random::Random,
    texts::{BLOGS, Blog, GALLERY, LANGUAGES, PAGES},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::{
    MERCHANT, SHOPPER, Steps,
    client::{DemoClient, someone},
    goods::AT_ONCE,
    pictures::EDITOR,
};
use crate::{
    cli::failure::Failure,
    graphql::requester::{Requester, Role},
};

/// Number of entries of one blog in one language.
const ENTRIES: usize = 12;

/// Content to be created.
struct Piece {
    /// The input of `createContent`, without its parent.
    input: Value,
    /// Time of publication; none for a draft.
    at: Option<String>,
}

/// Creates the site. Returns the ids of its galleries, which are still empty.
pub(super) async fn create(client: &DemoClient, steps: &Steps) -> Result<Vec<Option<ID>>, Failure> {
    names(client).await?;
    let each = PAGES.len() + BLOGS.len() * (ENTRIES + 1) + 2;
    let bar = steps.begin("pages and entries", LANGUAGES.len() * each);
    let mut galleries = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        let mut random = Random::new(100 + number as u64);
        let home = json!({ "type": "FOLDER", "slug": language });
        let text = json!({ "title": PAGES[0].title[number], "body": PAGES[0].body[number] });
        let folder = put(client, None, piece(home, text, language, 0)).await?;
        bar.inc(1);
        for page in PAGES {
            let slug = page.former.unwrap_or(page.slug);
            let what = json!({ "type": "PAGE", "slug": slug, "access": page.access });
            let text = json!({ "title": page.title[number], "body": page.body[number] });
            let id = put(client, Some(&folder), piece(what, text, language, 1)).await?;
            if page.former.is_some() {
                rename(client, &id, page.slug).await?;
            }
            bar.inc(1);
        }
        for blog in BLOGS {
            let what = json!({ "type": "BLOG", "slug": blog.slug });
            let text = json!({
                "title": blog.title[number], "subtitle": blog.subtitle[number],
            });
            let id = put(client, Some(&folder), piece(what, text, language, 2)).await?;
            bar.inc(1);
            let all = (0..ENTRIES).map(|at| entry(blog, number, at, &mut random));
            let all: Vec<_> = all.collect();
            let written = stream::iter(all)
                .map(|piece| async {
                    let id = put(client, Some(&id), piece).await?;
                    bar.inc(1);
                    Ok::<_, Failure>(id)
                })
                .buffered(AT_ONCE)
                .try_collect::<Vec<_>>();
            written.await?;
        }
        let what = json!({ "type": "GALLERY", "slug": "pictures" });
        let text = json!({ "title": GALLERY[number] });
        let gallery = put(client, Some(&folder), piece(what, text, language, 3)).await?;
        galleries.push(Some(ID(gallery)));
        bar.inc(1);
    }
    bar.finish();
    Ok(galleries)
}

/// Claims names for the demo's users, by which authors are displayed.
async fn names(client: &DemoClient) -> Result<(), Failure> {
    const CLAIM: &str = "mutation($input: ClaimIdentityInput!) {
        claimIdentity(input: $input) { ... on Identity { value } ... on UserError { code message } }
    }";
    let service = someone("demo", &[Role::Service]);
    for user in [EDITOR, MERCHANT, SHOPPER] {
        let names = [
            json!({ "username": format!("the-{user}") }),
            json!({ "email": format!("{user}@shop.example") }),
        ];
        for identity in names {
            let input = json!({ "input": { "identity": identity, "userId": user } });
            client.execute(&service, CLAIM, input).await?;
        }
    }
    Ok(())
}

fn piece(mut input: Value, mut text: Value, language: &str, day: usize) -> Piece {
    text["language"] = json!(language);
    input["text"] = text;
    Piece { input, at: Some(date(day)) }
}

/// One entry of a blog. The last but one is scheduled, the last one is a draft.
fn entry(blog: &Blog, language: usize, number: usize, random: &mut Random) -> Piece {
    let topic = &blog.topics[number % blog.topics.len()];
    let round = number / blog.topics.len();
    let mut slug = topic.slug.to_owned();
    let mut title = topic.title[language].to_owned();
    if round > 0 {
        slug = format!("{slug}-{}", round + 1);
        title = format!("{title} ({})", round + 1);
    }
    let sentences = blog.sentences[language];
    let mut sentence = || *random.choose(sentences);
    let summary = sentence();
    let (first, second, quote) = (sentence(), sentence(), sentence());
    let points: Vec<String> = (0..3).map(|_| format!("- {}", sentence())).collect();
    let points = points.join("\n");
    let body = format!("{first} {second}\n\n## {title}\n\n{points}\n\n> {quote}\n");
    let mut tags = vec![blog.slug, topic.tag];
    if number.is_multiple_of(4) {
        tags.push("docgate 1.0");
    }
    let text = json!({ "title": title, "body": body, "summary": summary });
    let input = json!({ "type": "BLOG_ENTRY", "slug": slug, "tags": tags });
    let mut piece = piece(input, text, LANGUAGES[language], 7 * (number + 1));
    match ENTRIES - number {
        1 => piece.at = None,
        2 => piece.at = Some("2099-01-01T09:00:00Z".to_owned()),
        _ => {}
    }
    piece
}

/// The timestamp of nine o'clock on a day. Days are counted from January 2024, with 28 days per month.
fn date(day: usize) -> String {
    let (month, day) = (day / 28 + 1, day % 28 + 1);
    format!("2024-{month:02}-{day:02}T09:00:00Z")
}

/// Creates and publishes content; returns its global id.
async fn put(client: &DemoClient, parent: Option<&str>, piece: Piece) -> Result<String, Failure> {
    const CREATE: &str = "mutation($input: CreateContentInput!) {
        createContent(input: $input) {
            ... on Content { id draft { version } } ... on UserError { code message }
        }
    }";
    const PUBLISH: &str = "mutation($input: PublishContentInput!) {
        publishContent(input: $input) { ... on Content { id } ... on UserError { code message } }
    }";
    let editor = editor();
    let Piece { mut input, at } = piece;
    let parent_id = parent.unwrap_or_default();
    input["idempotencyKey"] =
        json!(format!("demo-{parent_id}-{}", input["slug"].as_str().unwrap_or_default()));
    input["parentId"] = json!(parent);
    let made = client.execute(&editor, CREATE, json!({ "input": input })).await?;
    let made = &made["createContent"];
    let id = made["id"].as_str().unwrap_or_default().to_owned();
    if let Some(at) = at {
        let input = json!({ "contentId": id, "version": made["draft"]["version"], "at": at });
        client.execute(&editor, PUBLISH, json!({ "input": input })).await?;
    }
    Ok(id)
}

/// Gives content another slug. Its former path finds it too.
async fn rename(client: &DemoClient, id: &str, slug: &str) -> Result<(), Failure> {
    const MOVE: &str = "mutation($input: MoveContentInput!) {
        moveContent(input: $input) { ... on Content { path } ... on UserError { code message } }
    }";
    let input = json!({ "input": { "contentId": id, "slug": slug } });
    client.execute(&editor(), MOVE, input).await?;
    Ok(())
}

fn editor() -> Requester {
    someone(EDITOR, &[Role::Editor])
}
