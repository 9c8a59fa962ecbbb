/* What people read: numbers, the progress line, where mounts are, what stands at an offset of a GGUF file. */
#include "check.h"

#include "base/buf.h"
#include "human.h"
#include "gguf_difference.h"
#include "locate.h"
#include "mountpoint.h"
#include "preflight.h"
#include "progress.h"

#include <stdio.h>

static void numbers(void **state)
{
    char out[32];

    (void)state;
    assert_string_equal(wfs_human_bytes(0, out, sizeof out), "0 B");
    assert_string_equal(wfs_human_bytes(1023, out, sizeof out), "1023 B");
    assert_string_equal(wfs_human_bytes(1024, out, sizeof out), "1.00 KiB");
    assert_string_equal(wfs_human_bytes(10 * 1024, out, sizeof out), "10.0 KiB");
    assert_string_equal(wfs_human_bytes(1048575, out, sizeof out), "1.00 MiB");
    assert_string_equal(wfs_human_bytes(4692251770, out, sizeof out), "4.37 GiB");
    assert_string_equal(wfs_human_bytes(UINT64_MAX, out, sizeof out), "16.0 EiB");
    assert_string_equal(wfs_human_count(12, out, sizeof out), "12");
    assert_string_equal(wfs_human_count(1235814400, out, sizeof out), "1.24 B");
    assert_string_equal(wfs_human_count(999999, out, sizeof out), "1.00 M");
    assert_string_equal(wfs_human_seconds(4.2, out, sizeof out), "4s");
    assert_string_equal(wfs_human_seconds(192, out, sizeof out), "3m12s");
    assert_string_equal(wfs_human_seconds(7500, out, sizeof out), "2h05m");
}

/* Unicode's East Asian widths, and marks that stand on the letter before them. */
static void columns_of_a_terminal(void **state)
{
    (void)state;
    assert_int_equal(wfs_human_width(""), 0);
    assert_int_equal(wfs_human_width("model.gguf"), 10);
    assert_int_equal(wfs_human_width("m\xc3\xb6" "del"), 5);
    assert_int_equal(wfs_human_width("mo\xcc\x88" "del"), 5);
    assert_int_equal(wfs_human_width("\xe6\xa8\xa1\xe5\x9e\x8b.gguf"), 9);
    assert_int_equal(wfs_human_width("\xff"), 1);
}

static void the_progress_line(void **state)
{
    struct wfs_progress p = { .label = "model-q4_k_m.gguf", .total = 800 << 20 };
    char line[256];

    (void)state;
    wfs_progress_format(&p, 200 << 20, 4, 100, line, sizeof line);
    assert_contains(line, "model-q4_k_m.gguf [#######");
    assert_contains(line, "25%  200 MiB of 800 MiB  50.0 MiB/s  12s left");
    assert_true(strlen(line) <= 100);
    for (unsigned columns = 20; columns < 140; columns++) {
        wfs_progress_format(&p, 799 << 20, 1e6, columns, line, sizeof line);
        assert_true(strlen(line) <= columns);
    }
    wfs_progress_format(&p, 0, 0, 100, line, sizeof line);
    assert_contains(line, "0%");
    assert_contains(line, "? left");
    p.total = 0;
    wfs_progress_format(&p, 0, 1, 100, line, sizeof line);
    assert_contains(line, "100%");
}

static void no_progress_without_a_terminal(void **state)
{
    struct wfs_progress p;
    FILE *f = tmpfile();

    (void)state;
    assert_non_null(f);
    wfs_progress_begin(&p, f, "x", 100);
    wfs_progress_update(&p, 50);
    wfs_progress_end(&p);
    assert_int_equal(ftell(f), 0);
    fclose(f);
}

