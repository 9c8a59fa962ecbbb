#include "json.h"
#include "base/buf.h"
#include "base/huge.h"
#include "base/utf8.h"
#include "json_keys.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const struct wfs_json_limits WFS_JSON_CONFIG = { .max_bytes = 512u << 20, .max_depth = 128, .unique_keys = false };
const struct wfs_json_limits WFS_JSON_PYTHON = { .max_bytes = 512u << 20, .max_depth = 128, .constants = true };

/*
 * cJSON allocates one node and one string at a time and keeps numbers as doubles. Both are mended here: while this
 * thread parses, its allocations come from an arena that the document owns (freed in one go, so the memory goes back),
 * and a number node that was not written as an integer is marked.
 */
enum { CHUNK_BYTES = 1 << 20, MAX_CHUNK_BYTES = 32 << 20 };
enum { FLAG_REAL = 1 << 12, MAX_NUMBER_CHARS = 60, EXACT_DIGITS = 15 };

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

struct wfs_json {
    struct chunk *chunks; /* each twice as large as the one before, up to MAX_CHUNK_BYTES */
    cJSON *root;
};

static _Thread_local struct wfs_json *arena_owner;
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static void *arena_alloc(size_t size)
{
    struct wfs_json *json = arena_owner;
    struct chunk *c;
    void *p;

    if (!json)
        return malloc(size);
    size = (size + 15) & ~(size_t)15;
    c = json->chunks;
    if (!c || c->size - c->used < size) {
        size_t room = c ? 2 * c->size : CHUNK_BYTES;

        room = room > MAX_CHUNK_BYTES ? MAX_CHUNK_BYTES : room;
        room = room < size ? size : room;
        c = wfs_huge_malloc(sizeof *c + room);
        if (!c)
            return NULL;
        c->next = json->chunks;
        c->used = 0;
        c->size = room;
        json->chunks = c;
    }
    p = c->bytes + c->used;
    c->used += size;
    return p;
}

static void arena_release(void *p)
{
    if (!arena_owner)
        free(p);
}

static void install_hooks(void)
{
    cJSON_Hooks hooks = { arena_alloc, arena_release };

    cJSON_InitHooks(&hooks);
}

/* The strict scan: checks the grammar, and writes another text for cJSON where it needs one (for "\u0000"). */
struct scan {
    const unsigned char *text;
    size_t len, at;
    unsigned max_depth;
    bool constants;
    struct wfs_buf out; /* what cJSON gets for the text up to `copied` */
    size_t copied;
    size_t n_numbers;
    struct wfs_buf numbers; /* of struct number, in the order of the text */
    const char *reason;
    size_t reason_at;
};

/* One that its node alone does not tell: no integer, or one of more digits than a double holds. */
struct number {
    size_t index;    /* among all numbers */
    uint64_t offset; /* in the text */
    uint32_t len;
    bool integer, nan;
};

static bool fail(struct scan *s, size_t at, const char *reason)
{
    s->reason = reason;
    s->reason_at = at;
    return false;
}

/* Steps over len bytes of the text, for which cJSON gets others. */
static void replace(struct scan *s, size_t len, const char *with)
{
    wfs_buf_put(&s->out, s->text + s->copied, s->at - s->copied);
    wfs_buf_str(&s->out, with);
    s->at += len;
    s->copied = s->at;
}

static void add_number(struct scan *s, struct number number)
{
    number.index = s->n_numbers++;
    if (!number.integer || number.len > EXACT_DIGITS)
        wfs_buf_put(&s->numbers, &number, sizeof number);
}

static int peek(const struct scan *s)
{
    return s->at < s->len ? s->text[s->at] : -1;
}

static void skip_space(struct scan *s)
{
    while (s->at < s->len &&
           (s->text[s->at] == ' ' || s->text[s->at] == '\n' || s->text[s->at] == '\t' || s->text[s->at] == '\r'))
        s->at++;
}

