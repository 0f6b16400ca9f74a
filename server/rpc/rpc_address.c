#include "rpc/rpc_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ADDRESS_HOST_BYTES 256

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    return false;
}

// Whether text is a port, 0 to 65535; gRPC would take a larger number modulo 65536.
static bool is_port(const char *text) {
    uint32_t port = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        port = port * 10 + (uint32_t)(text[i] - '0');
        if (port > UINT16_MAX) return false;
    }
    return text[0] != '\0';
}

// Splits HOST:PORT or [HOST]:PORT; false if it is neither.
static bool split(const char *address, char host[ADDRESS_HOST_BYTES], const char **out_port) {
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address) return false;
    const char *start = address;
    const char *end = colon;
    if (*start == '[') {
        if (end[-1] != ']') return false;
        start++;
        end--;
    } else if (memchr(start, ':', (size_t)(end - start)) != NULL) {
        return false; // an IPv6 address needs its brackets
    }
    size_t len = (size_t)(end - start);
    if (len == 0 || len >= ADDRESS_HOST_BYTES) return false;
    memcpy(host, start, len);
    host[len] = '\0';
    *out_port = colon + 1;
    return is_port(*out_port);
}

enum err rpc_address_check(const char *address, bool allow_insecure, struct error_detail *detail) {
    char host[ADDRESS_HOST_BYTES];
    const char *port;
    if (strncmp(address, "unix:", 5) == 0 && address[5] != '\0') return ERR_OK; // files guard it
    if (!split(address, host, &port)) {
        error_detail_set(
            detail, "--listen %s: must be HOST:PORT, e.g. 127.0.0.1:7420 or [::1]:7420", address);
        return ERR_INVALID_ARGUMENT;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) {
        error_detail_set(detail, "--listen %s: %s", address, gai_strerror(code));
        return ERR_INVALID_ARGUMENT;
    }
    bool all_loopback = true;
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        all_loopback = all_loopback && is_loopback(one->ai_addr);
    }
    freeaddrinfo(found);
    if (!all_loopback && !allow_insecure) {
        error_detail_set(detail,
                         "--listen %s: not a loopback address, and connections are not "
                         "encrypted: anybody on the network could claim, complete and read. "
                         "Listen on 127.0.0.1, or say --insecure if something in front "
                         "protects the port",
                         address);
        return ERR_INVALID_ARGUMENT;
    }
    return ERR_OK;
}
