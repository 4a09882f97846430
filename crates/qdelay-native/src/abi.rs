//! The structures of `qdelay_component.h`, field by field.

use core::ffi::{c_char, c_void};

/// The version of the interface.
pub const ABI: u32 = 1;
/// The kind of component that decides over a queue.
pub const AQM: u32 = 1;
/// The kind of component that decides the window of a connection.
pub const CONTROL: u32 = 2;
/// `random` is filled in.
pub const RANDOM: u32 = 1;
/// Flag of a control that alone sets the window.
pub const OWNS_WINDOW: u32 = 2;
/// Verdict: the packet goes on.
pub const PASS: u32 = 0;
/// Verdict: the packet is dropped.
pub const DROP: u32 = 1;
/// Verdict: the packet is marked, or dropped where it is not ECN-capable.
pub const MARK: u32 = 2;

/// `qdelay_parameter`.
#[repr(C)]
pub struct RawParameter {
    pub name: *const c_char,
    pub unit: u32,
    pub reserved: u32,
    pub words: *const c_char,
    pub default_value: *const c_char,
    pub min: *const c_char,
    pub max: *const c_char,
    pub meaning: *const c_char,
    pub source: *const c_char,
}

/// `qdelay_value`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RawValue {
    pub whole: u64,
    pub number: f64,
    pub is_set: u32,
    pub reserved: u32,
}

/// `qdelay_call`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawCall {
    pub now: u64,
    pub arrival: u64,
    pub packets: u64,
    pub bytes: u64,
    pub limit: u64,
    pub random: u64,
    pub size: u32,
    pub flow: u32,
    pub traffic_class: u16,
    pub dscp: u8,
    pub ecn: u8,
    pub reserved: u32,
}

const _: () = assert!(size_of::<RawCall>() == 64 && size_of::<RawValue>() == 24);
const _: () = assert!(size_of::<RawConnection>() == 128 && size_of::<RawWindow>() == 24);
const _: () = assert!(size_of::<RawParameter>() == 64 && size_of::<RawComponent>() == 152);

/// Smallest size of a description: that of a queue law may end here.
pub const SIZE_MIN: usize = 104;

/// `qdelay_connection`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RawConnection {
    pub now: u64,
    pub srtt: u64,
    pub min_rtt: u64,
    pub rtt: u64,
    pub delivered: u64,
    pub lost: u64,
    pub prior_delivered: u64,
    pub interval: u64,
    pub una: u64,
    pub nxt: u64,
    pub random: u64,
    pub sample: u32,
    pub acked: u32,
    pub newly_lost: u32,
    pub in_flight: u32,
    pub prior_in_flight: u32,
    pub segment: u32,
    pub recovery: u32,
    pub flags: u32,
    pub reserved: u64,
}

/// `qdelay_window`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawWindow {
    pub cwnd: u32,
    pub ssthresh: u32,
    pub count: u32,
    pub clamp: u32,
    pub pacing_rate: u64,
}

/// `init` of `qdelay_component`.
pub type Init = unsafe extern "C" fn(*mut c_void, *const RawValue) -> *const c_char;
/// `admit` and `dequeue`.
pub type Decide = unsafe extern "C" fn(*mut c_void, *const RawCall) -> u32;
/// `emptied`.
pub type Emptied = unsafe extern "C" fn(*mut c_void, u64);
/// `start`, `ack` and `sampled`.
pub type Adjust = unsafe extern "C" fn(*mut c_void, *const RawConnection, *mut RawWindow);
/// `ssthresh`.
pub type Threshold = unsafe extern "C" fn(*mut c_void, *const RawConnection, *const RawWindow) -> u32;
/// `event`.
pub type Happened = unsafe extern "C" fn(*mut c_void, *const RawConnection, *mut RawWindow, u32);
/// `qdelay_component_v1`.
pub type Entry = unsafe extern "C" fn() -> *const RawComponent;

/// `qdelay_component`.
#[repr(C)]
pub struct RawComponent {
    pub abi: u32,
    pub size: u32,
    pub kind: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub meaning: *const c_char,
    pub source: *const c_char,
    pub parameters: *const RawParameter,
    pub parameter_count: u64,
    pub state_size: u64,
    pub state_align: u64,
    pub init: Option<Init>,
    pub admit: Option<Decide>,
    pub dequeue: Option<Decide>,
    pub emptied: Option<Emptied>,
    pub classifies: *const c_char,
    pub start: Option<Adjust>,
    pub ssthresh: Option<Threshold>,
    pub ack: Option<Adjust>,
    pub sampled: Option<Adjust>,
    pub event: Option<Happened>,
}

/// The functions of a congestion control, and how much state it has.
#[derive(Clone, Copy, Debug)]
pub struct ControlCalls {
    pub init: Option<Init>,
    pub start: Option<Adjust>,
    pub ssthresh: Option<Threshold>,
    pub ack: Adjust,
    pub sampled: Option<Adjust>,
    pub event: Option<Happened>,
    pub state_size: u64,
    pub state_align: u64,
    pub is_random: bool,
    pub owns_window: bool,
}

/// The functions of a law, and how much state it has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    pub init: Option<Init>,
    pub admit: Option<Decide>,
    pub dequeue: Option<Decide>,
    pub emptied: Option<Emptied>,
    pub state_size: u64,
    pub state_align: u64,
    pub is_random: bool,
    /// The state begins with the values of all parameters, each as a double.
    pub begins_with_values: bool,
}
