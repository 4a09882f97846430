/* Reno in C after RFC 5681 and RFC 3465: it decides as the built-in `reno` does, acknowledgement by acknowledgement.
 *
 * All of its state is the window, of which `count` is the segments acknowledged since it last grew.
 */
#include "qdelay_component.h"

static uint32_t half(void *state, const qdelay_connection *connection, const qdelay_window *window) {
    (void)state, (void)connection;
    return window->cwnd / 2 > 2 ? window->cwnd / 2 : 2;
}

/* RFC 5681 section 3.1: a segment for each that is acknowledged below the threshold, and one for each window above it. */
static void ack(void *state, const qdelay_connection *connection, qdelay_window *window) {
    (void)state;
    if (!(connection->flags & QDELAY_WINDOW_LIMITED)) {
        return;
    }
    uint32_t left = connection->acked;
    if (window->cwnd < window->ssthresh) {
        uint32_t grown = left < window->ssthresh - window->cwnd ? window->cwnd + left : window->ssthresh;
        left -= grown - window->cwnd;
        window->cwnd = grown < window->clamp ? grown : window->clamp;
        if (left == 0) {
            return;
        }
    }
    uint32_t per_segment = window->cwnd;
    if (window->count >= per_segment) { /* of a time when the window was larger: worth one segment */
        window->count = 0;
        window->cwnd += 1;
    }
    window->count += left;
    uint32_t growth = window->count / per_segment;
    window->count -= growth * per_segment;
    window->cwnd += growth;
}

static const qdelay_component description = {
    .abi = QDELAY_ABI,
    .size = sizeof description,
    .kind = QDELAY_CONTROL,
    .name = "reno",
    .meaning = "additive increase of a segment for each window, halved by a loss",
    .source = "RFC 5681",
    .ssthresh = half,
    .ack = ack,
};

QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) { return &description; }
