/*
 * Importance matrices in both forms, built byte by byte as the reference's imatrix tool writes them. What the values do
 * to a file is compared with llama-quantize in tests/interop.
 */
#include "base/buf.h"
#include "check.h"
#include "gguf/imatrix.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static int parse(const struct wfs_buf *b, struct wfs_imatrix *ret, struct wfs_error *err)
{
    uint8_t *exact = malloc(b->len ? b->len : 1); /* of exactly that size, for the sanitizers */
    int r;

    memcpy(exact, b->data, b->len);
    r = wfs_imatrix_parse(exact, b->len, ret, err);
    free(exact);
    return r;
}

static void refused(const struct wfs_buf *b, const char *why)
{
    struct wfs_imatrix m;
    struct wfs_error err;

    assert_int_equal(parse(b, &m, &err), -EINVAL);
    assert_contains(err.msg, why);
}

static void put_dat_entry(struct wfs_buf *b, const char *name, uint32_t calls, const float *values, uint32_t n)
{
    wfs_buf_u32le(b, (uint32_t)strlen(name));
    wfs_buf_str(b, name);
    wfs_buf_u32le(b, calls);
    wfs_buf_u32le(b, n);
    for (uint32_t i = 0; i < n; i++)
        wfs_buf_f32le(b, values[i]);
}

static void put_dat(struct wfs_buf *b)
{
    wfs_buf_u32le(b, 3);
    put_dat_entry(b, "blk.0.attn_q.weight", 3, (float[]){ 6, 1, 0 }, 3);
    put_dat_entry(b, "untouched", 0, (float[]){ 5, 7 }, 2);
    put_dat_entry(b, "blk.0.attn_q.weight", 2, (float[]){ 9 }, 1); /* the second of a name counts */
    wfs_buf_u32le(b, 40);
    wfs_buf_u32le(b, 8);
    wfs_buf_str(b, "wiki.txt");
}

static void the_older_form(void **state)
{
    struct wfs_buf b = WFS_BUF_INIT;
    const struct wfs_imatrix_entry *e;
    struct wfs_imatrix m;
    struct wfs_error err;
    size_t head;

    (void)state;
    put_dat(&b);
    assert_int_equal(parse(&b, &m, &err), 0);
    assert_int_equal(m.n_entries, 2);
    assert_int_equal(m.chunks, 40);
    assert_string_equal(m.dataset, "wiki.txt");
    e = wfs_imatrix_find(&m, "blk.0.attn_q.weight");
    assert_int_equal(e->n, 1);
    assert_true(e->values[0] == 4.5f);
    e = wfs_imatrix_find(&m, "untouched");
    assert_true(e->n == 2 && e->values[0] == 5 && e->values[1] == 7);
    assert_null(wfs_imatrix_find(&m, "untouche"));
    wfs_imatrix_done(&m);

    head = b.len - 16;
    for (size_t len = 0; len < b.len; len++) { /* the tail may be missing or cut, the rest may not */
        struct wfs_buf part = { b.data, len, len, false };

        if (len < head) {
            assert_int_equal(parse(&part, &m, &err), -EINVAL);
            continue;
        }
        assert_int_equal(parse(&part, &m, &err), 0);
        assert_int_equal(m.chunks, len == head ? 0 : 40); /* what is there of the number, as in the reference */
        assert_null(m.dataset);
        wfs_imatrix_done(&m);
    }
    wfs_buf_done(&b);
}

static void what_no_float_may_be(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wfs_buf b = WFS_BUF_INIT;

        wfs_buf_u32le(&b, 1);
        put_dat_entry(&b, "blk.3.ffn_up.weight", 1, (float[]){ 1, bad[i] }, 2);
        refused(&b, "blk.3.ffn_up.weight: value 1 is not finite");
        wfs_buf_done(&b);
    }
}

