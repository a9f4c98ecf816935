// Imported before anything else: graphql and express look at NODE_ENV when they are loaded.
// Production is what they are measured in.
process.env.NODE_ENV ??= "production";
