//! JSON Schema (draft 2020-12) of scenario files, generated from the declarations, for editors that check TOML while it is typed.
//!
//! The schema covers types, keys, choices and the notation of numbers with units. Only [`super::Study::parse`] checks
//! contradictions and the ranges of values that are texts.

use super::declare::{
    Bearer, Cell, CellUplink, Expect, Filter, Flow, HOPS_MAX, Hop, Path, QosFlow, Run, Scell, Settings,
    Slice, TABLES, TOP, Ue,
};
use super::origin;
use super::values::{ComponentKind, KINDS};
use qdelay_config::value::{describe_schema, plain_schema};
use qdelay_config::{Key, Table};
use qdelay_core::component::{Component, Parameter};
use serde_json::{Map, Value, json};

/// The schema.
pub fn schema() -> Value {
    let mut properties = Map::new();
    // `TOP` has the order of the documentation.
    for (name, about) in TOP {
        let mut part = match *name {
            "title" | "about" => json!({ "type": "string" }),
            "path" => path(),
            "cell" => cell(),
            "flow" => json!({ "type": "array", "minItems": 1, "items": table(Flow::TABLE) }),
            "run" => table(Run::TABLE),
            "matrix" => matrix(),
            "fallback" => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            "origin" => origin(),
            _ => json!({ "type": "array", "items": expect() }),
        };
        part["description"] = json!(about);
        properties.insert((*name).to_string(), part);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "qdelay scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["flow"],
        "properties": properties,
        "$defs": definitions(),
    })
}

/// Definitions that tables and axes refer to: the kinds of component, and each key.
fn definitions() -> Value {
    let mut all = Map::new();
    for kind in KINDS {
        all.insert(kind.0.to_string(), component(kind));
    }
    for table in TABLES.into_iter().filter(|table| table.name != Expect::TABLE.name) {
        for key in table.keys {
            all.insert(key.path.to_string(), key.schema());
        }
    }
    all.insert("axis".to_string(), json!({ "type": "array", "minItems": 1 }));
    Value::Object(all)
}

