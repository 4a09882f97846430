/* CoDel in C after RFC 8289 section 5: it decides as the built-in `codel` does, packet by packet.
 *
 * The RFC's `deque` dequeues packets itself. Here the host does, and calls once for each: `stage` says where in `deque` the law is.
 */
#include "qdelay_component.h"
#include <math.h>

enum { FIRST = 0, ENTERED, LOOP };

typedef struct {
    uint64_t target, interval, mtu;
    uint64_t first_above_time; /* 0: below target */
    uint64_t drop_next;
    uint32_t count, last_count;
    uint8_t dropping, stage;
} state;

static const qdelay_parameter parameters[] = {
    {.name = "target",
     .unit = QDELAY_DURATION,
     .default_value = "5ms",
     .min = "1us",
     .max = "100s",
     .meaning = "acceptable standing sojourn",
     .source = "RFC 8289 section 4.3"},
    {.name = "interval",
     .unit = QDELAY_DURATION,
     .default_value = "100ms",
     .min = "1us",
     .max = "1000s",
     .meaning = "how long the sojourn must stay over target before the first drop",
     .source = "RFC 8289 section 4.2"},
    {.name = "mtu",
     .unit = QDELAY_BYTES,
     .default_value = "1500b",
     .min = "1b",
     .max = "1mb",
     .meaning = "a backlog up to this is left alone",
     .source = "RFC 8289 section 5.5"},
};

static const char *init(void *memory, const qdelay_value *values) {
    state *s = memory;
    s->target = values[0].whole;
    s->interval = values[1].whole;
    s->mtu = values[2].whole;
    return s->target > s->interval ? "target is longer than interval" : 0;
}

static uint64_t control_law(const state *s, uint64_t t) {
    return t + (uint64_t)((double)s->interval / sqrt((double)s->count));
}

/* Section 5.6, `dodequeue`: whether it is ok to drop this packet. */
static int ok_to_drop(state *s, const qdelay_call *call) {
    if (call->now - call->arrival < s->target || call->bytes <= s->mtu) {
        s->first_above_time = 0;
        return 0;
    }
    if (s->first_above_time == 0) {
        s->first_above_time = call->now + s->interval;
        return 0;
    }
    return call->now >= s->first_above_time;
}

/* Section 5.5, `deque`, one packet of it. */
static uint32_t dequeue(void *memory, const qdelay_call *call) {
    state *s = memory;
    int ok = ok_to_drop(s, call);
    int stage = s->stage;
    s->stage = FIRST;
    if (stage == ENTERED)
        return QDELAY_PASS;
    if (s->dropping) {
        if (!ok) {
            s->dropping = 0;
            return QDELAY_PASS;
        }
        if (stage == LOOP)
            s->drop_next = control_law(s, s->drop_next);
        if (call->now < s->drop_next)
            return QDELAY_PASS;
        ++s->count;
        s->stage = LOOP;
        return QDELAY_DROP;
    }
    if (!ok)
        return QDELAY_PASS;
    s->dropping = 1;
    uint32_t delta = s->count - s->last_count;
    uint64_t since = call->now > s->drop_next ? call->now - s->drop_next : 0;
    s->count = delta > 1 && since < 16 * s->interval ? delta : 1;
    s->last_count = s->count;
    s->drop_next = control_law(s, call->now);
    s->stage = ENTERED;
    return QDELAY_DROP;
}

static void emptied(void *memory, uint64_t now) {
    state *s = memory;
    (void)now;
    s->first_above_time = 0;
    if (s->stage != ENTERED)
        s->dropping = 0;
    s->stage = FIRST;
}

static const qdelay_component description = {
    .abi = QDELAY_ABI,
    .size = sizeof description,
    .kind = QDELAY_AQM,
    .name = "codel",
    .meaning = "drops ever more often while the sojourn stays over target for an interval",
    .source = "RFC 8289 section 5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .state_size = sizeof(state),
    .init = init,
    .dequeue = dequeue,
    .emptied = emptied,
};

QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) { return &description; }
