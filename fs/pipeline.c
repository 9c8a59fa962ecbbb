#include "pipeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wfs_tiling wfs_pipeline_tiling(const struct wfs_plan *p)
{
    uint64_t block = wfs_ggml_types[p->dst].block_elems;
    struct wfs_tiling t = { .n_elems = p->row_elems * p->n_rows };

    t.unit_elems = t.n_elems;
    t.tile_elems = WFS_TILE_ELEMS / block * block;
    if (p->order != WFS_ROWS_AS_IS || wfs_plan_whole_rows(p)) {
        if (p->row_elems > t.tile_elems && wfs_plan_whole_rows(p))
            t.tile_elems = t.unit_elems = p->row_elems;
        else if (p->row_elems > t.tile_elems)
            t.unit_elems = p->row_elems;
        else
            t.tile_elems = t.tile_elems / p->row_elems * p->row_elems;
    }
    t.tiles_per_unit = t.unit_elems / t.tile_elems + (t.unit_elems % t.tile_elems != 0);
    t.n_tiles = t.n_elems / t.unit_elems * t.tiles_per_unit;
    return t;
}

uint64_t wfs_pipeline_tile_at(const struct wfs_plan *p, const struct wfs_tiling *t, uint64_t offset)
{
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[p->dst];
    uint64_t elem = offset / info->block_bytes * info->block_elems;

    return elem / t->unit_elems * t->tiles_per_unit + elem % t->unit_elems / t->tile_elems;
}

void wfs_pipeline_tile(const struct wfs_tiling *t, uint64_t tile, uint64_t *ret_begin, uint64_t *ret_end)
{
    uint64_t unit = tile / t->tiles_per_unit * t->unit_elems, begin = tile % t->tiles_per_unit * t->tile_elems;
    uint64_t end = begin + t->tile_elems;

    *ret_begin = unit + begin;
    *ret_end = unit + (end < t->unit_elems ? end : t->unit_elems);
}

uint64_t wfs_pipeline_part_elems(const struct wfs_plan *p, const struct wfs_tiling *t)
{
    const uint64_t part = WFS_TILE_ELEMS / WFS_TILE_MAX_PARTS;

    if (t->n_elems <= 2 * part || t->tile_elems <= part || wfs_plan_whole_rows(p))
        return 0;
    if (part % wfs_ggml_types[p->dst].block_elems != 0)
        return 0;
    if (p->order != WFS_ROWS_AS_IS && p->row_elems % part != 0 && part % p->row_elems != 0)
        return 0; /* it would be more than a row, and not whole ones */
    return part;
}

void wfs_pipeline_part(const struct wfs_plan *p, const struct wfs_tiling *t, uint64_t tile, unsigned part,
                       uint64_t *ret_begin, uint64_t *ret_end)
{
    uint64_t elems = wfs_pipeline_part_elems(p, t);

    wfs_pipeline_tile(t, tile, ret_begin, ret_end);
    if (part == 0)
        return;
    assert(elems > 0 && part <= WFS_TILE_MAX_PARTS && (part - 1) * elems < *ret_end - *ret_begin);
    *ret_begin += (part - 1) * elems;
    if (*ret_end - *ret_begin > elems)
        *ret_end = *ret_begin + elems;
}

uint64_t wfs_pipeline_out_bytes(const struct wfs_plan *p, uint64_t n_elems)
{
    return n_elems / wfs_ggml_types[p->dst].block_elems * wfs_ggml_types[p->dst].block_bytes;
}

uint64_t wfs_pipeline_source_bytes(const struct wfs_plan *p, uint64_t n_elems)
{
    return n_elems * wfs_dtypes[p->tensor->dtype].bits / 8;
}

struct make {
    const struct wfs_plan *p;
    const struct wfs_kernels *k;
    wfs_decode_fn *decode;
    float *floats;    /* WFS_PIPELINE_CHUNK */
    uint16_t *halves; /* as many */
    float *row;       /* a whole row, for rows that must not be cut and are longer than a chunk; else NULL */
    struct wfs_bad_value *bad;
};

static int refuse(const struct make *m, enum wfs_refusal refusal, uint64_t elem)
{
    m->bad->refusal = refusal;
    m->bad->elem = elem;
    return -EDOM;
}

/*
 * The source's own type is that of the 16-bit file, and NaNs are refused: then its values pass through that file
 * unchanged.
 */
static bool via_is_source(const struct wfs_plan *p)
{
    return p->validate_via && ((p->via == WFS_TYPE_F16 && p->tensor->dtype == WFS_F16) ||
                               (p->via == WFS_TYPE_BF16 && p->tensor->dtype == WFS_BF16));
}

/*
 * Decodes n values (at most a chunk) to floats, as they come out of the file that the reference quantises from. elem:
 * of the first, for messages.
 */
static int decode_rounded(const struct make *m, const uint8_t *source, float *floats, size_t n, uint64_t elem)
{
    const struct wfs_plan *p = m->p;
    const void *via = source;
    size_t bad;

    if (via_is_source(p)) {
        m->decode(source, floats, n);
    } else {
        m->decode(source, floats, n);
        via = floats;
        if (p->via != WFS_TYPE_F32) {
            m->k->encode[p->via](floats, m->halves, n);
            m->k->decode[p->via == WFS_TYPE_F16 ? WFS_F16 : WFS_BF16](m->halves, floats, n);
            via = m->halves;
        }
    }
    if (!p->validate_via)
        return 0;
    bad = m->k->validate[p->via](via, n);
    return bad < n ? refuse(m, WFS_REFUSED_VIA, elem + bad) : 0;
}

