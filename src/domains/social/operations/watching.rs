//! The subscription to news, and the documents that it watches.

use std::{sync::Arc, time::Duration};

use futures_util::{Stream, future::select_all};

use super::{
    super::{
        documents::{FeedPage, PostDocument, ReadPage, month_of, news_of},
        store::feeds::newest_pages,
        types::NewsChanged,
    },
    celebrities::followed,
    feeds::news,
};
use crate::{
    graphql::{prelude::*, subscription::Progress},
    mongo::{watch::Changes, within},
};

/// Time after which a subscription to news looks without a message: a month has ended, or the caller follows others.
const POLL: Duration = Duration::from_secs(30);

/// Follows the caller's news: the newest post now, and after each change.
///
/// # Errors
/// The caller isn't signed in.
pub fn news_changed(
    cx: Cx<'_>,
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<NewsChanged>> + use<>> {
    let (app, requester) = (cx.app.clone(), cx.requester.clone());
    let own = cx.requester.subject()?.to_owned();
    Ok(async_stream::stream! {
        let cx = Cx { app: &app, requester: &requester };
        let (mut watched, mut changes) = (Vec::new(), Vec::new());
        let mut sent = None;
        loop {
            let read = async {
                let wanted = to_watch(cx, &own).await?;
                // A subscription begins before the read, so that no change is missed.
                if wanted != watched {
                    changes = wanted.iter().map(|one| one.watch(cx)).collect();
                    watched = wanted;
                }
                let first = Paging { first: Some(1), ..Paging::default() };
                let mut found = news(cx, None, first).await?;
                let latest = found.page.edges.pop().map(|edge| edge.node);
                Ok::<_, Error>((latest, found.is_early()))
            };
            let time = Duration::from_millis(app.config().request_millis);
            let read = within(time, read).await;
            match read.unwrap_or_else(|elapsed| Err(Error::Timeout(elapsed.into()))) {
                // None of the newest posts is visible, and the others weren't examined.
                Ok((None, true)) if sent.is_some() => {}
                Ok((latest, _)) => {
                    let now = Some(latest.as_ref().map(|post| post.0.id.clone()));
                    if now != sent {
                        sent = now;
                        yield Ok(NewsChanged { latest });
                    }
                }
                Err(error) => {
                    yield Err(error.into());
                    return;
                }
            }
            progress.wait();
            let woken = select_all(changes.iter_mut().map(|one: &mut Changes| Box::pin(one.changed())));
            tokio::select! {
                (is_open, _, _) = woken => if !is_open { return },
                () = tokio::time::sleep(POLL) => {}
            }
        }
    })
}

/// What changes with the news of a user.
#[derive(Debug, PartialEq, Eq)]
enum Watched {
    /// A page of the news.
    Page(String),
    /// The posts of a celebrity.
    Posts(String),
}

impl Watched {
    fn watch(&self, cx: Cx<'_>) -> Changes {
        match self {
            Self::Page(id) => cx.hub().watch::<FeedPage>(id.clone()),
            Self::Posts(by) => cx.hub().watch_topic::<PostDocument>("merged", by.clone()),
        }
    }
}

/// The newest page of the news, the page after it, the first page of this month, and the celebrities.
async fn to_watch(cx: Cx<'_>, own: &str) -> Result<Vec<Watched>> {
    let key = news_of(own);
    let newest = newest_pages(&cx, &key);
    let ((newest, _), followed) = tokio::try_join!(newest, followed(cx, own))?;
    let mut pages = vec![FeedPage::id(&key, &month_of(cx.clock()), 0)];
    if let Some(page) = newest.first().map(ReadPage::get) {
        pages.push(FeedPage::id(&key, page.month, page.n + 1));
        pages.push(page.id.to_owned());
    }
    pages.sort();
    pages.dedup();
    Ok(pages
        .into_iter()
        .map(Watched::Page)
        .chain(followed.into_iter().map(|edge| Watched::Posts(edge.of)))
        .collect())
}
