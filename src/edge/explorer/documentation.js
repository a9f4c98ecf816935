/** The documentation panel: a search, and pages for types and fields, from introspection. */

import { element, withCode } from "./dom.js";
import { isRequired, namedType, typeText } from "./schema.js";

const MOST_FOUND = 60;
const KIND_NAMES = {
  OBJECT: "object",
  INTERFACE: "interface",
  UNION: "union",
  ENUM: "enum",
  INPUT_OBJECT: "input",
  SCALAR: "scalar",
};

export class Documentation {
  /** `onTry(kind, field)` is called to try a root field, `onReload()` to load the schema again. */
  constructor(root, { onTry, onReload }) {
    this.onTry = onTry;
    this.onReload = onReload;
    /** The pages before the current one, as functions that draw them. */
    this.trail = [];
    this.search = element("input", {
      type: "search",
      placeholder: "Search fields and types",
      "aria-label": "Search fields and types",
      oninput: () => this.#draw(),
    });
    this.page = element("div", { class: "page" });
    root.append(element("div", { class: "filter" }, this.search), this.page);
    this.showNotice("Loading the schema…");
  }

  showSchema(schema) {
    this.schema = schema;
    this.trail = [];
    this.#draw();
  }

  /** Shows a text while there is no schema. */
  showNotice(text, canReload = false) {
    this.schema = undefined;
    const reload = element(
      "button",
      { type: "button", class: "quiet", onclick: () => this.onReload() },
      "Try again",
    );
    this.page.replaceChildren(
      element("p", { class: "hint" }, ...withCode(text)),
      ...(canReload ? [reload] : []),
    );
  }

  #draw() {
    if (!this.schema) return;
    const wanted = this.search.value.trim().toLowerCase();
    const draw = this.trail.at(-1) ?? (() => this.#start());
    this.page.replaceChildren(...(wanted ? this.#found(wanted) : draw()));
    this.page.parentElement.scrollTo(0, 0);
  }

  #go(draw) {
    this.search.value = "";
    this.trail.push(draw);
    this.#draw();
    this.page.querySelector("h2")?.focus();
  }

  #back() {
    this.trail.pop();
    this.#draw();
  }

