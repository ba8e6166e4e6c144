//! What is written is what bench/schema.json describes, nothing more and nothing less.
//!
//! The validator below knows the words that the schema uses, and panics at any other, so that
//! none is taken for granted.

use serde_json::Value;

use super::{example, raw};

/// The words of JSON Schema that say nothing of a value.
const ANNOTATIONS: [&str; 4] = ["$schema", "$defs", "title", "description"];

struct Schema(Value);

impl Schema {
    fn read() -> Self {
        Schema(serde_json::from_str(include_str!("../../../../bench/schema.json")).unwrap())
    }

    /// Everything in `value` that `schema` forbids.
    fn errors(&self, schema: &Value, value: &Value, path: &str) -> Vec<String> {
        let mut errors = Vec::new();
        let mut forbid = |wrong: bool, what: &str| {
            if wrong {
                errors.push(format!("{path}: {what}: {value}"));
            }
        };
        let mut inner = Vec::new();
        for (word, rule) in schema.as_object().expect("a schema is an object") {
            match &word[..] {
                "const" => forbid(value != rule, "another constant"),
                "enum" => forbid(!rule.as_array().unwrap().contains(value), "not in the list"),
                "type" => {
                    let types = match rule {
                        Value::Array(types) => types.iter().collect(),
                        one => vec![one],
                    };
                    let is = |name: &&Value| has_type(value, name.as_str().unwrap());
                    forbid(!types.iter().any(is), "of another type");
                }
                "minimum" => {
                    forbid(value.as_f64().is_some_and(|v| v < rule.as_f64().unwrap()), "too small");
                }
                "maximum" => {
                    forbid(value.as_f64().is_some_and(|v| v > rule.as_f64().unwrap()), "too large");
                }
                "exclusiveMinimum" => {
                    forbid(
                        value.as_f64().is_some_and(|v| v <= rule.as_f64().unwrap()),
                        "too small",
                    );
                }
                // The one pattern is that of dates, whose writer has tests of its own.
                "pattern" => forbid(value.as_str().is_none_or(|text| text.len() != 20), "no date"),
                "required" => {
                    let missing = |name: &&Value| value.get(name.as_str().unwrap()).is_none();
                    let missing = rule.as_array().unwrap().iter().find(missing);
                    forbid(missing.is_some(), &format!("without {missing:?}"));
                }
                "$ref" => {
                    let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    inner.extend(self.errors(&self.0["$defs"][name], value, path));
                }
                "oneOf" => {
                    let fits = |one: &&Value| self.errors(one, value, path).is_empty();
                    let count = rule.as_array().unwrap().iter().filter(fits).count();
                    forbid(count != 1, &format!("fits {count} alternatives"));
                }
                "properties" | "additionalProperties" => {}
                "items" | "prefixItems" => {}
                other => assert!(ANNOTATIONS.contains(&other), "unknown word {other}"),
            }
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            match (
                schema.get("properties").and_then(|p| p.get(name)),
                &schema["additionalProperties"],
            ) {
                (Some(rule), _) => inner.extend(self.errors(rule, member, &path)),
                (None, Value::Bool(false)) => inner.push(format!("{path}: not in the schema")),
                (None, rule @ Value::Object(_)) => inner.extend(self.errors(rule, member, &path)),
                (None, _) => {}
            }
        }
        for (i, item) in value.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}/{i}");
            match (schema.get("prefixItems").and_then(|p| p.get(i)), &schema["items"]) {
                (Some(rule), _) => inner.extend(self.errors(rule, item, &path)),
                (None, Value::Bool(false)) => inner.push(format!("{path}: not in the schema")),
                (None, rule @ Value::Object(_)) => inner.extend(self.errors(rule, item, &path)),
                (None, _) => {}
            }
        }
        errors.extend(inner);
        errors
    }

    /// What is wrong with a whole record.
    fn check(&self, value: &impl serde::Serialize) -> Vec<String> {
        let value = serde_json::to_value(value).unwrap();
        // By its kind, so that an error says more than that no alternative fits.
        let kind = value["kind"].as_str().unwrap_or("setup").to_owned();
        let mut errors = self.errors(&self.0["$defs"][&kind], &value, &kind);
        errors.extend(self.errors(&self.0, &value, ""));
        errors
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn records_are_as_the_schema_says() {
    let schema = Schema::read();
    let (plan, logs) = example::plan_and_logs();
    let summary = example::summary();
    assert_eq!(schema.check(&summary), [""; 0]);
    assert_eq!(schema.check(&summary.setup), [""; 0]);
    assert_eq!(schema.check(&raw(&plan, &logs)), [""; 0]);
    let mut bare = example::summary();
    bare.setup.clock = None;
    bare.setup.hardware.memory_bytes = None;
    bare.results.iter_mut().for_each(|measured| measured.clock_hz = None);
    bare.arm = Some(super::arm::count(None, &plan));
    bare.not_measured.insert("suite/part/2/ours".into(), "disturbed".into());
    assert_eq!(schema.check(&bare), [""; 0]);
}

#[test]
fn the_schema_forbids_what_it_does_not_know() {
    let schema = Schema::read();
    let good = serde_json::to_value(example::summary()).unwrap();
    let spoilt = |spoil: fn(&mut Value)| {
        let mut value = good.clone();
        spoil(&mut value);
        !schema.check(&value).is_empty()
    };
    assert!(!spoilt(|_| ()));
    assert!(spoilt(|v| v["schema_version"] = 2.into()));
    assert!(spoilt(|v| v["extra"] = 1.into()));
    assert!(spoilt(|v| v["kind"] = "setup".into()));
    assert!(spoilt(|v| v["setup"]["date"] = "today".into()));
    assert!(spoilt(|v| v["results"][0]["samples"]["kept"] = (-1).into()));
    assert!(spoilt(|v| v["results"][0]["metrics"]["speed"] = Value::Null));
    assert!(spoilt(|v| v["results"][0]["metrics"]["gb_per_s"]["median"] = "fast".into()));
    assert!(spoilt(|v| drop(v["results"][0].as_object_mut().unwrap().remove("unit"))));
    let (plan, logs) = example::plan_and_logs();
    let mut raw = serde_json::to_value(raw(&plan, &logs)).unwrap();
    assert!(schema.check(&raw).is_empty());
    raw["groups"][0]["contenders"][0]["samples"][0][4] = "x".into();
    assert!(!schema.check(&raw).is_empty());
}

/// Every metric that the program knows is described, and no other.
#[test]
fn metrics_are_described() {
    let schema = Schema::read();
    let results = &schema.0["$defs"]["summary"]["properties"]["results"];
    let described = results["items"]["properties"]["metrics"]["properties"].as_object().unwrap();
    let mut described: Vec<&str> = described.keys().map(String::as_str).collect();
    let mut known = super::model::Metric::ALL.map(super::model::Metric::name);
    described.sort_unstable();
    known.sort_unstable();
    assert_eq!(described, known);
    for metric in super::model::Metric::ALL {
        assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
    }
}
