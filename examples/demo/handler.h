/*
 * What is done with one message: claim it, charge, complete the claim. This is the part to copy.
 * Threads: one handler belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "settings.h"

struct handler;

/* What the broker is to be told. */
enum handler_verdict {
    HANDLER_ACK,     /* the message is done with */
    HANDLER_REQUEUE, /* it must be delivered again */
    HANDLER_BROKEN,  /* something is wrong that another try will not mend; stderr says what */
};

/* settings are borrowed for the handler's life. NULL: stderr says why. */
struct handler *handler_create(const struct settings *settings);
void handler_destroy(struct handler *handler);

/* Handles one message body, which is borrowed. */
enum handler_verdict handler_handle(struct handler *handler, const void *body, size_t body_bytes);
