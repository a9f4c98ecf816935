// The frame of every page, and which page an address shows.

import type { ReactNode } from "react";
import { Search } from "./Search";
import { placeOf, productAt } from "./address";
import { useCart } from "./cart";
import { CartPage, CheckoutPage } from "./pages/Cart";
import { ListPage, Missing } from "./pages/List";
import { OrderPage, OrdersPage } from "./pages/Orders";
import { ProductPage } from "./pages/Product";
import { SitePage } from "./pages/Site";
import { Link, useAddress } from "./router";
import { sitePath } from "./ui";

function page(path: string, parameters: URLSearchParams): ReactNode {
  const place = placeOf(path);
  const { kind, key } = place;
  switch (kind) {
    case "":
    case "search":
      return <ListPage category={null} parameters={parameters} />;
    case "c":
      return <ListPage key={key} category={`/${key}`} parameters={parameters} />;
    case "product":
    case "sku":
      return <ProductPage key={path} by={productAt(place)} />;
    case "cart":
      return <CartPage />;
    case "checkout":
      return <CheckoutPage />;
    case "order":
      return <OrderPage id={key} />;
    case "orders":
      return <OrdersPage />;
    case "site":
      return <SitePage key={key} path={`/${key}`} />;
    default:
      return <Missing />;
  }
}

export function App() {
  const { path, parameters } = useAddress();
  const { count, menu, status } = useCart();
  const isKnown = status === "ready";
  return (
    <>
      <a className="skip" href="#main">To the content</a>
      <header className="top">
        <Link to="/" className="brand"><img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="32" height="32" /> Larkham</Link>
        <Search />
        <Link to="/cart" className="cart-link" aria-label={isKnown ? `Cart, ${count} ${count === 1 ? "piece" : "pieces"}` : "Cart"}>
          Cart <span className="badge" data-testid="cart-count">{isKnown ? count : "…"}</span>
        </Link>
        <nav className="menu" aria-label="Departments">
          {menu.map((department) => (
            <Link
              key={department.path}
              to={`/c${department.path}`}
              aria-current={`${path}/`.startsWith(`/c${department.path}/`) ? "true" : undefined}
            >
              {department.name}
            </Link>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>{page(path, parameters)}</main>
      <footer>
        <nav aria-label="About the shop">
          <Link to="/orders">Your orders</Link>
          <Link to={sitePath("/en/delivery")}>Delivery</Link>
          <Link to={sitePath("/en/returns")}>Returns</Link>
          <Link to={sitePath("/en/workshop")}>From the workshop</Link>
          <Link to={sitePath("/en/listening")}>What we listen to</Link>
        </nav>
        <p>An example of docgate: all goods are invented. <a href="/">The API</a></p>
      </footer>
    </>
  );
}
