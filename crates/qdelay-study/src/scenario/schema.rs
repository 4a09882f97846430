//! JSON Schema (draft 2020-12) of scenario files, made from the declarations: for editors that check TOML as it is typed.
//!
//! It knows types, keys, choices and the forms of numbers with units. What contradicts what, and the ranges of values
//! that are texts, only [`super::Study::parse`] knows.

use super::declare::{
    BEARER, CELL, EXPECT, FILTER, FLOW, Form, HOP, HOPS_MAX, Key, PATH, QOS_FLOW, RUN, SLICE, TOP, Table, UE,
};
use qdelay_core::component::{Component, Parameter, Unit};
use serde_json::{Map, Value, json};

const SPAN: &str = r"^(0|[0-9.]+(ns|us|ms|s|min|NS|US|MS|S|MIN))$";
const RATE: &str = r"^(0|infinite|[0-9.]+([kmgKMG]?[bB][iI][tT]))$";
const BYTES: &str = r"^[0-9.]+([kmKM]?[bB])?$";
const SWITCH: &[&str] = &["on", "off"];

/// The kinds of component that keys choose from.
const KINDS: [(&str, Form); 8] = [
    ("qdisc", Form::Qdisc),
    ("transport", Form::Transport),
    ("link", Form::Link),
    ("channel", Form::Channel),
    ("pacer", Form::Pacer),
    ("scheduler", Form::Scheduler),
    ("partition", Form::Partition),
    ("rlc", Form::Rlc),
];

/// The schema.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for (name, about) in TOP {
        let mut part = match *name {
            "title" | "about" => json!({ "type": "string" }),
            "path" => path(),
            "cell" => cell(),
            "flow" => json!({ "type": "array", "minItems": 1, "items": table(&FLOW) }),
            "run" => table(&RUN),
            "matrix" => matrix(),
            "fallback" => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
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

/// The kinds of component, and each key, which tables and axes refer to.
fn definitions() -> Value {
    let mut all = Map::new();
    for (name, form) in KINDS {
        all.insert(name.to_string(), component(form));
    }
    for table in [&PATH, &HOP, &CELL, &SLICE, &UE, &BEARER, &QOS_FLOW, &FILTER, &FLOW, &RUN] {
        for key in table.keys {
            all.insert(format!("{}.{}", table.name, key.parameter.name), value(key));
        }
    }
    all.insert("axis".to_string(), json!({ "type": "array", "minItems": 1 }));
    Value::Object(all)
}

/// The committed file's text.
pub fn text() -> String {
    crate::results::pretty(&schema())
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn table(table: &Table) -> Value {
    object(table.keys.iter().map(|key| (key.parameter.name.to_string(), reference(table, key))).collect())
}

/// `[path]` with its hops.
fn path() -> Value {
    let mut path = table(&PATH);
    path["properties"]["hop"] = json!({
        "type": "array", "minItems": 1, "maxItems": HOPS_MAX, "items": table(&HOP), "description": HOP.about,
    });
    path
}

/// `[cell]` with its UEs, their bearers, and the QoS flows of these.
fn cell() -> Value {
    let below = |outer: &Table, name: &str, inner: Value| {
        let mut schema = table(outer);
        schema["properties"][name] = json!({ "type": "array", "minItems": 1, "items": inner });
        schema
    };
    let mut qos_flow = table(&QOS_FLOW);
    qos_flow["required"] = json!(["qfi"]);
    let mut filter = table(&FILTER);
    filter["required"] = json!(["precedence"]);
    let mut bearer = below(&BEARER, "qos_flow", qos_flow);
    bearer["properties"]["filter"] = json!({ "type": "array", "minItems": 1, "items": filter });
    let mut cell = below(&CELL, "ue", below(&UE, "bearer", bearer));
    let mut slice = table(&SLICE);
    slice["required"] = json!(["name", "share"]);
    cell["properties"]["slice"] = json!({ "type": "array", "minItems": 1, "items": slice });
    cell
}

fn reference(table: &Table, key: &Key) -> Value {
    json!({ "$ref": format!("#/$defs/{}.{}", table.name, key.parameter.name) })
}

/// What one key takes.
fn value(key: &Key) -> Value {
    let parameter = &key.parameter;
    let mut value = match key.form {
        Form::Plain => plain(parameter),
        Form::Qdisc => json!({ "$ref": "#/$defs/qdisc" }),
        Form::Transport => json!({ "$ref": "#/$defs/transport" }),
        Form::Link => json!({ "$ref": "#/$defs/link" }),
        Form::Uplink => json!({ "anyOf": [
            { "const": "none" },
            { "type": "string", "description": "a rate, a link, or the name of a trace" },
            { "$ref": "#/$defs/link" },
        ] }),
        Form::Dscp => json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 63 },
            { "type": "string", "pattern": "^([0-9]+|[A-Za-z]+[0-9]*)$" },
        ] }),
        Form::Dscps => {
            let one = json!({ "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 63 },
                { "type": "string", "pattern": "^([0-9]+|[A-Za-z]+[0-9]*)$" },
            ] });
            json!({ "anyOf": [one, { "type": "array", "minItems": 1, "uniqueItems": true, "items": one }] })
        }
        Form::Seeds => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "integer", "minimum": 0 } },
            { "type": "string", "pattern": "^[0-9., =]+$" },
        ] }),
        Form::Series => json!({ "anyOf": [{ "const": "off" }, { "type": "string", "pattern": SPAN }] }),
        Form::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }),
        Form::Channel => json!({ "$ref": "#/$defs/channel" }),
        Form::Pacer => json!({ "$ref": "#/$defs/pacer" }),
        Form::Scheduler => json!({ "$ref": "#/$defs/scheduler" }),
        Form::Partition => json!({ "anyOf": [{ "const": "none" }, { "$ref": "#/$defs/partition" }] }),
        Form::Share | Form::Percent => json!({ "type": "string", "pattern": r"^[0-9.]+%$" }),
        Form::Rlc => json!({ "$ref": "#/$defs/rlc" }),
        Form::OptionalQdisc => json!({ "anyOf": [{ "const": "none" }, { "$ref": "#/$defs/qdisc" }] }),
        Form::OptionalLink => json!({ "anyOf": [{ "const": "none" }, { "$ref": "#/$defs/link" }] }),
        Form::Limit => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": r"^[0-9.]+([kmKM]?[bB])?$" },
        ] }),
        Form::Trace | Form::TraceFormat => json!({ "type": "string", "minLength": 1 }),
    };
    describe(&mut value, parameter);
    value
}

