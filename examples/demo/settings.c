#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool settings_read_text(const char *name, const char **out_text) {
    const char *text = getenv(name);
    if (text == NULL) {
        fprintf(stderr, "consumer: %s is not set; script/demo sets it\n", name);
        return false;
    }
    *out_text = text;
    return true;
}

static bool settings_read_number(const char *name, uint32_t *out_number) {
    const char *text = NULL;
    if (!settings_read_text(name, &text)) return false;
    uint32_t number = 0;
    bool valid = *text != '\0';
    for (const char *at = text; valid && *at != '\0'; at++) {
        valid = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(number, 10U, &number) &&
                !__builtin_add_overflow(number, (uint32_t)(*at - '0'), &number);
    }
    if (!valid) {
        fprintf(stderr, "consumer: %s is not a number: %s\n", name, text);
        return false;
    }
    *out_number = number;
    return true;
}

static bool settings_read_guards(struct settings *out_settings) {
    const char *sabotage = NULL;
    if (!settings_read_text("DEMO_SABOTAGE", &sabotage)) return false;
    out_settings->use_claim = strcmp(sabotage, "no-claim") != 0;
    out_settings->use_inbox = out_settings->use_claim && strcmp(sabotage, "no-inbox") != 0;
    out_settings->ack_last = strcmp(sabotage, "ack-first") != 0;
    return true;
}

bool settings_read(struct settings *out_settings) {
    return settings_read_guards(out_settings) &&
           settings_read_text("DEMO_QUEUE", &out_settings->queue) &&
           settings_read_text("DEMO_CLAIMD", &out_settings->claimd) &&
           settings_read_text("DEMO_LEDGER", &out_settings->ledger) &&
           settings_read_text("DEMO_LOG", &out_settings->trail) &&
           settings_read_text("DEMO_OWNER", &out_settings->owner) &&
           settings_read_text("DEMO_DIE_AT", &out_settings->die_at) &&
           settings_read_number("DEMO_AMQP_PORT", &out_settings->amqp_port) &&
           settings_read_number("DEMO_LEASE_MS", &out_settings->lease_ms) &&
           settings_read_number("DEMO_WORK_MS", &out_settings->work_ms) &&
           settings_read_number("DEMO_DIE_AFTER", &out_settings->die_after);
}
