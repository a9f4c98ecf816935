// A product: pictures, price, live stock, what it is made of, what others say, and what is like it.

import { useEffect, useState } from "react";
import { useLive, useQuery } from "../data";
import type { ResultOf } from "../graphql";
import { Product, StockChanged } from "../operations";
import { Link, go } from "../router";
import { AddToCart, Availability, Cards, Heading, Picture, Price, Stars, State, capital, day, productPath } from "../ui";
import { Missing } from "./List";

type Data = NonNullable<ResultOf<typeof Product>["product"]>;

export function ProductPage({ by }: { by: { sku: string } | { slug: string } }) {
  const { data, error, isLoading } = useQuery(Product, { by });
  const product = data?.product;
  const slug = "slug" in by ? by.slug : null;
  useEffect(() => {
    // The product has another slug now.
    if (product && slug && product.formerSlugs.includes(slug)) go(productPath(product), true);
  }, [product, slug]);
  if (error || !data) return <State error={error} isLoading={isLoading} what="the product" />;
  if (!product) return isLoading ? <State isLoading what="the product" /> : <Missing />;
  return <Details key={product.sku} of={product} />;
}

function Details({ of: product }: { of: Data }) {
  const live = useLive(StockChanged, { sku: product.sku }).data?.stockChanged?.available;
  const available = live ?? product.stock?.available ?? 0;
  const category = product.categories[0];
  return (
    <article className="product">
      {category && <p className="crumbs"><Link to={`/c${category.path}`}>{category.name}</Link></p>}
      <div className="columns">
        <Gallery of={product} />
        <div>
          <Heading text={product.title} />
          <p className="by">{product.contributors.map(({ name, role }) => `${name} (${role})`).join(", ")}</p>
          {product.discussion?.rating && (
            <p>
              <Stars of={product.discussion.rating.average} />{" "}
              <a href="#comments">{product.discussion.rating.count} reviews</a>
            </p>
          )}
          <p className="offer"><Price of={product.pricing} /></p>
          <p role="status">
            {available > 0 ? (
              <span className="availability in_stock">
                <span data-testid="stock">{available.toLocaleString("en")}</span> in stock
                {live !== undefined && <small className="live" title="Changes at once when somebody buys">live</small>}
              </span>
            ) : <Availability of="OUT" />}
          </p>
          <AddToCart sku={product.sku} isOut={available <= 0} />
          {product.description && <p className="description">{product.description}</p>}
          <Facts of={product} />
        </div>
      </div>
      <Comments of={product.discussion} />
      {product.related.nodes.length > 0 && (
        <section>
          <h2>More like this</h2>
          <Cards of={product.related.nodes} />
        </section>
      )}
    </article>
  );
}

function Gallery({ of: { images } }: { of: Data }) {
  const [at, setAt] = useState(0);
  return (
    <div className="gallery">
      <Picture of={images[at]} sizes="(max-width: 800px) 94vw, 480px" isFirst />
      {images.length > 1 && (
        <ul>
          {images.map((image, number) => (
            <li key={image.url}>
              <button type="button" aria-label={`Picture ${number + 1}`} aria-pressed={number === at} onClick={() => setAt(number)}>
                <img src={image.url} alt="" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What is particular to the type of the product. */
function Facts({ of: product }: { of: Data }) {
  const facts: [string, string | null | undefined][] = [["Released", product.issueDate && day(product.issueDate)]];
  switch (product.__typename) {
    case "Album":
      facts.push(["Label", product.label], ["Genres", product.genres.join(", ")]);
      break;
    case "Film":
      facts.push(["Certificate", product.certificate], ["Genres", product.genres.join(", ")]);
      break;
    case "Book":
      facts.push(["Pages", product.pages?.toString()], ["ISBN", product.isbn]);
      break;
    case "GenericProduct":
      facts.push(...product.properties.map(({ key, value }): [string, string] => [capital(key), value]));
  }
  facts.push(["Number", product.sku]);
  return (
    <>
      <dl className="facts">
        {facts.map(([name, value]) => value && <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
      </dl>
      {product.__typename === "Album" && product.tracks.length > 0 && (
        <section>
          <h2>Tracks</h2>
          <ol className="tracks">
            {product.tracks.map(({ title, seconds }, at) => (
              <li key={at}>{title} {seconds !== null && <small>{length(seconds)}</small>}</li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

const length = (seconds: number) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

function Comments({ of: discussion }: { of: Data["discussion"] }) {
  if (!discussion || discussion.commentCount === 0) return null;
  return (
    <section id="comments">
      <h2>{discussion.commentCount.toLocaleString("en")} comments</h2>
      <ul className="comments">
        {discussion.latestComments.map(({ id, author, postedAt, stars, text }) => (
          <li key={id}>
            <p className="by">
              <strong>{author.name ?? "Somebody"}</strong> · <time dateTime={postedAt}>{day(postedAt)}</time>{" "}
              {stars !== null && <Stars of={stars} />}
            </p>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
