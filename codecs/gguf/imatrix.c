#include "imatrix.h"
#include "../base/cursor.h"
#include "../kernels/types.h"
#include "reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The entry of a name, added when it is new. NULL when out of memory. */
static struct wfs_imatrix_entry *entry_of(struct wfs_imatrix *m, const char *name, size_t len)
{
    struct wfs_imatrix_entry *e, *grown;
    uint32_t at;

    if (wfs_map_get(&m->by_name, name, len, &at))
        return &m->entries[at];
    if ((m->n_entries & (m->n_entries - 1)) == 0) { /* at powers of two */
        grown = realloc(m->entries, (m->n_entries ? 2 * m->n_entries : 1) * sizeof *grown);
        if (!grown)
            return NULL;
        m->entries = grown;
    }
    e = &m->entries[m->n_entries];
    *e = (struct wfs_imatrix_entry){ .name = strndup(name, len) };
    if (!e->name || wfs_map_add(&m->by_name, e->name, len, (uint32_t)m->n_entries, NULL) < 0) {
        free(e->name);
        return NULL;
    }
    m->n_entries++;
    return e;
}

/* n floats from the file's bytes. NULL when out of memory. */
static float *floats_of(const uint8_t *bytes, size_t n)
{
    float *values = malloc((n ? n : 1) * sizeof *values);

    if (values)
        memcpy(values, bytes, n * sizeof *values); /* little endian, as kernels/bits.h demands */
    return values;
}

static int check_finite(const struct wfs_imatrix *m, struct wfs_error *err)
{
    for (size_t i = 0; i < m->n_entries; i++) {
        const struct wfs_imatrix_entry *e = &m->entries[i];

        for (size_t k = 0; k < e->n; k++) {
            if (!isfinite(e->values[k]))
                return wfs_error_set(err, EINVAL, "tensor %s: value %zu is not finite, which llama-quantize refuses",
                                     e->name, k);
        }
    }
    return 0;
}

/* --- the .dat form: entries of sums over calls, then (optional) the number of chunks and a data set --- */

static bool cursor_i32(struct wfs_cursor *c, int32_t *ret)
{
    uint32_t v;

    if (!wfs_cursor_u32le(c, &v))
        return false;
    *ret = (int32_t)v;
    return true;
}

static int parse_dat_entry(struct wfs_imatrix *m, struct wfs_cursor *c, struct wfs_error *err)
{
    int32_t len, calls, n;
    const uint8_t *name, *bytes;
    struct wfs_imatrix_entry *e;
    float *values;

    if (!cursor_i32(c, &len) || len < 0 || !(name = wfs_cursor_take(c, (size_t)len)) || !cursor_i32(c, &calls) ||
        !cursor_i32(c, &n) || n < 1 || !(bytes = wfs_cursor_take(c, (size_t)n * sizeof(float))))
        return wfs_error_set(err, EINVAL, "entry %zu: the file ends, or a length is wrong, at byte %zu",
                             m->n_entries + 1, c->at);
    e = entry_of(m, (const char *)name, strnlen((const char *)name, (size_t)len));
    values = e ? floats_of(bytes, (size_t)n) : NULL;
    if (!values)
        return wfs_error_nomem(err);
    for (int32_t i = 0; i < n && calls > 0; i++)
        values[i] = values[i] / (float)calls;
    free(e->values);
    e->values = values;
    e->n = (size_t)n;
    return 0;
}

static int parse_dat_tail(struct wfs_imatrix *m, struct wfs_cursor *c, struct wfs_error *err)
{
    size_t left = wfs_cursor_left(c);
    const uint8_t *text;
    int32_t len;

    if (left < sizeof m->chunks) { /* the reference takes what is there of a number that is cut */
        memcpy(&m->chunks, wfs_cursor_take(c, left), left);
        return 0;
    }
    cursor_i32(c, &m->chunks);
    if (!cursor_i32(c, &len) || len <= 0 || !(text = wfs_cursor_take(c, (size_t)len)))
        return 0;
    m->dataset = strndup((const char *)text, (size_t)len);
    return m->dataset ? 0 : wfs_error_nomem(err);
}

