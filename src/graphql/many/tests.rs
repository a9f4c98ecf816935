use serde_json::json;

use super::{super::bulk::bulk_input, *};

bulk_input! {
    /// An element.
    pub struct Thing: Element {
        /// A time.
        pub at: Option<DateTime>,
        /// A text.
        pub own_name: String,
        /// A number.
        pub number: Option<i32>,
        /// A larger number.
        pub long: Option<Long>,
    }
}

const THINGS: Bulk = Bulk::of::<Thing>();

fn things(value: Value) -> Many<Thing> {
    InputType::parse(Some(value)).expect("a list")
}

#[test]
fn a_parsed_list_is_that_of_its_values() {
    for text in [
        r#"[{"ownName":""}]"#,
        r#"[ {"number" : -1 ,"ownName":"\u00e4\n\"\ud83e\udd80\u0000\/"} , {"ownName":"ä🦀"} ]"#,
        r#"[{"at":null,"ownName":"a","number":null,"long":null}]"#,
        r#"[{"long":9007199254740993,"number":2147483647,"at":"2026-01-31T12:00:00.5+01:00","ownName":"a"}]"#,
        r#"[{"own\u004eame":"a","number":-2147483648,"long":-9223372036854775808}]"#,
    ] {
        let whole = format!("{text}}} ,[");
        let list = THINGS.read(whole.as_bytes(), 100).expect(text);
        assert_eq!(list.length, text.len(), "{text}");
        let value: Value = serde_json::from_str(text).expect("JSON");
        let (parsed, usual) = (things(list.value.clone()), things(value.clone()));
        assert_eq!(parsed.to_value(), usual.to_value(), "{text}");
        // The digests of keys are made of these.
        assert_eq!(json!(parsed), json!(usual), "{text}");
        assert_eq!(json!(parsed), json!(usual.to_vec()), "{text}");
        let mut variables = Variables::default();
        variables.insert(Name::new("kept"), list.value.clone());
        variables.insert(Name::new("list"), list.value);
        expand(&mut variables, |name, text| name.as_str() == "kept" && is_of(text, "Thing"));
        assert!(matches!(variables["kept"], Value::Binary(_)));
        assert_eq!(variables["list"], value, "{text}");
    }
}

#[test]
fn what_doesnt_fit_is_left_to_the_usual_parser() {
    let of = |field: &str| format!(r#"[{{"ownName":"a"}},{{"ownName":"a",{field}}}]"#);
    let fields = [
        r#""more":1"#,
        r#""ownName":"b""#,
        r#""own_name":"b""#,
        r#""$serde_json::private::RawValue":"1""#,
        r#""number":2147483648"#,
        r#""number":1.0"#,
        r#""number":1e2"#,
        r#""number":-0"#,
        r#""number":01"#,
        r#""number":"1""#,
        r#""number":true"#,
        r#""long":9223372036854775808"#,
        r#""long":"5""#,
        r#""at":"yesterday""#,
        r#""at":5"#,
        r#""at":"0000-01-01T00:00:00+01:00""#,
        r#""at":{"$date":"2026-01-31T12:00:00Z"}"#,
    ];
    let wholes = [
        "",
        "[]",
        "[{}]",
        "[null]",
        r#"{"ownName":"a"}"#,
        r#"[{"ownName":null}]"#,
        r#"[{"ownName":1}]"#,
        r#"[{"ownName":["a"]}]"#,
        r#"[{"ownName":"\ud800"}]"#,
        "[{\"ownName\":\"\n\"}]",
        r#"[[null,"a",1,2]]"#,
        r#"[[{"ownName":"a"}]]"#,
        r#"[{"ownName":"a"},null]"#,
        r#"[{"ownName":"a"},]"#,
        r#"[{"ownName":"a"}"#,
    ];
    for text in fields.map(of).iter().map(String::as_str).chain(wholes) {
        assert!(THINGS.read(text.as_bytes(), 100).is_none(), "{text}");
    }
    assert!(THINGS.read(b"[{\"ownName\":\"\xff\"}]", 100).is_none());
}

#[test]
fn a_list_has_a_limit_and_ends_with_its_text() {
    let text = format!("[{}]", vec![r#"{"ownName":"a"}"#; 20].join(","));
    assert!(THINGS.read(text.as_bytes(), 99).is_none());
    let ParsedList { value, values, .. } = THINGS.read(text.as_bytes(), 100).expect("a list");
    assert_eq!(values, 100);
    let Value::Binary(list) = &value else { panic!("a text") };
    assert!(is_of(list, "Thing") && !is_of(list, "Other"));
    let (first, second) = (things(value.clone()), things(value.clone()));
    assert!(Arc::ptr_eq(&first.0, &second.0));
    drop((second, value));
    assert_eq!(Arc::strong_count(&first.0), 1);
    // A text that nobody has parsed is no list.
    let unknown = Value::Binary(Bytes::from(text));
    assert!(<Many<Thing> as InputType>::parse(Some(unknown)).is_err());
}

#[test]
fn the_schema_has_a_plain_list() {
    let [mut registry, mut usual] = [Registry::default(), Registry::default()];
    let name = <Many<Thing> as InputType>::create_type_info(&mut registry);
    assert_eq!(name, <Vec<Thing> as InputType>::create_type_info(&mut usual));
    assert_eq!(name, "[Thing!]!");
    let names = |registry: &Registry| registry.types.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&registry), names(&usual));
}