/// Text of the committed schema file.
pub fn text() -> String {
    crate::results::pretty(&schema())
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn table(table: &Table) -> Value {
    object(table.keys.iter().map(|key| (key.parameter.name.to_string(), reference(key))).collect())
}

/// Schema of `[path]` with its hops.
fn path() -> Value {
    let mut path = table(Path::TABLE);
    path["properties"]["hop"] = json!({
        "type": "array", "minItems": 1, "maxItems": HOPS_MAX, "items": table(Hop::TABLE), "description": Hop::TABLE.about,
    });
    path
}

/// Schema of `[cell]` with its UEs, their bearers, and the QoS flows of bearers.
fn cell() -> Value {
    let below = |outer: &Table, name: &str, inner: Value| {
        let mut schema = table(outer);
        schema["properties"][name] = json!({ "type": "array", "minItems": 1, "items": inner });
        schema
    };
    let mut qos_flow = table(QosFlow::TABLE);
    qos_flow["required"] = json!(["qfi"]);
    let mut filter = table(Filter::TABLE);
    filter["required"] = json!(["precedence"]);
    let mut bearer = below(Bearer::TABLE, "qos_flow", qos_flow);
    bearer["properties"]["filter"] = json!({ "type": "array", "minItems": 1, "items": filter });
    let mut cell = below(Cell::TABLE, "ue", below(Ue::TABLE, "bearer", bearer));
    let mut slice = table(Slice::TABLE);
    slice["required"] = json!(["name"]);
    cell["properties"]["slice"] = json!({ "type": "array", "minItems": 1, "items": slice });
    cell["properties"]["scell"] = json!({ "type": "array", "minItems": 1, "items": table(Scell::TABLE) });
    cell["properties"]["uplink"] = table(CellUplink::TABLE);
    cell["properties"]["uplink"]["description"] = json!(CellUplink::TABLE.about);
    cell
}

/// Schema of `[origin]`.
fn origin() -> Value {
    let word = |key: &str| match key {
        "records" => json!({ "type": "array", "items": { "enum": origin::RECORDS } }),
        _ => json!({ "type": "string" }),
    };
    object(origin::keys().into_iter().map(|key| (key.to_string(), word(key))).collect())
}

fn reference(key: &Key) -> Value {
    json!({ "$ref": format!("#/$defs/{}", key.path) })
}

/// Schema of a component: text that begins with its name, or a table whose only key is its name.
fn component((kind, registry): &ComponentKind) -> Value {
    let registry = registry();
    let names: Vec<&str> = registry.iter().map(|component| component.name).collect();
    let mut texts = names.join("|");
    if *kind == "link" {
        texts += "|infinite|[0-9.]+[A-Za-z]+";
    }
    let about: Vec<String> =
        registry.iter().map(|component| format!("{}: {}", component.name, component.about)).collect();
    let mut forms = vec![json!({
        "type": "string",
        "pattern": format!("^({texts})(:.+)?$"),
        "description": format!("name[:key=value...]. {}", about.join("; ")),
    })];
    forms.extend(registry.iter().map(|component| tagged(component)));
    json!({ "anyOf": forms })
}

fn tagged(component: &Component) -> Value {
    let parameter = |parameter: &Parameter| {
        let mut value = plain_schema(parameter);
        describe_schema(&mut value, parameter);
        (parameter.name.to_string(), value)
    };
    let mut inner = object(component.parameters.iter().map(parameter).collect());
    inner["description"] = json!(component.about);
    let mut outer = Map::new();
    outer.insert(component.name.to_string(), inner);
    let mut outer = object(outer);
    outer["required"] = json!([component.name]);
    outer
}

/// Tables whose keys are axes, and variants.
fn matrix() -> Value {
    let axes = |table: &Table| varied(table, |key| points(reference(key)));
    let settings = |table: &Table| varied(table, reference);
    let named = |keys: Map<String, Value>, about: &str| {
        let mut every = object(keys.clone());
        every["additionalProperties"] = object(keys);
        every["additionalProperties"]["description"] = json!(about);
        every
    };
    let with_flows = |keys: Map<String, Value>| named(keys, "one flow, by its name");
    let of_path = |keys: &dyn Fn(&Table) -> Map<String, Value>| {
        let mut path = object(keys(Path::TABLE));
        path["properties"]["hop"] = named(keys(Hop::TABLE), "one hop, by its name");
        path
    };
    let of_cell = |keys: &dyn Fn(&Table) -> Map<String, Value>| {
        let mut cell = object(keys(Cell::TABLE));
        cell["properties"]["uplink"] = object(keys(CellUplink::TABLE));
        cell["properties"]["ue"] = named(keys(Ue::TABLE), "one UE, by its name");
        cell["properties"]["bearer"] = named(keys(Bearer::TABLE), "the bearers of one name");
        cell["properties"]["scell"] = named(keys(Scell::TABLE), "one secondary cell, by its name");
        cell["properties"]["slice"] = named(keys(Slice::TABLE), "one slice, by its name");
        cell
    };
    // Quoted keys such as "path.qdisc" are accepted by pattern: the schema cannot look inside a name.
    let variant = json!({
        "type": "object",
        "required": ["label"],
        "additionalProperties": false,
        "properties": {
            "label": { "type": "string", "minLength": 1 },
            "path": of_path(&settings),
            "cell": of_cell(&settings),
            "flow": with_flows(settings(Flow::TABLE)),
            "run": object(settings(Run::TABLE)),
        },
        "patternProperties": { r"^(path|cell|flow|run)\..+$": {} },
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": of_path(&axes),
            "cell": of_cell(&axes),
            "flow": with_flows(axes(Flow::TABLE)),
            "run": object(axes(Run::TABLE)),
            "variant": { "type": "array", "minItems": 1, "items": variant },
        },
        "patternProperties": { r"^(path|cell|flow|run)\..+$": { "$ref": "#/$defs/axis" } },
    })
}

fn varied(table: &Table, schema: impl Fn(&Key) -> Value) -> Map<String, Value> {
    let keys = table.keys.iter().filter(|key| !key.is_fixed);
    keys.map(|key| (key.parameter.name.to_string(), schema(key))).collect()
}

/// An array of values, each with a label or without.
fn points(value: Value) -> Value {
    let labelled = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["value"],
        "properties": { "label": { "type": "string", "minLength": 1 }, "value": value },
    });
    json!({ "type": "array", "minItems": 1, "items": { "anyOf": [value, labelled] } })
}

fn expect() -> Value {
    let keys = Expect::TABLE.keys.iter().map(|key| (key.name().to_string(), key.schema()));
    let mut schema = object(keys.collect());
    schema["required"] = json!(["claim", "measure"]);
    schema["anyOf"] = json!([{ "required": ["low"] }, { "required": ["high"] }]);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_key_and_component() {
        let schema = schema();
        for (name, _) in TOP {
            assert!(schema["properties"][name]["description"].is_string(), "{name}");
        }
        for table in [Path::TABLE, Cell::TABLE, Run::TABLE] {
            for name in table.names() {
                assert!(schema["properties"][table.name]["properties"][name].is_object(), "{name}");
            }
        }
        for (name, registry) in KINDS {
            let forms = schema["$defs"][name]["anyOf"].as_array().unwrap();
            assert_eq!(forms.len(), 1 + registry().len());
        }
        let target = &schema["$defs"]["qdisc"]["anyOf"].as_array().unwrap()[1..];
        let bode = target.iter().find(|form| form["required"][0] == "bode").unwrap();
        assert_eq!(
            bode["properties"]["bode"]["properties"]["target"]["description"]
                .as_str()
                .map(str::len)
                .map(|n| n > 10),
            Some(true)
        );
    }
}
