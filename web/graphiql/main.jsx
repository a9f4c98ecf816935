/**
 * GraphiQL for docgate. What is beside GraphiQL itself (the examples and what they take from answers,
 * the token and its field, the views of a narrow screen) is the explorer's own code, so that both pages
 * offer the same and share one token.
 */

import "monaco-graphql/esm/monaco-editor.js";
import "@graphiql/react/style.css";
import "@graphiql/plugin-doc-explorer/style.css";
import "@graphiql/plugin-history/style.css";
import "graphiql/graphiql.css";
import "./page.css";

import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { useEffect, useRef } from "react";
import { createRoot } from "react-dom/client";

import { byId } from "../../src/edge/explorer/dom.js";
import { ExampleList, loadExamples, variablesText } from "../../src/edge/explorer/examples.js";
import {
  NotInAnswer,
  operationName,
  originList,
  Origins,
} from "../../src/edge/explorer/origins.js";
import { post } from "../../src/edge/explorer/requests.js";
import { Token } from "../../src/edge/explorer/token.js";
import { activateViews, showView } from "../../src/edge/explorer/views.js";

globalThis.MonacoEnvironment = {
  getWorker(_, label) {
    const name = WORKERS[label] ?? WORKERS.editor;
    return new Worker(new URL(`graphiql/${name}`, document.baseURI));
  },
};

const endpoint = new URL("graphql", document.baseURI).href;
const send = createGraphiQLFetcher({
  url: endpoint,
  subscriptionUrl: endpoint.replace(/^http/, "ws"),
  enableIncrementalDelivery: false,
});

/** Called when another token is set; the page sets it once GraphiQL is there. */
let onToken = () => {};
const token = new Token({ onChange: () => onToken() });
const examples = await loadExamples("explorer/examples.json");
const origins = new Origins(examples);
const exampleOf = (query) => examples.find((example) => example.query === query);
/** Shows the variables of an operation once they were obtained; the page sets it once GraphiQL is there. */
let onVariables = () => {};

/**
 * Sends an operation with the token of the field; one that is written among the headers wins. For a
 * subscription the headers become the payload of `connection_init`.
 */
async function fetcher(request, options) {
  if (request.operationName !== INTROSPECTION) showView("response");
  const variables = await obtain(request);
  const written = options?.headers ?? {};
  const isWritten = Object.keys(written).some((name) => name.toLowerCase() === "authorization");
  const ours = token.value && !isWritten ? { Authorization: `Bearer ${token.value}` } : {};
  const headers = { ...ours, ...written };
  const answer = await send({ ...request, variables }, { ...options, headers });
  origins.remember(request.operationName, { data: answer.data, variables });
  return answer;
}

/** The operation by which GraphiQL asks for the schema. */
const INTROSPECTION = "IntrospectionQuery";

/** The variables with what an example takes from answers, in the editor too. */
async function obtain({ query, variables }) {
  try {
    const whole = await origins.obtain(exampleOf(query), variables, runFirst);
    if (whole !== variables) onVariables(query, whole);
    return whole;
  } catch (error) {
    if (!(error instanceof NotInAnswer)) throw error;
    throw new Error(`${error.message}\n${error.answer.text}`);
  }
}

/** Runs an example for an answer that another one needs. */
function runFirst({ query, role }, variables) {
  const request = { query, variables, operationName: operationName(query) };
  return post(endpoint, request, token.valueFor(role));
}

/** The examples, each of which opens in a tab. */
const EXAMPLES_PLUGIN = {
  title: "Examples",
  icon: () => (
    <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d="M4 3.5h9l3 3v10H4zM12.5 3.5v3.5H16M7 10.5h6M7 13.5h4" />
    </svg>
  ),
  content: Examples,
};
const PLUGINS = [EXAMPLES_PLUGIN, HISTORY_PLUGIN];

