//! Components as they are declared: each alone, with each parameter at its default and bounds, and a few that hold others.

use super::Out;
use qdelay_core::component::Component;
use qdelay_trace::synth;

/// Every registry, by the word that the target `component` knows it by.
pub fn registries() -> Vec<(&'static str, Vec<&'static Component>)> {
    vec![
        ("qdisc", qdelay_core::qdisc::COMPONENTS.to_vec()),
        ("pacer", qdelay_core::pacer::COMPONENTS.to_vec()),
        ("transport", qdelay_traffic::transport::COMPONENTS.to_vec()),
        ("link", qdelay_study::links::components()),
        ("synth", vec![&synth::COMPONENT]),
        ("scheduler", qdelay_ran::mac::COMPONENTS.to_vec()),
        ("partition", qdelay_ran::cell::PARTITIONS.to_vec()),
        ("channel", qdelay_study::radio::channels()),
        ("rlc", qdelay_ran::rlc::COMPONENTS.to_vec()),
        ("pdcp", qdelay_ran::pdcp::COMPONENTS.to_vec()),
    ]
}

/// Texts of one component.
pub fn texts(component: &Component) -> Vec<String> {
    let mut texts = vec![component.name.to_string()];
    for parameter in component.parameters {
        for value in [parameter.default, parameter.min, parameter.max] {
            if !value.is_empty() {
                texts.push(format!("{}:{}={value}", component.name, parameter.name));
            }
        }
    }
    texts
}

/// Texts of all components of a registry; what is written without a name, or holds others, too.
pub fn all(kind: &str) -> Vec<String> {
    let more: &[&str] = match kind {
        "qdisc" => &[
            "priority:ef@[bode:target=20ms]+rest@[fq_codel:flows=8]",
            "priority:cs5@[taildrop]+rest@[dsd:control=loss]",
            "codel:variant=mahimahi",
            "codel:variant=thesis",
            "codel:variant=linux:ecn=on",
            "pie:variant=linux",
            "pie:variant=mahimahi",
            "red:mode=bytes:min=3kb:max=9kb",
            "drr:by=dscp",
        ],
        "link" => {
            &["10mbit:overhead=14", "steps:0s@6mbit+10s@600kbit:repeat=20s", "infinite", "10mbit:model=line"]
        }
        _ => &[],
    };
    let registries = registries();
    let declared = registries.iter().filter(|(name, _)| *name == kind).flat_map(|(_, components)| components);
    declared.flat_map(|component| texts(component)).chain(more.iter().map(|text| text.to_string())).collect()
}

pub fn write(out: &Out) {
    for (kind, _) in registries() {
        for (number, text) in all(kind).iter().enumerate() {
            out.seed("component", &format!("{kind}-{number}"), format!("{kind} {text}"));
        }
    }
    for (number, text) in [
        "mahimahi",
        "mbps",
        "csv:column=a:unit=kbit:every=1s",
        "csv:a:time=t",
        "csv:[a: b]:where=run=1+op=A:missing=hold:time_unit=ms",
        "mbps:every=1s:unit=kbit",
    ]
    .iter()
    .enumerate()
    {
        out.seed("component", &format!("trace-format-{number}"), format!("trace-format {text}"));
    }
    for (number, text) in ["1..10", "1,2,5", "7"].iter().enumerate() {
        out.seed("component", &format!("seeds-{number}"), format!("seeds {text}"));
    }
}
