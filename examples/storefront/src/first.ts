// What runs first, and is small: it asks docgate for the first page while React and the app are on their way.

import "./app.css";
import { frameVariables, here, listVariables, partsOf, placeOf, productAt } from "./address";
import { askEarly } from "./graphql";
import { Frame, List, Page, Product } from "./operations";
import { savedCart } from "./storage";

function askForPage() {
  const { path, parameters } = partsOf(here());
  const place = placeOf(path);
  switch (place.kind) {
    case "":
    case "search":
      return askEarly(List, listVariables(null, parameters));
    case "c":
      return askEarly(List, listVariables(`/${place.key}`, parameters));
    case "product":
    case "sku":
      return askEarly(Product, { by: productAt(place) });
    case "site":
      return askEarly(Page, { path: `/${place.key}` });
  }
}

// Not awaited: the app imports from here, and would wait for the end of this file.
void import("./main");
askForPage();
askEarly(Frame, frameVariables(savedCart()));