static int hex4(const unsigned char *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        int c = p[i], digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (c | 32) - 'a' + 10;
        else
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static bool scan_unicode_escape(struct scan *s)
{
    int first = s->len - s->at >= 6 ? hex4(s->text + s->at + 2) : -1;

    if (first < 0)
        return fail(s, s->at, "a \\u escape without four hexadecimal digits");
    if (first == 0) {
        replace(s, 6, "\xc0\x80");
        return true;
    }
    if (first >= 0xd800 && first <= 0xdfff) {
        int second = -1;

        if (first < 0xdc00 && s->len - s->at >= 12 && s->text[s->at + 6] == '\\' && s->text[s->at + 7] == 'u')
            second = hex4(s->text + s->at + 8);
        if (second < 0xdc00 || second > 0xdfff)
            return fail(s, s->at, "a \\u escape that is half of a surrogate pair");
        s->at += 12;
        return true;
    }
    s->at += 6;
    return true;
}

static bool scan_string(struct scan *s)
{
    s->at++;
    for (;;) {
        const unsigned char *p = s->text + s->at, *end = s->text + s->len;
        int c;

        while (p < end && *p != '"' && *p != '\\' && *p >= 0x20)
            p++;
        s->at = (size_t)(p - s->text);
        c = peek(s);
        if (c < 0)
            return fail(s, s->at, "the text ends within a string");
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c < 0x20)
            return fail(s, s->at, "a bare control byte in a string");
        if (s->at + 1 >= s->len)
            return fail(s, s->at, "the text ends within a string");
        c = s->text[s->at + 1];
        if (c == 'u') {
            if (!scan_unicode_escape(s))
                return false;
        } else if (strchr("\"\\/bfnrt", c) && c) {
            s->at += 2;
        } else {
            return fail(s, s->at, "an unknown escape in a string");
        }
    }
}

static size_t digits(const struct scan *s, size_t at)
{
    size_t n = 0;

    while (at + n < s->len && s->text[at + n] >= '0' && s->text[at + n] <= '9')
        n++;
    return n;
}

static bool scan_number(struct scan *s)
{
    size_t begin = s->at, at = begin, n;
    struct number number = { .offset = begin, .integer = true };

    if (s->text[at] == '-')
        at++;
    n = digits(s, at);
    if (n == 0 || (n > 1 && s->text[at] == '0'))
        return fail(s, begin, "a number that JSON does not allow");
    at += n;
    if (at < s->len && s->text[at] == '.') {
        n = digits(s, at + 1);
        if (n == 0)
            return fail(s, begin, "a number that JSON does not allow");
        at += 1 + n;
        number.integer = false;
    }
    if (at < s->len && (s->text[at] | 32) == 'e') {
        at++;
        if (at < s->len && (s->text[at] == '+' || s->text[at] == '-'))
            at++;
        n = digits(s, at);
        if (n == 0)
            return fail(s, begin, "a number that JSON does not allow");
        at += n;
        number.integer = false;
    }
    if (at - begin > MAX_NUMBER_CHARS)
        return fail(s, begin, "a number of more than 60 characters");
    number.len = (uint32_t)(at - begin);
    add_number(s, number);
    s->at = at;
    return true;
}

/* Python's constants: cJSON gets numbers of the same value, but for NaN, which mark_numbers makes. */
static bool scan_constant(struct scan *s)
{
    static const struct {
        const char *word, *number;
    } constants[] = { { "Infinity", "1e999" }, { "-Infinity", "-1e999" }, { "NaN", "0" } };

    for (size_t i = 0; s->constants && i < 3; i++) {
        size_t n = strlen(constants[i].word);
        struct number number = { .offset = s->at, .len = (uint32_t)n, .nan = i == 2 };

        if (s->len - s->at < n || memcmp(s->text + s->at, constants[i].word, n) != 0)
            continue;
        add_number(s, number);
        replace(s, n, constants[i].number);
        return true;
    }
    return false;
}

