/**
 * The explorer: the page at the gateway's root. It loads nothing from other hosts and complies with
 * `default-src 'self'`. This file only connects the parts:
 *
 *     lexer -> highlight, completion        analysis of the text
 *     schema -> completion, documentation, skeleton
 *     editor, suggestions, response, examples, history, token, splitter    parts of the page
 *     origins                               values that examples take from the responses of others
 *     requests, storage                     network and browser storage
 */

import { completionsAt } from "./explorer/completion.js";
import { Documentation } from "./explorer/documentation.js";
import { activateTabs, byId, element } from "./explorer/dom.js";
import { Editor } from "./explorer/editor.js";
import { ExampleList, loadExamples, variablesText } from "./explorer/examples.js";
import { highlightGraphql, highlightJson } from "./explorer/highlight.js";
import { History } from "./explorer/history.js";
import { operations } from "./explorer/lexer.js";
import { NotInAnswer, operationName, originList, Origins } from "./explorer/origins.js";
import { post, Subscription } from "./explorer/requests.js";
import { ResponseView } from "./explorer/response.js";
import { introspectionRequest, Schema, whyNoSchema } from "./explorer/schema.js";
import { skeleton } from "./explorer/skeleton.js";
import { activateSplitter } from "./explorer/splitter.js";
import { kept, operationOfAddress, shareOperation } from "./explorer/storage.js";
import { Suggestions } from "./explorer/suggestions.js";
import { Token } from "./explorer/token.js";
import { activateViews, showView } from "./explorer/views.js";

const endpoint = new URL("graphql", document.baseURI).href;

/** The schema, once it is loaded. */
let schema;
/** The running request: an object with `stop()`. */
let running;
/** The editors' content when they were last filled or run. Anything else was written by hand. */
let known = { query: "", variables: "" };
/** The values that examples take from responses. */
let origins = new Origins([]);

const query = new Editor(byId("query-editor"), {
  label: "GraphQL operation",
  describedBy: "editor-help",
  placeholder: "# Write an operation, or choose an example",
  highlight: highlightGraphql,
  comment: "#",
  onChange: onEdit,
});
const variables = new Editor(byId("variables-editor"), {
  label: "Variables, as JSON",
  describedBy: "editor-help",
  placeholder: "{ }",
  highlight: highlightJson,
  onChange: onEdit,
});
new Suggestions(query, (text, offset) =>
  schema ? completionsAt(schema, text, offset) : { from: offset, to: offset, offers: [] },
);
const response = new ResponseView({
  status: byId("status"),
  body: byId("response"),
  copy: byId("copy"),
  onLocation: (place) => {
    showView("editor");
    query.goTo(place);
  },
});
const examples = new ExampleList(byId("examples"), { onChoose: chooseExample });
const history = new History(byId("history"), { onChoose: open });
const documentation = new Documentation(byId("documentation"), {
  onTry: (kind, field) => {
    const made = skeleton(schema, kind, field);
    open({ query: made.query, variables: variablesText(made.variables) });
  },
  onReload: loadSchema,
});
const token = new Token({ onChange: () => schema || loadSchema() });

/** Puts an operation into the editors. Text written by hand is moved to the history. */
function fill(operation) {
  const written = { query: query.text, variables: variables.text };
  const isOwn = written.query !== known.query || written.variables !== known.variables;
  if (isOwn && written.query.trim()) history.add({ ...written, outcome: "draft" });
  known = { query: operation.query, variables: operation.variables ?? "" };
  query.text = known.query;
  variables.text = known.variables;
  chooseOperation(operation.operationName);
}

/** Puts an operation into the editors and shows them. */
function open(operation) {
  fill(operation);
  showView("editor");
}

function chooseExample(example, { isClicked }) {
  fill({ query: example.query, variables: variablesText(origins.fill(example)) });
  // The first example is chosen when the list arrives; by then the user may have switched views.
  if (isClicked) showView("editor");
  if (example.from) byId("tab-variables").click();
  if (example.role) token.useFor(example.role);
}

/** Shows which variables of an example come from responses. */
function drawOrigins() {
  const all = origins.of(examples.matching(query.text));
  byId("variables-origins").replaceChildren(originList(all, readVariables().value));
}