static void lengths_that_lie(void **state)
{
    static const uint32_t lengths[][3] = { /* of the name, calls, values */
        { 0xffffffff, 1, 1 }, { 0x7fffffff, 1, 1 }, { 1, 1, 0 }, { 1, 1, 0xffffffff }, { 1, 1, 0x7fffffff },
        { 1, 1, 0x40000000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct wfs_buf b = WFS_BUF_INIT;

        wfs_buf_u32le(&b, 1);
        wfs_buf_u32le(&b, lengths[i][0]);
        wfs_buf_str(&b, "x");
        wfs_buf_u32le(&b, lengths[i][1]);
        wfs_buf_u32le(&b, lengths[i][2]);
        wfs_buf_f32le(&b, 1);
        refused(&b, "entry 1");
        wfs_buf_done(&b);
    }
}

/* --- GGUF --- */

enum { STRING = 8, ARRAY = 9, U32 = 4, F32 = 0 };

static void put_name(struct wfs_buf *b, const char *name)
{
    wfs_buf_u64le(b, strlen(name));
    wfs_buf_str(b, name);
}

struct matrix {
    const char *name;
    uint64_t ne0, ne1;
    const float *values;
};

static void put_gguf(struct wfs_buf *b, const struct matrix *matrices, size_t n)
{
    uint64_t offset = 0;

    wfs_buf_str(b, "GGUF");
    wfs_buf_u32le(b, 3);
    wfs_buf_u64le(b, n);
    wfs_buf_u64le(b, 3);
    put_name(b, "imatrix.datasets");
    wfs_buf_u32le(b, ARRAY);
    wfs_buf_u32le(b, STRING);
    wfs_buf_u64le(b, 2);
    put_name(b, "first.txt");
    put_name(b, "second.txt");
    put_name(b, "imatrix.chunk_count");
    wfs_buf_u32le(b, U32);
    wfs_buf_u32le(b, 7);
    put_name(b, "imatrix.chunk_size");
    wfs_buf_u32le(b, U32);
    wfs_buf_u32le(b, 512);
    for (size_t i = 0; i < n; i++) {
        put_name(b, matrices[i].name);
        wfs_buf_u32le(b, 2);
        wfs_buf_u64le(b, matrices[i].ne0);
        wfs_buf_u64le(b, matrices[i].ne1);
        wfs_buf_u32le(b, F32);
        wfs_buf_u64le(b, offset);
        offset += (matrices[i].ne0 * matrices[i].ne1 * 4 + 31) / 32 * 32;
    }
    wfs_buf_fill(b, 0, (32 - b->len % 32) % 32);
    for (size_t i = 0; i < n; i++) {
        for (uint64_t k = 0; k < matrices[i].ne0 * matrices[i].ne1; k++)
            wfs_buf_f32le(b, matrices[i].values[k]);
        wfs_buf_fill(b, 0, (32 - b->len % 32) % 32);
    }
}

static void the_gguf_form(void **state)
{
    const struct matrix matrices[] = {
        { "blk.0.ffn_up_exps.weight.in_sum2", 2, 3, (float[]){ 8, 4, 5, 6, 3, 9 } },
        { "blk.0.ffn_up_exps.weight.counts", 1, 3, (float[]){ 4, 0, 1.5f } }, /* 1.5 rounds away from zero */
        { "a note", 1, 1, (float[]){ 1 } },
    };
    static const float expected[] = { 2, 1, 1, 1, 1.5f, 4.5f };
    struct wfs_buf b = WFS_BUF_INIT;
    const struct wfs_imatrix_entry *e;
    struct wfs_imatrix m;
    struct wfs_error err;

    (void)state;
    put_gguf(&b, matrices, 3);
    assert_int_equal(parse(&b, &m, &err), 0);
    assert_int_equal(m.n_entries, 1);
    assert_int_equal(m.chunks, 7);
    assert_string_equal(m.dataset, "first.txt");
    e = wfs_imatrix_find(&m, "blk.0.ffn_up_exps.weight");
    assert_int_equal(e->n, 6);
    assert_memory_equal(e->values, expected, sizeof expected);
    wfs_imatrix_done(&m);
    for (size_t len = 0; len < b.len; len++) {
        struct wfs_buf part = { b.data, len, len, false };

        assert_int_equal(parse(&part, &m, &err), -EINVAL);
    }
    for (size_t at = 0; at < b.len; at++) { /* any byte may be wrong: an answer, never a crash */
        for (unsigned bit = 0; bit < 8; bit++) {
            b.data[at] ^= (uint8_t)(1u << bit);
            if (parse(&b, &m, &err) == 0)
                wfs_imatrix_done(&m);
            b.data[at] ^= (uint8_t)(1u << bit);
        }
    }
    wfs_buf_done(&b);
}

static void what_is_no_matrix(void **state)
{
    const struct matrix alone[] = { { "x.in_sum2", 1, 1, (float[]){ 1 } } };
    struct wfs_buf b = WFS_BUF_INIT;

    (void)state;
    put_gguf(&b, alone, 1);
    refused(&b, "tensor x has sums only");
    wfs_buf_done(&b);
    wfs_buf_init(&b);
    put_gguf(&b, alone, 0);
    refused(&b, "no tensors");
    memcpy(b.data + 4 + 4 + 8 + 8 + 8, "imatrix.dataset_", 16);
    refused(&b, "no tensors");
    wfs_buf_done(&b);
    wfs_buf_init(&b);
    wfs_buf_str(&b, "{}");
    refused(&b, "neither");
    wfs_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_older_form),   cmocka_unit_test(what_no_float_may_be),
        cmocka_unit_test(lengths_that_lie), cmocka_unit_test(the_gguf_form),
        cmocka_unit_test(what_is_no_matrix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