static bool scan_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);

    if (s->len - s->at < n || memcmp(s->text + s->at, word, n) != 0)
        return fail(s, s->at, "a value that JSON does not allow");
    s->at += n;
    return true;
}

static bool scan_scalar(struct scan *s)
{
    int c = peek(s);

    if (c == '"')
        return scan_string(s);
    if (scan_constant(s))
        return true;
    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(s);
    if (c < 0)
        return fail(s, s->at, "the text ends where a value should be");
    return scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

/* The key and the colon in front of a member's value. */
static bool scan_key(struct scan *s)
{
    skip_space(s);
    if (peek(s) != '"')
        return fail(s, s->at, "an object's key is missing");
    if (!scan_string(s))
        return false;
    skip_space(s);
    if (peek(s) != ':')
        return fail(s, s->at, "no ':' behind an object's key");
    s->at++;
    return true;
}

/* Iterative, so that depth costs no stack: closers[] holds what ends each open array or object. */
static bool scan_value(struct scan *s)
{
    unsigned char closers[WFS_JSON_MAX_DEPTH];
    unsigned depth = 0;

    for (;;) {
        int c;

        skip_space(s);
        c = peek(s);
        if (c == '[' || c == '{') {
            if (depth == s->max_depth)
                return fail(s, s->at, "arrays and objects are nested too deeply");
            closers[depth++] = c == '[' ? ']' : '}';
            s->at++;
            skip_space(s);
            if (peek(s) != closers[depth - 1]) {
                if (c == '{' && !scan_key(s))
                    return false;
                continue;
            }
        } else if (!scan_scalar(s)) {
            return false;
        }
        /* A value has ended (or an empty container is about to): close what ends here. */
        for (;;) {
            skip_space(s);
            if (depth == 0)
                return true;
            if (peek(s) != closers[depth - 1])
                break;
            s->at++;
            depth--;
        }
        if (peek(s) != ',')
            return fail(s, s->at, "neither ',' nor the end of an array or object");
        s->at++;
        if (closers[depth - 1] == '}' && !scan_key(s))
            return false;
    }
}

static bool scan_document(struct scan *s)
{
    size_t bad;

    if (s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
        return fail(s, 0, "the text starts with a byte order mark");
    bad = wfs_utf8_check(s->text, s->len);
    if (bad < s->len)
        return fail(s, bad, "not valid UTF-8");
    if (!scan_value(s))
        return false;
    return s->at == s->len ? true : fail(s, s->at, "something follows the JSON value");
}

static int report(const struct scan *s, const char *name, struct wfs_error *err)
{
    size_t line = 1, start = 0;

    for (size_t i = 0; i < s->reason_at && i < s->len; i++) {
        if (s->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    return wfs_error_set(err, EINVAL, "%s: line %zu column %zu: %s", name, line, s->reason_at - start + 1, s->reason);
}

/* Gives number nodes what their text said; long integers keep the text itself. */
static int mark_numbers(struct wfs_json *json, const struct scan *s)
{
    const struct number *number = (const void *)s->numbers.data, *end = number + s->numbers.len / sizeof *number;
    cJSON *stack[WFS_JSON_MAX_DEPTH + 1];
    unsigned depth = 0;
    size_t index = 0;

    for (cJSON *node = json->root; node && number < end; node = wfs_json_next(node, stack, &depth)) {
        if (!cJSON_IsNumber(node) || index++ != number->index)
            continue;
        if (number->integer) {
            node->valuestring = arena_alloc(number->len + 1);
            if (!node->valuestring)
                return -ENOMEM;
            memcpy(node->valuestring, s->text + number->offset, number->len);
            node->valuestring[number->len] = 0;
        } else {
            node->type |= FLAG_REAL;
        }
        if (number->nan)
            node->valuedouble = (double)NAN;
        number++;
    }
    return 0;
}

static int build(struct wfs_json *json, struct scan *s, const struct wfs_json_limits *limits, const char *name,
                 struct wfs_error *err)
{
    const unsigned char *text = s->text;
    size_t len = s->len;

    if (s->copied) {
        wfs_buf_put(&s->out, text + s->copied, len - s->copied);
        text = s->out.data;
        len = s->out.len;
    }
    if (s->numbers.failed || s->out.failed)
        return wfs_error_set(err, ENOMEM, "%s: out of memory", name);
    pthread_once(&hooks_once, install_hooks);
    arena_owner = json;
    json->root = cJSON_ParseWithLengthOpts((const char *)text, len, NULL, false);
    if (json->root && mark_numbers(json, s) < 0)
        json->root = NULL;
    arena_owner = NULL;
    /* The scan accepted the text, so memory is all that can have failed. */
    if (!json->root)
        return wfs_error_set(err, ENOMEM, "%s: out of memory, or JSON that cJSON does not take", name);
    return wfs_json_settle_keys(json->root, limits->unique_keys, name, err);
}

int wfs_json_parse(const void *text, size_t len, const struct wfs_json_limits *limits, const char *name,
                   struct wfs_json **ret, struct wfs_error *err)
{
    struct scan s = { .text = text, .len = len, .constants = limits->constants };
    struct wfs_json *json;
    int r;

    if (len > limits->max_bytes)
        return wfs_error_set(err, EFBIG, "%s: %zu bytes of JSON, more than the limit of %zu", name, len,
                             limits->max_bytes);
    s.max_depth = limits->max_depth < WFS_JSON_MAX_DEPTH ? limits->max_depth : WFS_JSON_MAX_DEPTH;
    json = calloc(1, sizeof *json);
    if (!json)
        r = wfs_error_set(err, ENOMEM, "%s: out of memory", name);
    else if (!scan_document(&s))
        r = report(&s, name, err);
    else
        r = build(json, &s, limits, name, err);
    wfs_buf_done(&s.out);
    wfs_buf_done(&s.numbers);
    if (r < 0)
        wfs_json_free(json);
    else
        *ret = json;
    return r;
}

void wfs_json_free(struct wfs_json *json)
{
    if (!json)
        return;
    while (json->chunks) {
        struct chunk *next = json->chunks->next;

        free(json->chunks);
        json->chunks = next;
    }
    free(json);
}

const cJSON *wfs_json_root(const struct wfs_json *json)
{
    return json->root;
}

const cJSON *wfs_json_get(const cJSON *object, const char *key)
{
    const cJSON *found = NULL;

    if (!cJSON_IsObject(object))
        return NULL;
    for (const cJSON *m = object->child; m; m = m->next) {
        if (strcmp(m->string, key) == 0)
            found = m;
    }
    return found;
}

const char *wfs_json_string(const cJSON *node)
{
    return cJSON_IsString(node) ? node->valuestring : NULL;
}

bool wfs_json_is_int(const cJSON *node)
{
    return cJSON_IsNumber(node) && !(node->type & FLAG_REAL);
}

bool wfs_json_i64(const cJSON *node, int64_t *ret)
{
    long long v;

    if (!wfs_json_is_int(node))
        return false;
    if (!node->valuestring) {
        *ret = (int64_t)node->valuedouble;
        return true;
    }
    errno = 0;
    v = strtoll(node->valuestring, NULL, 10);
    if (errno)
        return false;
    *ret = v;
    return true;
}

bool wfs_json_u64(const cJSON *node, uint64_t *ret)
{
    unsigned long long v;

    if (!wfs_json_is_int(node))
        return false;
    if (!node->valuestring) {
        if (node->valuedouble < 0)
            return false;
        *ret = (uint64_t)node->valuedouble;
        return true;
    }
    if (node->valuestring[0] == '-')
        return false;
    errno = 0;
    v = strtoull(node->valuestring, NULL, 10);
    if (errno)
        return false;
    *ret = v;
    return true;
}

bool wfs_json_double(const cJSON *node, double *ret)
{
    if (!cJSON_IsNumber(node))
        return false;
    *ret = node->valuedouble;
    return true;
}
