//! Components as values: one type for each kind of component that keys choose from.

use super::MTU_BYTES;
use crate::scenario::component;
use crate::{links, radio};
use qdelay_config::{Accept, Fault, Node};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Parameter};
use qdelay_core::pacer::{self, AnyPacer, PacerSetting};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_path::{F1_COMPONENTS, F1Spec};
use qdelay_ran::cell::{DrxSetting, HandoverSetting, MOVES, PARTITIONS, SLEEPS};
use qdelay_ran::radio::{ADAPTATIONS, DECODINGS, DUPLEXES, OllaSetting};
use qdelay_ran::{mac, pdcp, rlc};
use qdelay_traffic::transport::{self, TransportConfig};
use serde_json::{Value as Json, json};

/// A kind of component: its name in the schema, and its registry.
pub(crate) type ComponentKind = (&'static str, fn() -> Vec<&'static Component>);

/// Declares a type for each kind of component: name in the documentation, name in the schema, registry, and the value built from
/// the arguments.
macro_rules! components {
    ($($(#[$doc:meta])* $name:ident($made:ty) = $described:literal, $kind:literal, $registry:expr, $make:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name(pub(crate) $made);

            impl Accept for $name {
                fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
                    let make: fn(Arguments) -> Result<$made, String> = $make;
                    let arguments = component::read(&Self::components(), path, node)?;
                    let text = arguments.typed().to_string();
                    let made = make(arguments).map_err(|error| Fault::new(node.line, path, error))?;
                    Ok((text, $name(made)))
                }
                fn components() -> Vec<&'static Component> {
                    let registry: fn() -> Vec<&'static Component> = $registry;
                    registry()
                }
                fn describe(_: &Parameter) -> String {
                    $described.to_string()
                }
                fn schema(_: &Parameter) -> Json {
                    json!({ "$ref": concat!("#/$defs/", $kind) })
                }
            }
        )*

        /// All kinds of component, including links and loss models.
        pub(crate) static KINDS: &[ComponentKind] = &[$(($kind, $registry),)* ("link", links::components), ("delay", crate::traces::delay::components), ("loss", crate::traces::loss::components), ("jitter", crate::traces::jitter::components)];
    };
}

components! {
    /// A queue discipline, checked by building it.
    Qdisc(Arguments) = "qdisc", "qdisc", || qdisc::COMPONENTS.to_vec(), |arguments| {
        AnyQdisc::build(&arguments).map_err(|error| error.to_string())?;
        Ok(arguments)
    };
    /// The transport of a flow.
    Transport(Box<TransportConfig>) = "transport", "transport", || transport::COMPONENTS.to_vec(), |arguments| {
        TransportConfig::build(&arguments).map(Box::new).map_err(|error| error.to_string())
    };
    /// A radio channel.
    Channel(Arguments) = "channel", "channel", radio::channels, Ok;
    /// A pacer, checked by building it.
    Pacer(Arguments) = "pacer", "pacer", || pacer::COMPONENTS.to_vec(), |arguments| {
        // The cell is not known yet, so the pacer is checked in one that accepts everything; the real cell checks again.
        let (tti, peak_bytes) = (Span::from_nanos(1), Some(u64::MAX));
        let setting = PacerSetting { tti, peak_bytes, mtu_bytes: MTU_BYTES, ..PacerSetting::default() };
        AnyPacer::build(&arguments, &setting).map_err(|error| error.to_string())?;
        Ok(arguments)
    };
    /// A MAC scheduler.
    Scheduler(mac::Scheduler) = "scheduler", "scheduler", || mac::COMPONENTS.to_vec(), |arguments| {
        mac::Scheduler::build(&arguments).map_err(|error| error.to_string())
    };
    /// A partition of a cell's resource blocks.
    Partition(Arguments) = "partition", "partition", || PARTITIONS.to_vec(), Ok;
    /// A mode of radio link control.
    Rlc(Arguments) = "kind of RLC", "rlc", || rlc::COMPONENTS.to_vec(), Ok;
    /// Model that decides whether a transport block is lost.
    Decoding(qdelay_ran::radio::Decoding) = "decoding", "decoding", || DECODINGS.to_vec(), |arguments| {
        qdelay_ran::radio::Decoding::build(&arguments).map_err(|error| error.to_string())
    };
    /// Outer loop link adaptation: a correction of the reported channel.
    Olla(OllaSetting) = "link adaptation", "olla", || ADAPTATIONS.to_vec(), |arguments| Ok(OllaSetting::build(&arguments));
    /// Time division duplex.
    Tdd(qdelay_ran::radio::Tdd) = "time division duplex", "tdd", || DUPLEXES.to_vec(), |arguments| {
        qdelay_ran::radio::Tdd::build(&arguments).map_err(|message| format!("'{}': {message}", arguments.typed()))
    };
    /// Handovers of a UE between two cells.
    Handover(HandoverSetting) = "handover", "handover", || MOVES.to_vec(), |arguments| {
        HandoverSetting::build(&arguments).map_err(|message| format!("'{}': {message}", arguments.typed()))
    };
    /// Discontinuous reception.
    Drx(DrxSetting) = "discontinuous reception", "drx", || SLEEPS.to_vec(), |arguments| {
        DrxSetting::build(&arguments).map_err(|message| format!("'{}': {message}", arguments.typed()))
    };
    /// The F1 interface between the two units of a base station.
    F1(F1Spec) = "kind of F1", "f1", || F1_COMPONENTS.to_vec(), |arguments| Ok(F1Spec::build(&arguments));
    /// A mode of the packet data convergence protocol.
    Pdcp(Arguments) = "kind of PDCP", "pdcp", || pdcp::COMPONENTS.to_vec(), Ok;
}
