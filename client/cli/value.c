#include "value.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS_PER_SECOND INT64_C(1000)
#define MS_PER_MINUTE (60 * MS_PER_SECOND)
#define MS_PER_HOUR (60 * MS_PER_MINUTE)
#define MS_PER_DAY (24 * MS_PER_HOUR)

// 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: what RFC 3339 and Timestamp can say.
#define TIME_MS_MIN INT64_C(-62135596800000)
#define TIME_MS_MAX INT64_C(253402300799999)

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool value_parse_u64(const char *text, uint64_t *out_number) {
    uint64_t number = 0;
    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (!is_digit(*text) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number)) {
            return false;
        }
    }
    *out_number = number;
    return true;
}

static bool unit_ms(const char *unit, int64_t *out_ms) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"ms", 1},          {"s", MS_PER_SECOND}, {"m", MS_PER_MINUTE},
        {"h", MS_PER_HOUR}, {"d", MS_PER_DAY},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            *out_ms = units[i].ms;
            return true;
        }
    }
    return false;
}

bool value_parse_duration_ms(const char *text, int64_t *out_ms) {
    int64_t thousandths = 0; // the number, times 1000
    if (!is_digit(*text)) return false;
    for (; is_digit(*text); text++) {
        if (__builtin_mul_overflow(thousandths, 10, &thousandths) ||
            __builtin_add_overflow(thousandths, (*text - '0') * INT64_C(1000), &thousandths)) {
            return false;
        }
    }
    if (*text == '.') {
        if (!is_digit(*++text)) return false;
        for (int64_t place = 100; is_digit(*text); text++, place /= 10) {
            if (place == 0 ||
                __builtin_add_overflow(thousandths, (*text - '0') * place, &thousandths)) {
                return false;
            }
        }
    }
    int64_t unit;
    if (!unit_ms(text, &unit) || __builtin_mul_overflow(thousandths, unit, &thousandths) ||
        thousandths % 1000 != 0) {
        return false;
    }
    *out_ms = thousandths / 1000;
    return true;
}

// Exactly count digits at *cursor, which moves behind them.
static bool take_number(const char **cursor, int count, int *out) {
    int number = 0;
    for (int i = 0; i < count; i++) {
        char c = (*cursor)[i];
        if (!is_digit(c)) return false;
        number = number * 10 + (c - '0');
    }
    *cursor += count;
    *out = number;
    return true;
}

static bool take_char(const char **cursor, const char *any_of) {
    if (**cursor == '\0' || strchr(any_of, **cursor) == NULL) return false;
    (*cursor)++;
    return true;
}

static int days_in_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

// Days since 1970-01-01 of a date of the Gregorian calendar, by counting 400-year eras that begin
// in March, so that the leap day is the last of its year.
static int64_t days_of_date(int year, int month, int day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

// "Z", or "+hh:mm" or "-hh:mm", as milliseconds east of UTC.
static bool take_offset(const char **cursor, int64_t *out_ms) {
    int hours;
    int minutes;
    if (take_char(cursor, "Zz")) {
        *out_ms = 0;
        return true;
    }
    bool west = **cursor == '-';
    if (!take_char(cursor, "+-") || !take_number(cursor, 2, &hours) || !take_char(cursor, ":") ||
        !take_number(cursor, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    *out_ms = hours * MS_PER_HOUR + minutes * MS_PER_MINUTE;
    if (west) *out_ms = -*out_ms;
    return true;
}

static bool parse_rfc3339(const char *text, int64_t *out_ms) {
    int year, month, day, hour, minute, second;
    if (!take_number(&text, 4, &year) || !take_char(&text, "-") || !take_number(&text, 2, &month) ||
        !take_char(&text, "-") || !take_number(&text, 2, &day) || !take_char(&text, "Tt ") ||
        !take_number(&text, 2, &hour) || !take_char(&text, ":") ||
        !take_number(&text, 2, &minute) || !take_char(&text, ":") ||
        !take_number(&text, 2, &second)) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
        hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    int64_t fraction_ms = 0;
    if (take_char(&text, ".")) {
        if (!is_digit(*text)) return false;
        for (int64_t place = 100; is_digit(*text); text++, place /= 10) {
            fraction_ms += (*text - '0') * place;
        }
    }
    int64_t offset_ms;
    if (!take_offset(&text, &offset_ms) || *text != '\0') return false;
    int64_t ms = days_of_date(year, month, day) * MS_PER_DAY + hour * MS_PER_HOUR +
                 minute * MS_PER_MINUTE + second * MS_PER_SECOND + fraction_ms - offset_ms;
    if (ms < TIME_MS_MIN || ms > TIME_MS_MAX) return false;
    *out_ms = ms;
    return true;
}

bool value_parse_time_ms(const char *text, int64_t now_ms, int64_t *out_ms) {
    int64_t ago_ms;
    if (strcmp(text, "now") == 0) {
        *out_ms = now_ms;
        return true;
    }
    if (text[0] != '-') return parse_rfc3339(text, out_ms);
    if (!value_parse_duration_ms(text + 1, &ago_ms) || ago_ms > now_ms - TIME_MS_MIN) return false;
    *out_ms = now_ms - ago_ms;
    return true;
}

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool value_parse_hex(const char *text, uint8_t *out, size_t out_size, size_t *out_used) {
    size_t used = 0;
    for (; *text != '\0'; text += 2) {
        int high = hex_digit(text[0]);
        int low = high >= 0 ? hex_digit(text[1]) : -1;
        if (low < 0 || used == out_size) return false;
        out[used++] = (uint8_t)(high * 16 + low);
    }
    *out_used = used;
    return true;
}

const char *value_duration_text(int64_t ms, char out[VALUE_TEXT_BYTES]) {
    uint64_t size = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
    snprintf(out, VALUE_TEXT_BYTES, "%s%llu.%03us", ms < 0 ? "-" : "",
             (unsigned long long)(size / 1000), (unsigned)(size % 1000));
    return out;
}

const char *value_time_text(int64_t ms, char out[VALUE_TEXT_BYTES]) {
    if (ms < TIME_MS_MIN) ms = TIME_MS_MIN;
    if (ms > TIME_MS_MAX) ms = TIME_MS_MAX;
    int64_t of_second = ms % MS_PER_SECOND;
    if (of_second < 0) of_second += MS_PER_SECOND;
    time_t seconds = (time_t)((ms - of_second) / MS_PER_SECOND);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL) memset(&parts, 0, sizeof parts);
    snprintf(out, VALUE_TEXT_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
             parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
             (int)of_second);
    return out;
}

int64_t value_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000;
}
