/* A queue discipline in C: it drops arrivals at random, more often the longer the queue. The same as ../own-aqm in Rust.
 *
 *     make
 *     qdelay list ./random_early.so
 *     qdelay compare --qdisc ./random_early.so:full=50,codel,bode --trace synth-lte-driving --seed 1..5
 *     qdelay run scenario.toml --allow-native
 */
#include "qdelay_component.h"

typedef struct {
    uint64_t full;
} state;

static const qdelay_parameter parameters[] = {
    {.name = "full",
     .unit = QDELAY_COUNT,
     .words = "packets",
     .default_value = "100",
     .min = "1",
     .max = "10000000",
     .meaning = "packets at which every arrival is dropped"},
};

static const char *init(void *memory, const qdelay_value *values) {
    ((state *)memory)->full = values[0].whole;
    return 0;
}

static uint32_t admit(void *memory, const qdelay_call *call) {
    return qdelay_below(call, ((state *)memory)->full) < call->packets ? QDELAY_DROP : QDELAY_PASS;
}

static const qdelay_component description = {
    .abi = QDELAY_ABI,
    .size = sizeof description,
    .kind = QDELAY_AQM,
    .flags = QDELAY_RANDOM,
    .name = "early",
    .meaning = "drops at random, more often the longer the queue",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .state_size = sizeof(state),
    .init = init,
    .admit = admit,
};

QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) { return &description; }
