/* The error object: owned by the caller, set where a call fails, wrapped with context on the way up, printed once. */
#ifndef WFS_BASE_ERROR_H
#define WFS_BASE_ERROR_H

#include <stdarg.h>

struct wfs_error {
    int code;       /* a positive errno value; 0 = no error */
    char msg[1000]; /* one line, control bytes escaped, NUL-terminated */
};

/*
 * Sets code and message. Control bytes and invalid UTF-8 in the formatted text are written \xNN, so that a hostile
 * name cannot reach a terminal or a log raw; a text that does not fit is cut with "...". Returns -code.
 * err may be NULL (then only the return value counts).
 */
int wfs_error_set(struct wfs_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ENOMEM, "out of memory". */
int wfs_error_nomem(struct wfs_error *err);

/* Puts "context: " in front of the message. Returns -err->code (or -EIO when err is NULL). */
int wfs_error_wrap(struct wfs_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes at most size bytes to out: text (len bytes) with control bytes and invalid UTF-8 as \xNN; terminated. */
void wfs_escape(char *out, unsigned long size, const char *text, unsigned long len);

#endif