function onEdit() {
  chooseOperation(byId("operation").value);
  const fault = readVariables().fault ?? "";
  byId("variables-fault").textContent = fault;
  byId("variables-fault").hidden = !fault;
  drawOrigins();
  byId("variables-mark").hidden = !variables.text.trim();
  byId("variables-mark").classList.toggle("faulty", Boolean(fault));
  if (query.text !== known.query) examples.clearChoice();
  kept.write("draft", { query: query.text, variables: variables.text });
}

/** `{value}`, or `{fault}` with a message if the text isn't a JSON object. */
function readVariables() {
  const text = variables.text.trim();
  if (!text) return { value: undefined };
  try {
    const value = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { value } : { fault: 'Variables are a JSON object: {"name": value}.' };
  } catch (error) {
    return { fault: `Not JSON yet: ${error.message}` };
  }
}

/** Offers the document's operations if there are several, and keeps the chosen name if it exists. */
function chooseOperation(name) {
  const choice = byId("operation");
  const named = operations(query.text).filter((operation) => operation.name);
  const options = named.map((operation) =>
    element("option", { value: operation.name }, `${operation.kind} ${operation.name}`),
  );
  choice.replaceChildren(...options);
  if (named.some((operation) => operation.name === name)) choice.value = name;
  byId("operation-choice").hidden = named.length < 2;
}

/** The operation that Run executes, as the lexer sees it. */
function chosenOperation() {
  const all = operations(query.text);
  return all.find(({ name }) => name !== undefined && name === byId("operation").value) ?? all[0];
}

function run() {
  if (running) return stop();
  const { value, fault } = readVariables();
  if (fault) {
    byId("tab-variables").click();
    variables.focus();
    return undefined;
  }
  if (!query.text.trim()) return query.focus();
  known = { query: query.text, variables: variables.text };
  query.markLines([]);
  showView("response");
  return execute(chosenOperation(), value);
}

function remember(request, outcome) {
  history.add({ ...known, operationName: request.operationName, outcome });
}

async function execute(operation, value) {
  const abort = new AbortController();
  const request = { query: query.text, variables: value, operationName: operation?.name };
  setRunning({ stop: () => abort.abort() });
  response.showWaiting("Waiting…");
  try {
    request.variables = await obtain(request, abort.signal);
    if (operation?.kind === "subscription") return subscribe(request);
    await send(request, abort.signal);
  } catch (error) {
    showFailure(request, error);
  }
  return setRunning(undefined);
}

/** Fills in the variables that an example takes from responses, in the editor too. */
async function obtain({ query: text, variables: given }, signal) {
  const ask = (source, filled) => runFirst(source, filled, signal);
  const whole = await origins.obtain(examples.matching(text), given, ask);
  const isEdited = query.text !== known.query || variables.text !== known.variables;
  if (whole !== given && !isEdited) {
    known.variables = variablesText(whole);
    variables.text = known.variables;
  }
  return whole;
}

/** Runs an example whose response another example needs. */
async function runFirst(example, filled, signal) {
  response.showWaiting(`First “${example.title}”…`);
  const operation = operationName(example.query);
  const request = { query: example.query, variables: filled, operationName: operation };
  const answer = await post(endpoint, request, token.valueFor(example.role), signal);
  history.add({
    query: example.query,
    variables: variablesText(filled),
    operationName: operation,
    outcome: outcomeOf(answer),
  });
  return answer;
}

async function send(request, signal) {
  const answer = await post(endpoint, request, token.value, signal);
  const data = answer.body?.data;
  origins.remember(request.operationName, { data, variables: request.variables });
  response.showAnswer(answer, { operation: request.query });
  if (isRefused(data)) renewVariables(request);
  remember(request, outcomeOf(answer));
  const errors = answer.body?.errors ?? [];
  const lines = errors.flatMap(({ locations }) => locations ?? []).map(({ line }) => line);
  if (query.text === request.query) query.markLines(lines);
}

/** Whether a mutation was refused. */
const isRefused = (data) => Object.values(data ?? {}).some((answer) => answer?.code);

/** After a refusal: takes values of things that have ended out of the editor. */
function renewVariables(request) {
  const isEdited = query.text !== request.query || variables.text !== known.variables;
  const renewed = origins.renew(examples.matching(request.query), request.variables);
  if (isEdited || renewed === request.variables) return drawOrigins();
  known.variables = variablesText(renewed);
  variables.text = known.variables;
  return undefined;
}

