/* A queue discipline of your own for qdelay, in C, C++ or any language that makes a shared object.
 *
 * A law decides over one first-in first-out queue, which the host keeps: `admit` about each packet that arrives, `dequeue` about each
 * packet at the head when the link asks for one. A shared object has one law, and one exported function, which returns its description:
 *
 *     static uint32_t admit(void *state, const qdelay_call *call) { return call->packets < 50 ? QDELAY_PASS : QDELAY_DROP; }
 *     static const qdelay_component description = {
 *         .abi = QDELAY_ABI, .size = sizeof description, .kind = QDELAY_AQM, .name = "fifty", .meaning = "holds 50 packets",
 *         .admit = admit };
 *     QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) { return &description; }
 *
 *     cc -O2 -shared -fPIC -o fifty.so fifty.c
 *     qdelay list ./fifty.so
 *     qdelay compare --qdisc ./fifty.so,codel --link 10mbit
 *
 * The contract:
 * - State is memory of the host, of the described size and alignment, zero before `init`. The host may copy it bytewise at any time and
 *   use the copy as another queue's state: it must not point into itself, and must not own anything.
 * - Several threads call at once, each with a state of its own. There is nothing else that may be written to.
 * - No clocks, no files, no random numbers but those of the call: the same calls must give the same answers.
 * - A call must return; one of `admit`, `dequeue` or `emptied` that does not within 10 s ends the program.
 * - Every queue has the parameters `limit` and `limit_bytes`: the host drops what has no room after `admit` has let it pass.
 */
#ifndef QDELAY_COMPONENT_H
#define QDELAY_COMPONENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QDELAY_EXPORT __attribute__((visibility("default")))

/* The version of this interface. Later versions only add to the end of `qdelay_component`, or have another number. */
#define QDELAY_ABI 1u

/* Kinds of component. */
enum { QDELAY_AQM = 1 };

/* Flags. */
enum {
    QDELAY_RANDOM = 1 /* `random` is filled in at each call */
};

/* Verdicts. */
enum {
    QDELAY_PASS = 0,
    QDELAY_DROP = 1,
    QDELAY_MARK = 2 /* mark "congestion experienced", and drop a packet that is not ECN-capable (RFC 3168 section 5) */
};

/* ECN codepoints. */
enum { QDELAY_NOT_ECT = 0, QDELAY_ECT1 = 1, QDELAY_ECT0 = 2, QDELAY_CE = 3 };

/* Units of parameters, with what users write. */
enum {
    QDELAY_DURATION = 1, /* 20ms; `whole` is nanoseconds */
    QDELAY_RATE = 2,     /* 10mbit; `whole` is bits per second */
    QDELAY_BYTES = 3,    /* 1500b; `whole` */
    QDELAY_COUNT = 4,    /* 100; `whole` */
    QDELAY_NUMBER = 5,   /* 0.125; `number`, always finite */
    QDELAY_PERCENT = 6,  /* 12.5%; `number` is 0.125 */
    QDELAY_SWITCH = 7,   /* on, off; `whole` is 1 or 0 */
    QDELAY_CHOICE = 8    /* one of `words`; `whole` is its place among them, from 0 on */
};

/* A parameter. Texts are UTF-8 and end with a zero; NULL is an empty text. */
typedef struct qdelay_parameter {
    const char *name;          /* letters, digits and _ */
    uint32_t unit;             /* QDELAY_DURATION... */
    uint32_t reserved;         /* 0 */
    const char *words;         /* of QDELAY_COUNT what is counted ("packets"), of QDELAY_CHOICE the words with | between them */
    const char *default_value; /* as users write it; empty: it may stay unset */
    const char *min, *max;     /* as users write it; empty: no limit */
    const char *meaning;       /* in a few words */
    const char *source;        /* of the default: a section of an RFC or paper; may be empty */
} qdelay_parameter;

/* The value of a parameter, in the place of its description. */
typedef struct qdelay_value {
    uint64_t whole;
    double number;
    uint32_t is_set; /* 0 for a parameter without default that the user did not give */
    uint32_t reserved;
} qdelay_value;

/* What a law is told. 64 bytes. */
typedef struct qdelay_call {
    uint64_t now;     /* ns */
    uint64_t arrival; /* when this packet came to the queue, ns */
    uint64_t packets; /* in the queue, without this one */
    uint64_t bytes;   /* of these (IP bytes) */
    uint64_t limit;   /* most packets that the queue holds */
    uint64_t random;  /* 64 random bits, new at each call of a law with QDELAY_RANDOM; 0 without */
    uint32_t size;    /* of this packet (IP bytes) */
    uint32_t flow;    /* the same number for packets of the same flow */
    uint16_t traffic_class;
    uint8_t dscp;     /* 0 to 63 */
    uint8_t ecn;      /* QDELAY_NOT_ECT... */
    uint32_t reserved;
} qdelay_call;

/* The description of a law. It and what it points to must never change. */
typedef struct qdelay_component {
    uint32_t abi;  /* QDELAY_ABI */
    uint32_t size; /* sizeof(qdelay_component) */
    uint32_t kind; /* QDELAY_AQM */
    uint32_t flags;
    const char *name;    /* lower-case letters, digits and _: the reason of its drops and marks in results */
    const char *meaning; /* in one sentence */
    const char *source;  /* paper, RFC or program; may be empty */
    const qdelay_parameter *parameters;
    uint64_t parameter_count;
    uint64_t state_size;  /* bytes; may be 0 */
    uint64_t state_align; /* a power of two up to 4096; 0 for 16 */
    /* Fills in the state. NULL, or what contradicts itself in the values, in one line. May be NULL: the state stays zero. */
    const char *(*init)(void *state, const qdelay_value *values);
    /* The verdict about the arriving packet. May be NULL: every packet passes. */
    uint32_t (*admit)(void *state, const qdelay_call *call);
    /* The verdict about the packet that was taken from the head. After QDELAY_DROP it is called with the next one, at the same time. May
     * be NULL: every packet passes. */
    uint32_t (*dequeue)(void *state, const qdelay_call *call);
    /* The link asked for a packet and there is none left, most often because `dequeue` dropped the last one. May be NULL. */
    void (*emptied)(void *state, uint64_t now);
} qdelay_component;

/* What the shared object exports. */
QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void);

#ifdef __cplusplus
}
#endif

/* A number in 0..n of the random bits of a call (n > 0). */
static inline uint64_t qdelay_below(const qdelay_call *call, uint64_t n) {
    return (uint64_t)(((unsigned __int128)call->random * n) >> 64);
}

/* A number in [0, 1) of the random bits of a call. */
static inline double qdelay_unit(const qdelay_call *call) {
    return (double)(call->random >> 11) * (1.0 / 9007199254740992.0);
}

#endif
