/** The bearer token: its field, the demo's ready-made ones, and what it says about its bearer. */

import { byId, element } from "./dom.js";
import { passing } from "./storage.js";

const ANONYMOUS = "anonymous";

export class Token {
  /** `onChange()` is called when another token is set. */
  constructor({ onChange }) {
    this.onChange = onChange;
    this.field = byId("token-field");
    this.roles = byId("roles");
    /** The demo's tokens by role, if the gateway gives them. */
    this.offered = {};
    /** The role of the last example that needed one, which may be chosen before the tokens are there. */
    this.awaited = "";
    /** The demo's role that was chosen: its token is another one after each start of the demo. */
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

  /** Loads the demo's tokens, `{shopper, merchant, admin}`. Any other answer means: not a demo. */
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

  /** Takes the demo's token that an example needs, unless the user has set one of their own. */
  useFor(role) {
    this.awaited = role;
    if (this.offered[role] && !this.#isOwn) this.#useRole(role);
  }

  /** The token that `useFor` would take. */
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

/** What the token claims. It is only shown: the gateway is who checks it. */
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