const outcomeOf = ({ status, body }) =>
  status >= 400 || body?.errors?.length > 0 ? "errors" : "ok";

/** Shows why the operation has no response. */
function showFailure(request, error) {
  if (error instanceof NotInAnswer)
    return response.showAnswer(error.answer, { note: error.message });
  const isStopped = error.name === "AbortError";
  response.showFailure(
    isStopped
      ? "Stopped. The gateway may carry out a mutation all the same."
      : `The gateway can't be reached: ${error.message}`,
  );
  return remember(request, isStopped ? "stopped" : "errors");
}

function subscribe(request) {
  response.startEvents({ operation: request.query });
  remember(request, "started");
  const subscription = new Subscription(endpoint, request, token.value, {
    onLive: () => response.showLive(),
    onEvent: (result) => response.addEvent(result),
    onEnd: (end) => {
      response.endEvents(end);
      setRunning(undefined);
    },
  });
  setRunning({
    stop: () => {
      subscription.stop();
      response.endEvents({ isFault: false, reason: "Stopped" });
      setRunning(undefined);
    },
  });
}

function stop() {
  running?.stop();
}

function setRunning(next) {
  running = next;
  byId("run").classList.toggle("is-running", Boolean(next));
  byId("run-label").textContent = next ? "Stop" : "Run";
}

async function loadSchema() {
  const state = byId("schema-state");
  documentation.showNotice("Loading the schema…");
  try {
    const { status, body } = await post(endpoint, introspectionRequest, token.value);
    if (!body?.data?.__schema)
      throw new Error(body?.errors?.[0]?.message ?? `it answered ${status}`);
    schema = new Schema(body.data);
    documentation.showSchema(schema);
    state.className = "schema-state good";
    state.title = "";
    state.textContent = `${schema.ownTypes().length} types`;
  } catch (error) {
    schema = undefined;
    const { short, long } = whyNoSchema(error.message);
    documentation.showNotice(long, true);
    state.className = "schema-state fault";
    state.textContent = short;
    state.title = long.replaceAll("`", "");
  }
}

async function share() {
  const address = shareOperation({ query: query.text, variables: variables.text });
  try {
    await navigator.clipboard.writeText(address);
    toast("Link copied. It holds the operation and its variables, not the token.");
  } catch {
    toast(
      "The link is in the address bar. It holds the operation and its variables, not the token.",
    );
  }
}

function toast(text) {
  const note = byId("toast");
  note.textContent = text;
  note.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => (note.hidden = true), 4000);
}

function activatePage() {
  byId("endpoint").textContent = endpoint;
  document.querySelectorAll("[role=tablist]").forEach(activateTabs);
  activateViews();
  byId("run").addEventListener("click", run);
  byId("share").addEventListener("click", share);
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!running) run();
  });
  addEventListener("hashchange", () => {
    const linked = operationOfAddress();
    if (linked) open(linked);
  });
  activateSplitters();
}

function activateSplitters() {
  const width = (selector) => () => document.querySelector(selector).getBoundingClientRect().width;
  activateSplitter(byId("split-side"), {
    property: "--side-width",
    measure: width(".side"),
    direction: 1,
    least: 200,
    most: () => innerWidth * 0.4,
  });
  activateSplitter(byId("split-response"), {
    property: "--response-width",
    measure: width(".response"),
    direction: -1,
    least: 260,
    most: () => innerWidth * 0.6,
  });
  activateSplitter(byId("split-inputs"), {
    property: "--inputs-height",
    measure: () => document.querySelector(".inputs").getBoundingClientRect().height,
    direction: -1,
    least: 90,
    most: () => innerHeight * 0.6,
  });
}

async function start() {
  activatePage();
  loadSchema();
  token.loadOffered("explorer/tokens.json");
  const opened = operationOfAddress() ?? kept.read("draft", undefined);
  // An operation from a link or a draft is never run automatically, because it may be a mutation.
  if (opened?.query?.trim()) fill(opened);
  const loaded = await loadExamples("explorer/examples.json");
  origins = new Origins(loaded);
  examples.show(loaded);
  drawOrigins();
  if (!query.text) examples.chooseFirst();
}

start();