static int parse_dat(struct wfs_imatrix *m, const void *data, size_t len, struct wfs_error *err)
{
    struct wfs_cursor c = wfs_cursor_over(data, len);
    int32_t n;
    int r = 0;

    if (!cursor_i32(&c, &n) || n < 1)
        return wfs_error_set(err, EINVAL, "neither a GGUF file nor an importance matrix of the older form");
    for (int32_t i = 0; i < n && r == 0; i++) {
        r = parse_dat_entry(m, &c, err);
        if (r == -EINVAL && i == 0) /* whatever else the file is, it begins with a number, too */
            wfs_error_wrap(err, "neither a GGUF file nor an importance matrix of the older form");
    }
    return r == 0 ? parse_dat_tail(m, &c, err) : r;
}

/* --- the GGUF form: tensors NAME.in_sum2 and NAME.counts, and three keys --- */

struct pair {
    const char *name; /* of the matrix, without the suffix */
    size_t len;
    const struct wfs_gguf_tensor_info *sums, *counts;
};

static bool strip(struct pair *p, const struct wfs_gguf_tensor_info *t, const char *suffix)
{
    size_t len = strlen(suffix);

    if (t->name_len < len || memcmp(t->name + t->name_len - len, suffix, len) != 0)
        return false;
    p->name = t->name;
    p->len = t->name_len - len;
    return true;
}

/* Puts every tensor of a matrix beside its twin. pairs has room for all tensors. */
static int pair_up(const struct wfs_gguf_header *h, struct pair *pairs, size_t *ret_n, struct wfs_error *err)
{
    struct wfs_map map;
    size_t n = 0;
    int r = 0;

    wfs_map_init(&map);
    for (size_t i = 0; i < h->n_tensors && r == 0; i++) {
        const struct wfs_gguf_tensor_info *t = &h->tensors[i];
        struct pair p = { 0 };
        bool sums = strip(&p, t, ".in_sum2");
        uint32_t at = (uint32_t)n;

        if (!sums && !strip(&p, t, ".counts"))
            continue;
        r = wfs_map_add(&map, p.name, p.len, at, &at);
        if (r < 0) {
            r = wfs_error_nomem(err);
            break;
        }
        if (r == 1)
            pairs[n++] = p;
        *(sums ? &pairs[at].sums : &pairs[at].counts) = t;
        r = 0;
    }
    wfs_map_done(&map);
    *ret_n = n;
    return r;
}

static float float_at(const uint8_t *bytes, uint64_t i)
{
    float v;

    memcpy(&v, bytes + i * sizeof v, sizeof v);
    return v;
}

/* lround: to the nearest integer, halves away from zero; beyond its range (and for NaN) x86 gives the lowest. */
static int64_t rounded(float v)
{
    return v >= -0x1p63f && v < 0x1p63f ? llroundf(v) : INT64_MIN;
}

/* Sums over tokens become means; where an expert saw no token, ones. */
static int add_pair(struct wfs_imatrix *m, const struct pair *p, struct wfs_error *err)
{
    struct wfs_imatrix_entry *e;
    uint64_t n_counts, row;

    if (!p->sums || !p->counts)
        return wfs_error_set(err, EINVAL, "tensor %.*s has %s only", (int)p->len, p->name,
                             p->sums ? "sums" : "counts");
    if (p->sums->type != WFS_TYPE_F32 || p->counts->type != WFS_TYPE_F32)
        return wfs_error_set(err, EINVAL, "tensor %.*s: sums and counts must be F32", (int)p->len, p->name);
    n_counts = p->counts->n_elems;
    if (n_counts == 0)
        return wfs_error_set(err, EINVAL, "tensor %.*s has no counts", (int)p->len, p->name);
    e = entry_of(m, p->name, p->len);
    if (!e)
        return wfs_error_nomem(err);
    e->n = (size_t)p->sums->n_elems;
    e->values = calloc(e->n ? e->n : 1, sizeof *e->values);
    if (!e->values)
        return wfs_error_nomem(err);
    row = e->n / n_counts;
    for (uint64_t j = 0; j < n_counts; j++) {
        float count = (float)rounded(float_at(p->counts->data, j));

        for (uint64_t i = j * row; i < (j + 1) * row; i++)
            e->values[i] = count > 0 ? float_at(p->sums->data, i) / count : 1;
    }
    return 0;
}