/* n consecutive values to out; elem is the first one's place in the output. */
static int make_part(const struct make *m, const uint8_t *source, uint8_t *out, uint64_t n, uint64_t elem)
{
    const struct wfs_plan *p = m->p;
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[p->dst];
    bool plain = p->dst == WFS_TYPE_F32 && p->via == WFS_TYPE_F32 && !p->validate_via;

    while (n > 0) {
        size_t now = n < WFS_PIPELINE_CHUNK ? (size_t)n : WFS_PIPELINE_CHUNK;
        size_t n_blocks = now / info->block_elems, bad;

        if (plain) {
            m->decode(source, (float *)(void *)out, now);
        } else {
            int r = decode_rounded(m, source, m->floats, now, elem);

            if (r < 0)
                return r;
            m->k->encode[p->dst](m->floats, out, now);
        }
        if (p->validate && (bad = m->k->validate[p->dst](out, n_blocks)) < n_blocks)
            return refuse(m, WFS_REFUSED_OUTPUT, elem + bad * info->block_elems);
        source += wfs_pipeline_source_bytes(p, now);
        out += n_blocks * info->block_bytes;
        elem += now;
        n -= now;
    }
    return 0;
}

/* The same with importance weights, row by row: a row's values meet the weights of their columns. */
static int make_weighted(const struct make *m, const uint8_t *source, uint8_t *out, uint64_t n, uint64_t elem)
{
    const struct wfs_plan *p = m->p;
    const struct wfs_ggml_type_info *info = &wfs_ggml_types[p->dst];
    uint64_t most = wfs_plan_whole_rows(p) ? p->row_elems : WFS_PIPELINE_CHUNK;

    while (n > 0) {
        uint64_t column = elem % p->row_elems, slice = elem / p->row_elems / p->slice_rows % p->n_slices;
        uint64_t left = p->row_elems - column, now = left < n ? left : n;
        float *floats = m->row ? m->row : m->floats;
        size_t n_blocks, bad;

        now = now < most ? now : most;
        n_blocks = (size_t)(now / info->block_elems);
        for (uint64_t at = 0; at < now; at += WFS_PIPELINE_CHUNK) {
            size_t part = now - at < WFS_PIPELINE_CHUNK ? (size_t)(now - at) : WFS_PIPELINE_CHUNK;
            int r = decode_rounded(m, source + wfs_pipeline_source_bytes(p, at), floats + at, part, elem + at);

            if (r < 0)
                return r;
        }
        m->k->encode_weighted[p->dst](floats, p->weights + slice * p->row_elems + column, out, (size_t)now);
        if (p->validate && (bad = m->k->validate[p->dst](out, n_blocks)) < n_blocks)
            return refuse(m, WFS_REFUSED_OUTPUT, elem + bad * info->block_elems);
        source += wfs_pipeline_source_bytes(p, now);
        out += n_blocks * info->block_bytes;
        elem += now;
        n -= now;
    }
    return 0;
}

static int make_run(const struct make *m, const uint8_t *source, uint8_t *out, uint64_t n, uint64_t elem)
{
    return m->p->weights ? make_weighted(m, source, out, n, elem) : make_part(m, source, out, n, elem);
}

static bool has_kernels(const struct wfs_plan *p, const struct wfs_kernels *k)
{
    bool encodes = p->weights ? k->encode_weighted[p->dst] != NULL : k->encode[p->dst] != NULL;

    return k->decode[p->tensor->dtype] && encodes && (!p->validate || k->validate[p->dst]) &&
           (!p->validate_via || k->validate[p->via]) &&
           (p->via == WFS_TYPE_F32 || ((p->via == WFS_TYPE_F16 || p->via == WFS_TYPE_BF16) && k->encode[p->via]));
}

static int make_rows(const struct make *m, uint64_t begin, uint64_t end, const uint8_t *source,
                     const struct wfs_runs *runs, uint8_t *out)
{
    const struct wfs_plan *p = m->p;

    for (uint64_t at = begin, stop; at < end; at = stop) {
        uint64_t row = at / p->row_elems, elem;
        int r;

        stop = (row + 1) * p->row_elems < end ? (row + 1) * p->row_elems : end;
        elem = wfs_transform_row(p, row) * p->row_elems + at % p->row_elems;
        r = make_run(m, source + wfs_pipeline_source_bytes(p, wfs_transform_find(runs, elem)),
                     out + wfs_pipeline_out_bytes(p, at - begin), stop - at, at);
        if (r < 0)
            return r;
    }
    return 0;
}

int wfs_pipeline_make(const struct wfs_plan *p, const struct wfs_kernels *k, uint64_t begin, uint64_t end,
                      const uint8_t *source, const struct wfs_runs *runs, uint8_t *out, void *scratch,
                      struct wfs_bad_value *ret_bad)
{
    struct make m = { .p = p, .k = k, .decode = k->decode[p->tensor->dtype], .floats = scratch,
                      .halves = (uint16_t *)((float *)scratch + WFS_PIPELINE_CHUNK), .bad = ret_bad };
    int r;

    if (!has_kernels(p, k))
        return -ENOTSUP;
    if (wfs_plan_whole_rows(p) && p->row_elems > WFS_PIPELINE_CHUNK) {
        assert(begin % p->row_elems == 0 && end % p->row_elems == 0);
        m.row = malloc(p->row_elems * sizeof *m.row);
        if (!m.row)
            return -ENOMEM;
    }
    if (p->order == WFS_ROWS_AS_IS)
        r = make_run(&m, source, out, end - begin, begin);
    else
        r = make_rows(&m, begin, end, source, runs, out);
    free(m.row);
    return r;
}
