/*
 * cJSON behind one strict front. The text must be RFC 8259 JSON in valid UTF-8 without a byte order mark, within the
 * limits, with nothing but white space behind the value. Numbers keep whether they were written as integers, and
 * integers keep all 64 bits. A "\u0000" in a string is kept as the two bytes C0 80 (which valid UTF-8 cannot hold), so
 * that no string is cut at a NUL. A key that repeats in an object keeps its first place and gets its last value, as in
 * Python; limits may refuse it instead. So every object's keys are unique.
 */
#ifndef WFS_JSON_H
#define WFS_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wfs_json; /* an immutable document; owns its nodes and strings in one arena */

struct wfs_json_limits {
    size_t max_bytes;   /* of text */
    unsigned max_depth; /* of nested arrays and objects, at most 512 */
    bool unique_keys;   /* a duplicate key in any object is an error */
    bool constants;     /* NaN, Infinity and -Infinity are numbers, as in Python's json */
};

/* 512 MiB, depth 128, the last duplicate wins; the second for files that Python's json reads */
extern const struct wfs_json_limits WFS_JSON_CONFIG, WFS_JSON_PYTHON;

/* Parses len bytes. name is the file's, for messages ("NAME: line L column C: why"). 0 or -EINVAL, -EFBIG, -ENOMEM. */
int wfs_json_parse(const void *text, size_t len, const struct wfs_json_limits *limits, const char *name,
                   struct wfs_json **ret, struct wfs_error *err);
void wfs_json_free(struct wfs_json *json);

const cJSON *wfs_json_root(const struct wfs_json *json);

/* The member of an object by its exact key (bytes and case); NULL when absent, or when object is NULL or no object. */
const cJSON *wfs_json_get(const cJSON *object, const char *key);

/* The string's bytes, NUL-terminated; NULL when node is NULL or not a string. Owned by the document. */
const char *wfs_json_string(const cJSON *node);

/* True when node is a number written without point and exponent (a Python int). */
bool wfs_json_is_int(const cJSON *node);

/* True and the value when node is an integer that fits. */
bool wfs_json_i64(const cJSON *node, int64_t *ret);
bool wfs_json_u64(const cJSON *node, uint64_t *ret);

/* True and the value when node is any number. */
bool wfs_json_double(const cJSON *node, double *ret);

#endif