function Examples() {
  const root = useRef(null);
  const { addTab } = useGraphiQLActions();
  const editors = useGraphiQL(({ queryEditor, variableEditor }) => [queryEditor, variableEditor]);
  const current = useRef(editors);
  current.current = editors;
  useEffect(() => {
    const open = (example) => {
      const [queryEditor, variableEditor] = current.current;
      if (queryEditor?.getValue().trim()) addTab();
      queryEditor?.setValue(example.query);
      variableEditor?.setValue(variablesText(origins.fill(example)));
      if (example.role) token.useFor(example.role);
      showView("editor");
    };
    new ExampleList(root.current, { onChoose: open }).show(examples);
  }, [addTab]);
  return (
    <section className="examples-pane" aria-label="Examples">
      <div className="graphiql-doc-explorer-title">Examples</div>
      <div className="examples" ref={root} />
    </section>
  );
}

/** Asks for the schema again if it couldn't be had with the token before. */
function FollowToken() {
  const schema = useGraphiQL((state) => state.schema);
  const { introspect } = useGraphiQLActions();
  useEffect(() => {
    onToken = () => schema || introspect();
  }, [schema, introspect]);
}

/** GraphiQL itself follows the system with all but its editors' colours. */
function FollowSystem() {
  const theme = useGraphiQL((state) => state.theme);
  const { setTheme } = useGraphiQLActions();
  useEffect(() => {
    if (theme) return undefined;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setTheme(null);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, [theme, setTheme]);
}

/** Shows the tab that was opened, and takes the token that its example needs. */
function FollowTab() {
  const { id, query } = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex]);
  const shown = useRef(id);
  useEffect(() => {
    // The list of tabs may have no room for it.
    document.querySelector(".graphiql-tab-active")?.scrollIntoView({ inline: "nearest" });
    if (id === shown.current) return;
    shown.current = id;
    const { role } = exampleOf(query) ?? {};
    if (role) token.useFor(role);
  }, [id, query]);
}

/** Tells which variables of the tab's example come from answers. */
function FollowOrigins() {
  const { query, variables } = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex]);
  const editor = useGraphiQL(({ variableEditor }) => variableEditor);
  useEffect(() => {
    onVariables = (operation, obtained) => {
      // Another tab may have been opened meanwhile.
      if (operation === query) editor?.setValue(variablesText(obtained));
    };
  }, [editor, query]);
  useEffect(() => {
    const all = origins.of(exampleOf(query));
    byId("variables-origins").replaceChildren(originList(all, parsed(variables)));
  }, [query, variables]);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The examples in the tabs of a first visit. The pane of examples has all. */
const FIRST_TABS = ["AProduct", "Departments", "OpenCart", "MyOrders", "Discussed", "News"];
const firstExamples = FIRST_TABS.flatMap((name) =>
  examples.filter(({ query }) => operationName(query) === name),
).map((example) => ({ query: example.query, variables: variablesText(origins.fill(example)) }));

/**
 * What the editors show at first: the tab that was open before, otherwise the first example. GraphiQL
 * itself takes the operation from a stored tab, but the variables only from where it stores edited ones.
 */
function firstShown() {
  try {
    const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem("graphiql:tabState"));
    const { query, variables } = tabs[activeTabIndex];
    return { query: query ?? "", variables: variables ?? "" };
  } catch {
    return firstExamples[0] ?? { query: "", variables: "" };
  }
}
const shown = firstShown();

createRoot(byId("graphiql")).render(
  <GraphiQL
    fetcher={fetcher}
    plugins={PLUGINS}
    visiblePlugin={EXAMPLES_PLUGIN}
    defaultTabs={firstExamples}
    initialQuery={shown.query}
    initialVariables={shown.variables}
    defaultEditorToolsVisibility="variables"
    showPersistHeadersSettings={false}
  >
    <GraphiQL.Logo>GraphiQL</GraphiQL.Logo>
    <FollowToken />
    <FollowSystem />
    <FollowTab />
    <FollowOrigins />
  </GraphiQL>,
);
activateViews();
token.loadOffered("explorer/tokens.json");