/// What a parameter takes, by its unit.
fn plain(parameter: &Parameter) -> Value {
    match parameter.unit {
        Unit::Span => json!({ "anyOf": [{ "type": "string", "pattern": SPAN }, { "const": 0 }] }),
        Unit::Rate => json!({ "anyOf": [{ "type": "string", "pattern": RATE }, { "const": 0 }] }),
        Unit::Bytes => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": BYTES },
        ] }),
        Unit::Count(_) => {
            let mut number = json!({ "type": "integer", "minimum": 0 });
            limits(&mut number, parameter);
            json!({ "anyOf": [number, { "type": "string", "pattern": "^[0-9]+$" }] })
        }
        Unit::Number => {
            let mut number = json!({ "type": "number" });
            limits(&mut number, parameter);
            json!({ "anyOf": [number, { "type": "string", "pattern": "^[-+0-9.eE]+$" }] })
        }
        Unit::Switch => json!({ "anyOf": [{ "type": "boolean" }, { "enum": SWITCH }] }),
        Unit::Choice(words) => json!({ "enum": words }),
        Unit::Text => json!({ "type": "string", "minLength": 1 }),
    }
}

/// The declared range, where it is numbers.
fn limits(schema: &mut Value, parameter: &Parameter) {
    for (limit, name) in [(parameter.min, "minimum"), (parameter.max, "maximum")] {
        if let Ok(limit) = limit.parse::<u64>() {
            schema[name] = json!(limit);
        } else if let Ok(limit) = limit.parse::<f64>() {
            schema[name] = json!(limit);
        }
    }
}

