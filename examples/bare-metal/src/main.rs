//! The queue in the interrupts of a Cortex-M4F: one for a packet that has come, one for a radio that can send, and a clock.
//!
//! All interrupts have the priority that they have after a reset, which is the same, so that none interrupts another: whatever runs in one
//! has the state for itself. The program itself sleeps.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use qdelay_bare_metal::{Fate, Queue, Stamp};
use qdelay_core::aqm::CodelParameters;
use qdelay_core::{Ecn, Span, Time};

/// How often the clock ticks, and in how many cycles of a processor at 16 MHz.
const TICK: Span = Span::from_micros(100);
const CYCLES_OF_A_TICK: u32 = 1_600;

/// Stands for the registers of a radio, in memory; a port has the addresses of its own here.
#[repr(C)]
struct Radio {
    /// Of the packet that has come: the handle, the size, and the two bits of ECN as they stand in its header.
    came: AtomicU32,
    came_bytes: AtomicU32,
    came_ecn: AtomicU32,
    /// Written: the handle of a packet to send, to send marked, or to free.
    send: AtomicU32,
    send_marked: AtomicU32,
    free: AtomicU32,
}

#[unsafe(no_mangle)]
static RADIO: Radio = Radio {
    came: AtomicU32::new(0),
    came_bytes: AtomicU32::new(0),
    came_ecn: AtomicU32::new(0),
    send: AtomicU32::new(0),
    send_marked: AtomicU32::new(0),
    free: AtomicU32::new(0),
};

struct State {
    now: Time,
    queue: Queue<256>,
}

struct Shared(UnsafeCell<State>);

// SAFETY: there is one processor, and only interrupts look inside, of which none interrupts another.
unsafe impl Sync for Shared {}

static STATE: Shared =
    Shared(UnsafeCell::new(State { now: Time::ZERO, queue: Queue::new(CodelParameters::RFC) }));

/// The state, in an interrupt.
fn with_state(body: impl FnOnce(&mut State)) {
    // SAFETY: as above; and no `body` calls this again.
    body(unsafe { &mut *STATE.0.get() });
}

extern "C" fn tick() {
    with_state(|state| state.now += TICK);
}

extern "C" fn packet_came() {
    with_state(|state| {
        let stamp = Stamp {
            arrival: state.now,
            handle: RADIO.came.load(Relaxed),
            bytes: RADIO.came_bytes.load(Relaxed) as u16,
            ecn: match RADIO.came_ecn.load(Relaxed) & 3 {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
        };
        if !state.queue.push(stamp) {
            RADIO.free.store(stamp.handle, Relaxed);
        }
    });
}

extern "C" fn radio_can_send() {
    with_state(|state| {
        state.queue.pull(state.now, |stamp, fate| {
            let register = match fate {
                Fate::Send => &RADIO.send,
                Fate::SendMarked => &RADIO.send_marked,
                Fate::Drop => &RADIO.free,
            };
            register.store(stamp.handle, Relaxed);
        });
    });
}

extern "C" fn fault() {
    loop {}
}

unsafe extern "C" {
    /// Where the program begins: below.
    fn reset() -> !;
}

type Handler = unsafe extern "C" fn();

/// What follows the stack's end at the beginning of the flash: who is called for what.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vectors")]
static VECTORS: (unsafe extern "C" fn() -> !, [Option<Handler>; 14], [Handler; 2]) = (
    reset,
    [
        Some(fault), // NMI
        Some(fault), // hard fault
        Some(fault), // memory management
        Some(fault), // bus
        Some(fault), // usage
        None,
        None,
        None,
        None,
        Some(fault), // supervisor call
        Some(fault), // debug monitor
        None,
        Some(fault), // pending supervisor call
        Some(tick),  // SysTick
    ],
    [packet_came, radio_can_send], // the first two of the chip's own
);

// Before anything of Rust runs: the floating-point unit is turned on, and memory is as statics have it.
global_asm!(
    ".global reset",
    ".thumb_func",
    "reset:",
    "ldr r0, =0xe000ed88", // CPACR
    "ldr r1, [r0]",
    "orr r1, r1, #0xf00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "ldr r0, =data_start",
    "ldr r1, =data_end",
    "ldr r2, =data_load",
    "0: cmp r0, r1",
    "beq 1f",
    "ldr r3, [r2], #4",
    "str r3, [r0], #4",
    "b 0b",
    "1: ldr r0, =bss_start",
    "ldr r1, =bss_end",
    "mov r2, #0",
    "2: cmp r0, r1",
    "beq 3f",
    "str r2, [r0], #4",
    "b 2b",
    "3: bl start",
    ".ltorg",
);

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    const SYSTICK_CONTROL: *mut u32 = 0xe000_e010 as *mut u32;
    const SYSTICK_RELOAD: *mut u32 = 0xe000_e014 as *mut u32;
    const INTERRUPT_ENABLE: *mut u32 = 0xe000_e100 as *mut u32;
    // SAFETY: these registers are of every Cortex-M4, and nobody else writes them.
    unsafe {
        SYSTICK_RELOAD.write_volatile(CYCLES_OF_A_TICK - 1);
        SYSTICK_CONTROL.write_volatile(0b111);
        INTERRUPT_ENABLE.write_volatile(0b11);
    }
    loop {
        // SAFETY: it waits for an interrupt.
        unsafe { asm!("wfi") };
    }
}

#[panic_handler]
fn panicked(_: &PanicInfo) -> ! {
    loop {}
}
