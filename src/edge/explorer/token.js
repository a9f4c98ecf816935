/** The bearer token: its field, the demo's ready-made tokens, and the token's claims. */

import { byId, element } from "./dom.js";
import { passing } from "./storage.js";

const ANONYMOUS = "anonymous";

export class Token {
  /** `onChange()` is called when the token changes. */
  constructor({ onChange }) {
    this.onChange = onChange;
    this.field = byId("token-field");
    this.roles = byId("roles");
    /** The demo's tokens by role, if the gateway offers them. */
    this.offered = {};
    /** The role of the last example that needed one; it may be chosen before the tokens are loaded. */
    this.awaited = "";
    /** The chosen role of the demo. Its token changes with each start of the demo. */
    this.role = passing.read("role", "");
    this.field.value = passing.read("token", "");
    this.field.addEventListener("input", () => this.use(this.field.value));
    byId("token-clear").addEventListener("click", () => this.use(""));
    byId("token-show").addEventListener("click", ({ currentTarget: button }) => {
      const isShown = this.field.type === "password";
      this.field.type = isShown ? "text" : "password";
      button.setAttribute("aria-pressed", String(isShown));
      button.textContent = isShown ? "Hide" : "Show";
    });
    this.#draw();
  }

  get value() {
    return this.field.value.trim();
  }

  use(token, role = "") {
    if (this.field.value !== token) this.field.value = token;
    this.role = role;
    this.#changed();
  }

  /** Loads the demo's tokens, `{shopper, merchant, admin}`. Any other response means that there are none. */
  async loadOffered(address) {
    try {
      const response = await fetch(address);
      if (response.status !== 200) return;
      this.offered = await response.json();
    } catch {
      return;
    }
    const buttons = [ANONYMOUS, ...Object.keys(this.offered)].map((role) =>
      element(
        "button",
        { type: "button", "data-role": role, onclick: () => this.#useRole(role) },
        role,
      ),
    );
    this.roles.replaceChildren(element("span", { class: "roles-label" }, "as"), ...buttons);
    this.roles.hidden = false;
    if (this.role in this.offered) this.#useRole(this.role);
    this.useFor(this.awaited);
    this.#draw();
  }

  /** Uses the demo's token that an example needs, unless the user has set another one. */
  useFor(role) {
    this.awaited = role;
    if (this.offered[role] && !this.#isOwn) this.#useRole(role);
  }

  /** The token that `useFor` would set. */
  valueFor(role) {
    return (!this.#isOwn && this.offered[role]) || this.value;
  }

  /** Whether the user has set a token that isn't the demo's. */
  get #isOwn() {
    return Boolean(this.value && !this.role);
  }

  #useRole(role) {
    this.use(this.offered[role] ?? "", role);
  }

  #changed() {
    passing.write("token", this.value);
    passing.write("role", this.role);
    this.#draw();
    this.onChange();
  }

  #draw() {
    byId("token-mark").hidden = !this.value;
    byId("token-claims").textContent = this.value ? claimsText(this.value) : "";
    for (const button of this.roles.querySelectorAll("button")) {
      const isCurrent = this.value === (this.offered[button.dataset.role] ?? "");
      button.setAttribute("aria-pressed", String(isCurrent));
    }
  }
}

/** The token's claims, only for display: the gateway verifies the token. */
function claimsText(token) {
  try {
    const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const { sub, roles, exp } = JSON.parse(new TextDecoder().decode(bytes));
    const expiry = exp && new Date(exp * 1000);
    return [
      sub && `Subject ${sub}`,
      roles?.length > 0 && `roles ${[roles].flat().join(", ")}`,
      expiry && `${expiry < new Date() ? "expired" : "valid until"} ${expiry.toLocaleString()}`,
    ]
      .filter(Boolean)
      .join(" · ");
  } catch {
    return "This doesn't look like a JWT; it is sent as it is.";
  }
}
