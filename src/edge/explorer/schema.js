/** The schema from introspection. */

/** Seven levels suffice for `[[T!]!]!`; the specification's own query has as many. */
const TYPE_REFERENCE = `fragment TypeReference on __Type {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } }
}`;

const INTROSPECTION = `query Introspection {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    directives { name description args { ...Input } }
    types {
      kind name description
      fields(includeDeprecated: true) {
        name description isDeprecated deprecationReason
        args { ...Input } type { ...TypeReference }
      }
      inputFields { ...Input }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
      interfaces { ...TypeReference }
      possibleTypes { ...TypeReference }
    }
  }
}
fragment Input on __InputValue { name description defaultValue type { ...TypeReference } }
${TYPE_REFERENCE}`;

/** The introspection request from whose response a `Schema` is made. */
export const introspectionRequest = { query: INTROSPECTION, operationName: "Introspection" };

const INTROSPECTION_OFF =
  "Introspection is off, so there is no documentation and no completion. To turn it on, set " +
  "`introspection = true` in the gateway's configuration file, or `DOCGATE_INTROSPECTION=true` in " +
  "its environment, and start it again. Operations and examples work without it.";

/** Why there is no schema, as a short and a long text. The gateway's own reason names a setting. */
export function whyNoSchema(reason) {
  return reason.includes("`introspection`")
    ? { short: "introspection is off", long: INTROSPECTION_OFF }
    : { short: "no schema", long: `The gateway doesn't tell its schema: ${reason}` };
}

/** The named type inside all lists and non-nulls. */
export function namedType(reference) {
  let type = reference;
  while (type.ofType) type = type.ofType;
  return type.name;
}

/** The type in GraphQL notation, such as `[Product!]!`. */
export function typeText(reference) {
  if (reference.kind === "NON_NULL") return `${typeText(reference.ofType)}!`;
  if (reference.kind === "LIST") return `[${typeText(reference.ofType)}]`;
  return reference.name;
}

/** Whether an argument or input field is required. */
export const isRequired = (input) => input.type.kind === "NON_NULL" && input.defaultValue === null;

/** The types by name, and the three root types. */
export class Schema {
  constructor({ __schema: schema }) {
    this.types = new Map(schema.types.map((type) => [type.name, type]));
    this.directives = schema.directives;
    this.roots = {
      query: schema.queryType?.name,
      mutation: schema.mutationType?.name,
      subscription: schema.subscriptionType?.name,
    };
  }

  type(name) {
    return this.types.get(name);
  }

  fields(typeName) {
    return this.type(typeName)?.fields ?? [];
  }

  field(typeName, fieldName) {
    return this.fields(typeName).find((field) => field.name === fieldName);
  }

  /** Whether a field of this type needs a selection set. */
  isComposite(typeName) {
    return ["OBJECT", "INTERFACE", "UNION"].includes(this.type(typeName)?.kind);
  }

  /** `query`, `mutation` or `subscription`, if the type is a root type. */
  rootKind(typeName) {
    return Object.keys(this.roots).find((kind) => this.roots[kind] === typeName);
  }

  /** All types except those of introspection. */
  ownTypes() {
    return [...this.types.values()].filter((type) => !type.name.startsWith("__"));
  }
}
