/* Connections that may lose a share of their data, by the local socket of `airwattd gateway` at a mobile.
 *
 *     int fd = airwatt_partial_connect("/run/airwatt-gateway.sock", "192.0.2.1", 80, 90, 100);
 *     write(fd, request, length);
 *     struct airwatt_piece piece;
 *     static char buffer[AIRWATT_PIECE_MAX];
 *     while (airwatt_partial_read(fd, &piece, buffer) > 0)
 *         if (piece.kind == AIRWATT_DATA) consume(buffer, piece.length);
 *
 * What is written to the descriptor is sent as it is; shutdown(fd, SHUT_WR) ends it. The protocol of the socket is in
 * docs/gateway.md. Nothing has to be linked.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef AIRWATT_PARTIAL_H
#define AIRWATT_PARTIAL_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define AIRWATT_DATA 'D' /* the next bytes of the stream, with zeros where some are missing */
#define AIRWATT_GAP 'G'  /* these bytes are missing; comes before the data */
#define AIRWATT_LATE 'L' /* bytes that had been missing */
#define AIRWATT_END_ 'E'

#define AIRWATT_PIECE_MAX 65536

struct airwatt_piece {
    char kind;
    uint64_t position; /* in the stream, in bytes */
    uint32_t length;   /* in bytes */
};

/* Reads exactly this many bytes. Returns 1, or 0 at the end of the stream before the first, or -1. */
static inline int airwatt_read_all_(int fd, void *into, size_t count) {
    size_t have = 0;
    while (have < count) {
        ssize_t got = read(fd, (char *)into + have, count - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 && have == 0)
            return 0;
        if (got <= 0) {
            if (got == 0)
                errno = ECONNRESET;
            return -1;
        }
        have += (size_t)got;
    }
    return 1;
}

/* Connects to a server (a numeric address) through the gateway whose local socket is `path`. At least `wanted` per cent of the
 * received bytes must arrive, and `offered` per cent of the sent ones. Returns a descriptor, or -1 with errno: ECONNREFUSED if the
 * server or the gateway refuses. */
static inline int airwatt_partial_connect(const char *path, const char *address, uint16_t port, unsigned wanted,
                                          unsigned offered) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char line[128], answer[128];
    size_t length = 0;
    int fd, count = snprintf(line, sizeof line, "open %s %u %u %u\n", address, port, wanted, offered);
    if (strlen(path) >= sizeof at.sun_path || count < 0 || (size_t)count >= sizeof line) {
        errno = EINVAL;
        return -1;
    }
    strcpy(at.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0 || send(fd, line, (size_t)count, MSG_NOSIGNAL) != count)
        goto failed;
    do {
        if (length == sizeof answer || airwatt_read_all_(fd, answer + length, 1) != 1)
            goto refused;
    } while (answer[length++] != '\n');
    if (length == 3 && memcmp(answer, "ok\n", 3) == 0)
        return fd;
refused:
    errno = ECONNREFUSED;
failed: {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}
}

/* Reads the next piece, and its bytes into `buffer`, which holds AIRWATT_PIECE_MAX. Returns 1, or 0 at the end of the stream, or -1
 * with errno: ECONNRESET if the connection was lost. */
static inline int airwatt_partial_read(int fd, struct airwatt_piece *piece, void *buffer) {
    unsigned char header[13];
    int i, got = airwatt_read_all_(fd, header, sizeof header);
    if (got == 0)
        errno = ECONNRESET;
    if (got <= 0)
        return -1;
    piece->kind = (char)header[0];
    piece->position = 0;
    piece->length = 0;
    for (i = 1; i <= 8; i++)
        piece->position = piece->position << 8 | header[i];
    for (; i <= 12; i++)
        piece->length = piece->length << 8 | header[i];
    if (piece->kind == AIRWATT_END_)
        return 0;
    if (piece->kind == AIRWATT_GAP)
        return 1;
    if (piece->length > AIRWATT_PIECE_MAX) {
        errno = EPROTO;
        return -1;
    }
    got = piece->length ? airwatt_read_all_(fd, buffer, piece->length) : 1;
    if (got == 0)
        errno = ECONNRESET;
    return got == 1 ? 1 : -1;
}

#endif