fn describe(schema: &mut Value, parameter: &Parameter) {
    let mut about = parameter.about.to_string();
    if !(parameter.min.is_empty() && parameter.max.is_empty()) {
        about += &format!(" Range: {}.", parameter.range());
    }
    schema["description"] = json!(about);
    schema["default"] = match (parameter.unit, parameter.default) {
        (_, "") => return,
        (Unit::Switch, default) => json!(default == "on"),
        (Unit::Count(_), default) => default.parse::<u64>().map_or(json!(default), |n| json!(n)),
        (Unit::Number, default) => default.parse::<f64>().map_or(json!(default), |n| json!(n)),
        (_, default) => json!(default),
    };
}

/// A component: text that begins with its name, or a table whose only key is its name.
fn component(form: Form) -> Value {
    let registry = form.registry().unwrap_or_default();
    let names: Vec<&str> = registry.iter().map(|component| component.name).collect();
    let mut texts = names.join("|");
    if form == Form::Link {
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
        let mut value = plain(parameter);
        describe(&mut value, parameter);
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
    let axes = |table: &Table| varied(table, |key| points(reference(table, key)));
    let settings = |table: &Table| varied(table, |key| reference(table, key));
    let named = |keys: Map<String, Value>, about: &str| {
        let mut every = object(keys.clone());
        every["additionalProperties"] = object(keys);
        every["additionalProperties"]["description"] = json!(about);
        every
    };
    let with_flows = |keys: Map<String, Value>| named(keys, "one flow, by its name");
    let of_path = |keys: &dyn Fn(&Table) -> Map<String, Value>| {
        let mut path = object(keys(&PATH));
        path["properties"]["hop"] = named(keys(&HOP), "one hop, by its name");
        path
    };
    let of_cell = |keys: &dyn Fn(&Table) -> Map<String, Value>| {
        let mut cell = object(keys(&CELL));
        cell["properties"]["ue"] = named(keys(&UE), "one UE, by its name");
        cell["properties"]["bearer"] = named(keys(&BEARER), "the bearers of one name");
        cell["properties"]["slice"] = named(keys(&SLICE), "one slice, by its name");
        cell
    };
    let variant = json!({
        "type": "object",
        "required": ["label"],
        "additionalProperties": false,
        "properties": {
            "label": { "type": "string", "minLength": 1 },
            "path": of_path(&settings),
            "cell": of_cell(&settings),
            "flow": with_flows(settings(&FLOW)),
            "run": object(settings(&RUN)),
        },
        "patternProperties": { r"^(path|cell|flow|run)\..+$": {} },
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": of_path(&axes),
            "cell": of_cell(&axes),
            "flow": with_flows(axes(&FLOW)),
            "run": object(axes(&RUN)),
            "variant": { "type": "array", "minItems": 1, "items": variant },
        },
        "patternProperties": { r"^(path|cell|flow|run)\..+$": { "$ref": "#/$defs/axis" } },
    })
}

fn varied(table: &Table, schema: impl Fn(&Key) -> Value) -> Map<String, Value> {
    let keys = table.keys.iter().filter(|key| key.varies);
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
    let keys = EXPECT.keys.iter().map(|key| (key.parameter.name.to_string(), value(key)));
    let mut schema = object(keys.collect());
    for name in ["where", "versus", "normalise"] {
        let about = schema["properties"][name]["description"].clone();
        schema["properties"][name] = json!({ "type": "object", "description": about });
    }
    schema["required"] = json!(["claim", "measure"]);
    schema["anyOf"] = json!([{ "required": ["low"] }, { "required": ["high"] }]);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_component_is_there() {
        let schema = schema();
        for (name, _) in TOP {
            assert!(schema["properties"][name]["description"].is_string(), "{name}");
        }
        for table in [PATH, CELL, RUN] {
            for name in table.names() {
                assert!(schema["properties"][table.name]["properties"][name].is_object(), "{name}");
            }
        }
        for (name, form) in KINDS {
            let forms = schema["$defs"][name]["anyOf"].as_array().unwrap();
            assert_eq!(forms.len(), 1 + form.registry().unwrap().len());
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
