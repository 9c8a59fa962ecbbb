#include "card.h"
#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "README.md", FENCE[] = "---";

/* The length of a line break at text: CRLF (2), or any character that str.splitlines() breaks at. 0 = none. */
static size_t line_break(const uint8_t *text, size_t len)
{
    if (text[0] == '\r')
        return len > 1 && text[1] == '\n' ? 2 : 1;
    if ((text[0] >= 0x0a && text[0] <= 0x0c) || (text[0] >= 0x1c && text[0] <= 0x1e))
        return 1;
    if (len > 1 && text[0] == 0xc2 && text[1] == 0x85)
        return 2;
    if (len > 2 && text[0] == 0xe2 && text[1] == 0x80 && (text[2] == 0xa8 || text[2] == 0xa9))
        return 3;
    return 0;
}

/* One line of the front matter as YAML gets it: two spaces for a tab, and "no" of a list stays a word (Norway's). */
static void put_line(struct wfs_buf *out, const uint8_t *line, size_t len)
{
    bool norway = len >= 4 && memcmp(line + len - 4, "- no", 4) == 0;

    if (norway)
        len -= 2;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\t')
            wfs_buf_str(out, "  ");
        else
            wfs_buf_u8(out, line[i]);
    }
    wfs_buf_str(out, norway ? "\"no\"\n" : "\n");
}

int wfs_card_front_matter(const uint8_t *text, size_t len, char **ret)
{
    struct wfs_buf out = WFS_BUF_INIT;
    size_t n_lines = 0;

    *ret = NULL;
    if (wfs_utf8_check(text, len) != len)
        return -EILSEQ;
    for (size_t from = 0, to, skip; from < len; from = to + skip, n_lines++) {
        bool fence;

        skip = 0;
        for (to = from; to < len && (skip = line_break(text + to, len - to)) == 0; to++)
            ;
        fence = to - from == sizeof FENCE - 1 && memcmp(text + from, FENCE, sizeof FENCE - 1) == 0;
        if (n_lines == 0 && !fence)
            return 0;
        if (n_lines > 0 && fence) {
            n_lines++;
            break;
        }
        if (n_lines > 0)
            put_line(&out, text + from, to - from);
    }
    if (n_lines == 0)
        return 0;
    if (out.len == 0)
        wfs_buf_str(&out, "\n");
    *ret = (char *)wfs_buf_steal(&out, NULL);
    return *ret ? 0 : -ENOMEM;
}

int wfs_card_read(const struct wfs_folder *folder, struct wfs_yaml **ret, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_blob_done) struct wfs_blob blob = { NULL, 0 };
    WFS_CLEANUP(wfs_free) char *yaml = NULL;
    struct wfs_yaml *doc;
    int r = folder->read(folder->ctx, NAME, &blob, err);

    if (r <= 0)
        return r;
    r = wfs_card_front_matter(blob.data, blob.len, &yaml);
    if (r == -EILSEQ)
        return wfs_error_set(err, EILSEQ, "%s is not UTF-8, which the converter fails on", NAME);
    if (r < 0)
        return wfs_error_set(err, ENOMEM, "out of memory");
    if (!yaml)
        return 0;
    r = wfs_yaml_parse(yaml, strlen(yaml), NAME, &doc, err);
    if (r < 0)
        return wfs_error_wrap(err, "the front matter of the model card cannot be read");
    if (!wfs_yaml_root(doc) || wfs_yaml_root(doc)->kind != WFS_YAML_DICT) {
        wfs_yaml_free(doc);
        return 0;
    }
    *ret = doc;
    return 1;
}
