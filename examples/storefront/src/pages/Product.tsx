// A product: pictures, price, live stock, what it is made of, what others say, and what is like it.

import { useEffect, useState } from "react";
import { worksPath } from "../address";
import { useLive, useQuery } from "../data";
import type { ResultOf } from "../graphql";
import { type CardData, Product, StockChanged } from "../operations";
import { Link, go } from "../router";
import { AddToCart, Availability, Cards, Heading, Picture, Price, Stars, State, capital, day, productPath } from "../ui";
import { Missing } from "./List";

type Data = NonNullable<ResultOf<typeof Product>["product"]>;
type Choice = Data["variants"][number];

export function ProductPage({ by }: { by: { sku: string } | { slug: string } }) {
  const { data, error, isInvalid, isLoading, again } = useQuery(Product, { by }, { isKept: true });
  const product = data?.product;
  const slug = "slug" in by ? by.slug : null;
  useEffect(() => {
    // The product has another slug now.
    if (product && slug && product.formerSlugs.includes(slug)) go(productPath(product), true);
  }, [product, slug]);
  if (isInvalid) return <Missing />;
  if (error || !data) return <State error={error} isLoading={isLoading} what="the product" again={again} />;
  if (!product) return isLoading ? <State isLoading what="the product" /> : <Missing />;
  return <Details key={product.sku} of={product} asked={"sku" in by ? by.sku : null} />;
}

/** What can be put into the cart: the product itself, unless it is sold in variants alone, and the variants. */
function choicesOf({ sku, images, pricing, stock, variants }: Data): [Choice, ...Choice[]] {
  const own = { sku, title: "Standard", pricing, stock, image: images[0] ?? null };
  const [first, ...others] = variants;
  return first && !stock?.available ? [first, ...others] : [own, ...variants];
}

function Details({ of: product, asked }: { of: Data; asked: string | null }) {
  const choices = choicesOf(product);
  const [sku, setSku] = useState(asked);
  const [looksAt, lookAt] = useState<string | null>(null);
  const chosen = choices.find((choice) => choice.sku === sku) ?? choices[0];
  const live = useLive(StockChanged, { sku: chosen.sku }).data?.stockChanged?.available;
  const available = live ?? chosen.stock?.available ?? 0;
  const choose = (sku: string) => {
    setSku(sku);
    lookAt(null);
  };
  const category = product.categories[0];
  return (
    <article className="product">
      {category && <p className="crumbs"><Link to={`/c${category.path}`}>{category.name}</Link></p>}
      <div className="columns">
        <Gallery of={product} url={looksAt ?? chosen.image?.url} lookAt={lookAt} />
        <div>
          <Heading text={product.title} />
          <p className="by">
            {product.contributors.map(({ personId, name, role }, at) => (
              <span key={`${personId} ${role}`}>{at > 0 && ", "}<Link to={worksPath(personId)}>{name}</Link> ({role})</span>
            ))}
          </p>
          {product.rating && (
            <p>
              <Stars of={product.rating.average} />{" "}
              <a href="#comments">{product.rating.count} {product.rating.count === 1 ? "review" : "reviews"}</a>
            </p>
          )}
          <p className="offer"><Price of={chosen.pricing} /></p>
          {choices.length > 1 && (
            <fieldset className="choices">
              <legend>{product.options.map(({ name }) => capital(name)).join(" / ")}</legend>
              {choices.map(({ sku, title }) => (
                <label key={sku}>
                  <input type="radio" name="variant" checked={sku === chosen.sku} onChange={() => choose(sku)} /> {capital(title)}
                </label>
              ))}
            </fieldset>
          )}
          <p role="status">
            {available > 0 ? (
              <span className="availability in_stock">
                <span data-testid="stock">{available.toLocaleString("en")}</span> in stock
                {live !== undefined && <small className="live" title="Changes at once when somebody buys">live</small>}
              </span>
            ) : <Availability of="OUT" />}
          </p>
          <AddToCart key={chosen.sku} sku={chosen.sku} isOut={available <= 0} />
          {product.description && <p className="description">{product.description}</p>}
          <Facts of={product} />
        </div>
      </div>
      <Comments of={product.discussion} />
      <Others of={product.boughtTogether} title="Often bought together" />
      <Others of={product.related.nodes} title="More like this" />
    </article>
  );
}

function Others({ of, title }: { of: readonly CardData[]; title: string }) {
  if (of.length === 0) return null;
  return (
    <section className="others">
      <h2>{title}</h2>
      <Cards of={of} />
    </section>
  );
}

/** The pictures. The one with the address is shown in full, otherwise the first one. */
function Gallery({ of: { images }, url, lookAt }: { of: Data; url?: string; lookAt: (url: string) => void }) {
  const at = Math.max(images.findIndex((image) => image.url === url), 0);
  return (
    <div className="gallery">
      <Picture of={images[at]} sizes="(max-width: 800px) 94vw, 480px" isFirst />
      {images.length > 1 && (
        <ul>
          {images.map((image, number) => (
            <li key={image.url}>
              <button type="button" aria-label={`Picture ${number + 1}`} aria-pressed={number === at} onClick={() => lookAt(image.url)}>
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
  facts.push(["Item number", product.sku]);
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
              <strong>{author.name ?? "A customer"}</strong> · <time dateTime={postedAt}>{day(postedAt)}</time>{" "}
              {stars !== null && <Stars of={stars} />}
            </p>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
