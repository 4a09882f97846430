//! How the values of keys are written.

/// How a value is written, beyond its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As its unit says.
    Plain,
    /// A queue discipline.
    Qdisc,
    /// A transport.
    Transport,
    /// A link.
    Link,
    /// A link, a trace, a rate or `none`.
    Uplink,
    /// The name of a trace.
    Trace,
    /// How a trace is to be read.
    TraceFormat,
    /// A codepoint: a name, or 0 to 63.
    Dscp,
    /// A codepoint, or a list of them.
    Dscps,
    /// A number, a list of numbers, or a range such as `1..10`.
    Seeds,
    /// A duration, or `off`.
    Series,
    /// The name of a flow, UE or bearer.
    Name,
    /// A radio channel.
    Channel,
    /// A pacer.
    Pacer,
    /// A MAC scheduler.
    Scheduler,
    /// A partition of a cell, or `none`.
    Partition,
    /// A part of all resource blocks, in percent.
    Share,
    /// A probability, in percent.
    Percent,
    /// A kind of radio link control.
    Rlc,
    /// A queue discipline, or `none`.
    OptionalQdisc,
    /// A link, or `none`.
    OptionalLink,
    /// A number of packets, or bytes with their unit.
    Limit,
}
