// Pages of the site, and the feed of a blog.

import type { MouseEvent } from "react";
import { useEffect } from "react";
import { useQuery } from "../data";
import { Page } from "../operations";
import { Link, go, isPlain } from "../router";
import { Heading, Picture, State, day, sitePath } from "../ui";
import { Missing } from "./List";

export function SitePage({ path }: { path: string }) {
  const { data, error, isInvalid, isLoading, again } = useQuery(Page, { path }, { isKept: true });
  const page = data?.content;
  useEffect(() => {
    // The page was moved: `path` is where it is now.
    if (page && page.redirectedFrom === path) go(sitePath(page.path), true);
  }, [page, path]);
  if (isInvalid) return <Missing />;
  if (error || !data || (isLoading && !page)) return <State error={error} isLoading={isLoading} what="the page" again={again} />;
  if (!page) return <Missing />;
  const entries = data.contents.nodes.filter((entry) => entry.__typename === "BlogEntry");
  return (
    <article className="site">
      <Heading text={page.title} />
      {page.__typename === "Blog" && (
        <p className="lead">{page.subtitle} <a href={page.feedPath}>Atom feed</a></p>
      )}
      {page.__typename === "BlogEntry" && page.publishedAt && (
        <p className="by">{page.author.name ?? "The shop"} · <time dateTime={page.publishedAt}>{day(page.publishedAt)}</time></p>
      )}
      {page.images[0] && <Picture of={page.images[0]} sizes="(max-width: 760px) 94vw, 700px" isFirst />}
      {/* docgate removes scripts, forms and styles from it, and the content policy runs no script of a page. */}
      <div className="prose" onClick={follow} dangerouslySetInnerHTML={{ __html: page.html }} />
      {page.__typename === "Blog" && (
        <ul className="entries">
          {entries.map((entry) => (
            <li key={entry.id}>
              <h2><Link to={sitePath(entry.path)}>{entry.title}</Link></h2>
              {entry.publishedAt && <time dateTime={entry.publishedAt}>{day(entry.publishedAt)}</time>}
              {entry.__typename === "BlogEntry" && <p>{entry.summary}</p>}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

/** A link in the text of a page leads to another page of the site. */
function follow(event: MouseEvent) {
  const link = (event.target as Element).closest("a");
  const href = link?.getAttribute("href");
  if (!href?.startsWith("/") || !isPlain(event)) return;
  event.preventDefault();
  go(sitePath(href));
}