/* Lines as the kernel writes them: proc(5), section mountinfo. */
static void mounts_by_path(void **state)
{
    static const char text[] =
        "27 1 253:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
        "45 27 0:40 / /mnt/with\\040space ro,nosuid,nodev shared:3 master:1 - fuse.weightfs /srv/a\\040b\\134c "
        "ro,user_id=0\n"
        "46 27 0:41 / /mnt/m rw - tmpfs tmpfs rw\n"
        "47 46 0:42 / /mnt/m ro - fuse.weightfs /srv/m ro\n"
        "48 27 0:43 / /mnt/mm ro - fuse.weightfs /srv/mm ro\n"
        "broken line\n";
    struct wfs_mount_info m = { 0 };

    (void)state;
    assert_int_equal(wfs_mountpoint_parse(text, "/mnt/with space", &m), 1);
    assert_string_equal(m.source, "/srv/a b\\c");
    assert_int_equal(m.minor, 40);
    assert_true(wfs_mount_is_weightfs(&m));
    wfs_mount_info_done(&m);
    assert_int_equal(wfs_mountpoint_parse(text, "/mnt/m", &m), 1); /* the topmost one */
    assert_string_equal(m.type, "fuse.weightfs");
    assert_int_equal(m.minor, 42);
    wfs_mount_info_done(&m);
    assert_int_equal(wfs_mountpoint_parse(text, "/", &m), 1);
    assert_false(wfs_mount_is_weightfs(&m));
    assert_int_equal(m.major, 253);
    wfs_mount_info_done(&m);
    assert_int_equal(wfs_mountpoint_parse(text, "/mnt", &m), 0);
    assert_int_equal(wfs_mountpoint_parse("", "/mnt", &m), 0);
}

static void fuse_conf(void **state)
{
    (void)state;
    assert_true(wfs_preflight_allows_other("user_allow_other"));
    assert_true(wfs_preflight_allows_other("# comment\n\n  user_allow_other \n"));
    assert_false(wfs_preflight_allows_other("#user_allow_other\n"));
    assert_false(wfs_preflight_allows_other("user_allow_others\n"));
    assert_false(wfs_preflight_allows_other("mount_max = 1000\n"));
    assert_false(wfs_preflight_allows_other(""));
}

/* --- a GGUF header, written by hand after ggml's docs/gguf.md --- */

static void put_string(struct wfs_buf *b, const char *text)
{
    wfs_buf_u64le(b, strlen(text));
    wfs_buf_str(b, text);
}

static void put_tensor(struct wfs_buf *b, const char *name, uint64_t dim, uint64_t offset)
{
    put_string(b, name);
    wfs_buf_u32le(b, 1);
    wfs_buf_u64le(b, dim);
    wfs_buf_u32le(b, 0);
    wfs_buf_u64le(b, offset);
}

static void make_header(struct wfs_buf *b, bool with_alignment)
{
    wfs_buf_str(b, "GGUF");
    wfs_buf_u32le(b, 3);
    wfs_buf_u64le(b, 2);
    wfs_buf_u64le(b, with_alignment ? 3 : 2);
    put_string(b, "general.name");
    wfs_buf_u32le(b, 8);
    put_string(b, "x");
    put_string(b, "tokenizer.ggml.tokens");
    wfs_buf_u32le(b, 9);
    wfs_buf_u32le(b, 8);
    wfs_buf_u64le(b, 2);
    put_string(b, "a");
    put_string(b, "b");
    if (with_alignment) {
        put_string(b, "general.alignment");
        wfs_buf_u32le(b, 4);
        wfs_buf_u32le(b, 256);
    }
    put_tensor(b, "first.weight", 10, 0);
    put_tensor(b, "second.weight", 4, with_alignment ? 256 : 64);
}

