import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { CartProvider } from "./cart";

const root = document.getElementById("shop");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <CartProvider>
        <App />
      </CartProvider>
    </StrictMode>,
  );
}