static bool is_u32(const struct wfs_gguf_key *k)
{
    return k->type == WFS_GGUF_U32 && !k->is_array;
}

static int read_keys(struct wfs_imatrix *m, const struct wfs_gguf_header *h, struct wfs_error *err)
{
    const struct wfs_gguf_key *datasets = wfs_gguf_header_find(h, "imatrix.datasets");
    const struct wfs_gguf_key *count = wfs_gguf_header_find(h, "imatrix.chunk_count");
    const struct wfs_gguf_key *size = wfs_gguf_header_find(h, "imatrix.chunk_size");
    const char *text;
    size_t len;

    if (!datasets || !count || !size)
        return wfs_error_set(err, EINVAL, "not an importance matrix: imatrix.datasets, imatrix.chunk_count or "
                                          "imatrix.chunk_size is missing");
    if (!is_u32(count) || !is_u32(size))
        return wfs_error_set(err, EINVAL, "imatrix.chunk_count and imatrix.chunk_size must be uint32");
    memcpy(&m->chunks, count->value, sizeof m->chunks);
    if (!datasets->is_array || datasets->type != WFS_GGUF_STRING || datasets->n == 0)
        return 0;
    wfs_gguf_key_string(datasets, 0, &text, &len);
    m->dataset = strndup(text, len);
    return m->dataset ? 0 : wfs_error_nomem(err);
}

static int parse_gguf(struct wfs_imatrix *m, const void *data, size_t len, struct wfs_error *err)
{
    struct wfs_gguf_header h;
    struct pair *pairs;
    size_t n = 0;
    int r = wfs_gguf_header_parse(data, len, &h, err);

    if (r < 0)
        return r;
    if (h.n_tensors == 0)
        r = wfs_error_set(err, EINVAL, "the file holds no tensors");
    pairs = calloc(h.n_tensors + 1, sizeof *pairs);
    if (r == 0)
        r = pairs ? read_keys(m, &h, err) : wfs_error_nomem(err);
    if (r == 0)
        r = pair_up(&h, pairs, &n, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = add_pair(m, &pairs[i], err);
    free(pairs);
    wfs_gguf_header_done(&h);
    return r;
}

int wfs_imatrix_parse(const void *data, size_t len, struct wfs_imatrix *ret, struct wfs_error *err)
{
    struct wfs_imatrix m = { 0 };
    int r;

    wfs_map_init(&m.by_name);
    if (len >= 4 && memcmp(data, "GGUF", 4) == 0)
        r = parse_gguf(&m, data, len, err);
    else
        r = parse_dat(&m, data, len, err);
    if (r == 0)
        r = check_finite(&m, err);
    if (r < 0) {
        wfs_imatrix_done(&m);
        return r;
    }
    *ret = m;
    return 0;
}

void wfs_imatrix_done(struct wfs_imatrix *m)
{
    for (size_t i = 0; i < m->n_entries; i++) {
        free(m->entries[i].name);
        free(m->entries[i].values);
    }
    free(m->entries);
    free(m->dataset);
    wfs_map_done(&m->by_name);
    *m = (struct wfs_imatrix){ 0 };
}

const struct wfs_imatrix_entry *wfs_imatrix_find(const struct wfs_imatrix *m, const char *name)
{
    uint32_t at;

    return wfs_map_get(&m->by_name, name, strlen(name), &at) ? &m->entries[at] : NULL;
}