static void where_in_a_gguf_file(void **state)
{
    (void)state;
    for (int aligned = 0; aligned < 2; aligned++) {
        uint64_t alignment = aligned ? 256 : 32, data, begin = 0;
        struct wfs_buf b = WFS_BUF_INIT;
        char name[64];

        make_header(&b, aligned);
        data = (b.len + alignment - 1) / alignment * alignment;
        assert_false(wfs_locate_gguf(b.data, b.len, data - 1, name, sizeof name, &begin));
        assert_true(wfs_locate_gguf(b.data, b.len, data, name, sizeof name, &begin));
        assert_string_equal(name, "first.weight");
        assert_int_equal(begin, data);
        assert_true(wfs_locate_gguf(b.data, b.len, data + (aligned ? 255 : 63), name, sizeof name, &begin));
        assert_string_equal(name, "first.weight");
        assert_true(wfs_locate_gguf(b.data, b.len, data + (aligned ? 256 : 64), name, sizeof name, &begin));
        assert_string_equal(name, "second.weight");
        assert_int_equal(begin, data + (aligned ? 256 : 64));
        for (size_t cut = 0; cut < b.len; cut++) { /* a header that is cut is refused, wherever it is */
            uint8_t *copy = malloc(cut + 1);

            memcpy(copy, b.data, cut);
            assert_false(wfs_locate_gguf(copy, cut, data, name, sizeof name, &begin));
            free(copy);
        }
        wfs_buf_done(&b);
    }
}

static void what_differs_in_two_headers(void **state)
{
    struct wfs_buf a = WFS_BUF_INIT, b = WFS_BUF_INIT;
    char text[1000];
    uint8_t *name;

    (void)state;
    make_header(&a, 0);
    make_header(&b, 1);
    assert_false(wfs_gguf_difference(a.data, a.len, a.data, a.len, text, sizeof text));
    assert_true(wfs_gguf_difference(a.data, a.len, b.data, b.len, text, sizeof text));
    assert_string_equal(text, "key general.alignment is only in the file");
    assert_true(wfs_gguf_difference(b.data, b.len, a.data, a.len, text, sizeof text));
    assert_string_equal(text, "key general.alignment is only in the view");
    for (size_t cut = 0; cut < b.len; cut++) { /* in memory of its own, so that a read behind it is seen */
        uint8_t *copy = malloc(cut + 1);

        memcpy(copy, b.data, cut);
        wfs_gguf_difference(b.data, b.len, copy, cut, text, sizeof text);
        wfs_gguf_difference(copy, cut, b.data, b.len, text, sizeof text);
        free(copy);
    }
    wfs_buf_done(&b);
    make_header(&b, 0);
    name = memmem(b.data, b.len, "second.weight", 13);
    assert_non_null(name);
    name[0] = 'S';
    assert_true(wfs_gguf_difference(a.data, a.len, b.data, b.len, text, sizeof text));
    assert_string_equal(text, "tensor second.weight is only in the view");
    name[0] = 's';
    name[13 + 4] ^= 1;
    assert_true(wfs_gguf_difference(a.data, a.len, b.data, b.len, text, sizeof text));
    assert_string_equal(text, "tensor second.weight has another shape or place");
    name[13 + 4] ^= 1;
    name[13 + 4 + 8] = 14; /* ggml's number of Q6_K, behind the one dimension */
    assert_true(wfs_gguf_difference(a.data, a.len, b.data, b.len, text, sizeof text));
    assert_string_equal(text, "tensor second.weight is f32 in the view, q6_K in the file");
    name[13 + 4 + 8] = 200;
    assert_true(wfs_gguf_difference(a.data, a.len, b.data, b.len, text, sizeof text));
    assert_string_equal(text, "tensor second.weight is f32 in the view, of type 200 in the file");
    wfs_buf_done(&a);
    wfs_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(columns_of_a_terminal),
        cmocka_unit_test(the_progress_line),
        cmocka_unit_test(no_progress_without_a_terminal),
        cmocka_unit_test(mounts_by_path),
        cmocka_unit_test(fuse_conf),
        cmocka_unit_test(where_in_a_gguf_file),
        cmocka_unit_test(what_differs_in_two_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
