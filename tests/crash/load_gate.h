// Where clients wait while the server is down: one thread looks for it, and lets all go on at once.
// Otherwise each would come back when its own connection's backoff lets it, long after many kills.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Starts looking at 127.0.0.1:port. Ends the program if it cannot.
void load_gate_open(uint16_t port);
// Ends the looking; everybody goes on.
void load_gate_close(void);

// The load is to end.
bool load_gate_is_closed(void);

// The server did not answer: waits until something listens on its port again, or the gate is
// closed.
void load_gate_wait(void);
