/**
 * GraphiQL for docgate. What is beside GraphiQL itself (the examples, the token and its field) is the
 * explorer's own code, so that both pages offer the same and share one token.
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
import { Token } from "../../src/edge/explorer/token.js";

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

/**
 * Sends an operation with the token of the field; one that is written among the headers wins. For a
 * subscription the headers become the payload of `connection_init`.
 */
function fetcher(request, options) {
  const written = options?.headers ?? {};
  const isWritten = Object.keys(written).some((name) => name.toLowerCase() === "authorization");
  const ours = token.value && !isWritten ? { Authorization: `Bearer ${token.value}` } : {};
  return send(request, { ...options, headers: { ...ours, ...written } });
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
    const open = ({ query, variables, role }) => {
      const [queryEditor, variableEditor] = current.current;
      if (queryEditor?.getValue().trim()) addTab();
      queryEditor?.setValue(query);
      variableEditor?.setValue(variablesText(variables));
      if (role) token.useFor(role);
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
    const { role } = examples.find((example) => example.query === query) ?? {};
    if (role) token.useFor(role);
  }, [id, query]);
}

/** The first example of each group, for a first visit. */
const firstExamples = examples
  .filter(({ group }, index) => examples.findIndex((other) => other.group === group) === index)
  .map(({ query, variables }) => ({ query, variables: variablesText(variables) }));
const [first] = firstExamples;
const isFirstVisit = !localStorage.getItem("graphiql:tabState");

createRoot(byId("graphiql")).render(
  <GraphiQL
    fetcher={fetcher}
    plugins={PLUGINS}
    visiblePlugin={EXAMPLES_PLUGIN}
    defaultTabs={firstExamples}
    initialQuery={isFirstVisit ? first.query : undefined}
    initialVariables={isFirstVisit ? first.variables : undefined}
    defaultEditorToolsVisibility="variables"
    showPersistHeadersSettings={false}
  >
    <GraphiQL.Logo>GraphiQL</GraphiQL.Logo>
    <FollowToken />
    <FollowSystem />
    <FollowTab />
  </GraphiQL>,
);
token.loadOffered("explorer/tokens.json");