  #openType(name) {
    this.#go(() => this.#typePage(this.schema.type(name)));
  }

  #openField(typeName, field) {
    this.#go(() => this.#fieldPage(typeName, field));
  }

  #start() {
    const roots = Object.entries(this.schema.roots).filter(([, name]) => name);
    const sections = roots.map(([kind, name]) => {
      const fields = this.schema.fields(name);
      const rows = fields.map((field) => this.#fieldRow(name, field));
      return section(`${kind[0].toUpperCase()}${kind.slice(1)}`, rows, {
        isOpen: kind === "query",
      });
    });
    const rootNames = Object.values(this.schema.roots);
    const types = this.schema.ownTypes().filter(({ name }) => !rootNames.includes(name));
    types.sort((one, other) => one.name.localeCompare(other.name));
    return [
      ...sections,
      section(
        "Types",
        types.map((type) => this.#typeRow(type)),
        { isOpen: false },
      ),
    ];
  }

  /** Root fields first, then types, then other fields; names that begin with the words come first. */
  #found(wanted) {
    const rootNames = Object.values(this.schema.roots);
    const types = this.schema.ownTypes().filter(({ name }) => !rootNames.includes(name));
    const places = [];
    const add = (group, name, row) => {
      const at = name.toLowerCase().indexOf(wanted);
      if (at >= 0) places.push({ rank: group * 2 + Math.min(at, 1), name, row });
    };
    for (const root of rootNames) {
      for (const field of this.schema.fields(root))
        add(0, field.name, () => this.#fieldRow(root, field, root));
    }
    for (const type of types) {
      add(1, type.name, () => this.#typeRow(type));
      for (const field of type.fields ?? [])
        add(2, field.name, () => this.#fieldRow(type.name, field, type.name));
    }
    places.sort((one, other) => one.rank - other.rank || one.name.localeCompare(other.name));
    const rows = places.slice(0, MOST_FOUND).map(({ row }) => row());
    if (places.length === 0)
      return [element("p", { class: "hint" }, "Nothing is named like this.")];
    const more = places.length - rows.length;
    const note = more > 0 ? [element("p", { class: "hint" }, `and ${more} more`)] : [];
    return [element("ul", { class: "rows" }, ...rows), ...note];
  }

  #typePage(type) {
    const kind = KIND_NAMES[type.kind] ?? type.kind;
    const parts = [this.#head(type.name, kind), description(type.description)];
    if (type.fields?.length > 0) {
      parts.push(
        section(
          "Fields",
          type.fields.map((field) => this.#fieldRow(type.name, field)),
        ),
      );
    }
    if (type.inputFields?.length > 0)
      parts.push(
        section(
          "Fields",
          type.inputFields.map((input) => this.#inputRow(input)),
        ),
      );
    if (type.enumValues?.length > 0) parts.push(section("Values", type.enumValues.map(valueRow)));
    if (type.interfaces?.length > 0)
      parts.push(section("Implements", this.#typeRows(type.interfaces)));
    if (type.possibleTypes?.length > 0) {
      const title = type.kind === "UNION" ? "One of" : "Implemented by";
      parts.push(section(title, this.#typeRows(type.possibleTypes)));
    }
    const users = this.#usersOf(type.name);
    if (users.length > 0) parts.push(section("Used by", users, { isOpen: false }));
    return parts;
  }

  /** The fields that return a type or take it as an argument. */
  #usersOf(name) {
    const uses = ({ type }) => namedType(type) === name;
    return this.schema
      .ownTypes()
      .flatMap((type) =>
        (type.fields ?? [])
          .filter((field) => uses(field) || field.args.some(uses))
          .map((field) => this.#fieldRow(type.name, field, type.name)),
      );
  }

  #fieldPage(typeName, field) {
    const kind = this.schema.rootKind(typeName);
    const parts = [
      this.#head(field.name, kind ?? `field of ${typeName}`),
      description(field.description),
    ];
    if (field.isDeprecated) {
      parts.push(
        element(
          "p",
          { class: "deprecation" },
          `Deprecated: ${field.deprecationReason ?? "no reason given"}`,
        ),
      );
    }
    if (kind) {
      const onclick = () => this.onTry(kind, field);
      parts.push(
        element("button", { type: "button", class: "try", onclick }, "Write this operation"),
      );
    }
    parts.push(section("Gives", [element("li", {}, this.#typeLink(field.type))]));
    if (field.args.length > 0)
      parts.push(
        section(
          "Arguments",
          field.args.map((input) => this.#inputRow(input)),
        ),
      );
    return parts;
  }

  #head(name, kind) {
    const back = element(
      "button",
      { type: "button", class: "back", onclick: () => this.#back() },
      "‹ Back",
    );
    return element(
      "div",
      { class: "page-head" },
      back,
      element("h2", { tabindex: "-1" }, name),
      element("span", { class: "kind" }, kind),
    );
  }

  #typeRow(type) {
    return element(
      "li",
      {},
      this.#typeLink({ name: type.name }),
      element("span", { class: "kind" }, KIND_NAMES[type.kind]),
      summary(type.description),
    );
  }

  #typeRows(references) {
    return references.map(({ name }) => this.#typeRow(this.schema.type(name)));
  }

  #fieldRow(typeName, field, owner) {
    const onclick = () => this.#openField(typeName, field);
    const name = element("button", { type: "button", class: "link field" }, field.name);
    name.addEventListener("click", onclick);
    if (field.isDeprecated) name.classList.add("deprecated");
    return element(
      "li",
      {},
      owner ? element("span", { class: "owner" }, `${owner}.`) : undefined,
      name,
      field.args.length > 0 ? element("span", { class: "quiet-text" }, "(…)") : undefined,
      ": ",
      this.#typeLink(field.type),
      summary(field.description),
    );
  }

  #inputRow(input) {
    const initial = input.defaultValue === null ? "" : ` = ${input.defaultValue}`;
    return element(
      "li",
      {},
      element("span", { class: "input-name" }, input.name),
      ": ",
      this.#typeLink(input.type),
      initial && element("span", { class: "quiet-text" }, initial),
      isRequired(input) ? element("span", { class: "kind" }, "required") : undefined,
      description(input.description),
    );
  }

  #typeLink(reference) {
    const name = namedType(reference);
    const text = reference.kind ? typeText(reference) : name;
    return element(
      "button",
      { type: "button", class: "link type", onclick: () => this.#openType(name) },
      text,
    );
  }
}

function section(title, rows, { isOpen = true } = {}) {
  const head = element(
    "summary",
    {},
    title,
    element("span", { class: "count" }, String(rows.length)),
  );
  return element(
    "details",
    { class: "section", open: isOpen },
    head,
    element("ul", { class: "rows" }, ...rows),
  );
}

function valueRow(value) {
  const name = element(
    "span",
    { class: value.isDeprecated ? "value deprecated" : "value" },
    value.name,
  );
  return element("li", {}, name, description(value.description));
}

/** A description's first sentence. */
function summary(text) {
  const first = (text ?? "").split(/\n\n|(?<=[.!?])\s/)[0];
  return first ? element("p", { class: "summary" }, ...withCode(first)) : undefined;
}

function description(text) {
  if (!text) return undefined;
  const paragraphs = text.trim().split(/\n\s*\n/);
  return element(
    "div",
    { class: "description" },
    ...paragraphs.map((each) => element("p", {}, ...withCode(each))),
  );
}
