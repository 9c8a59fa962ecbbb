#include "base/cleanup.h"
#include "commands.h"
#include "disk.h"
#include "human.h"
#include "json_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { JSON };

static const struct wfs_flag flags[] = {
    [JSON] = { "json", 'j', WFS_FLAG_PLAIN, "print one JSON object (fields: docs/operations.md)" },
    { 0 },
};

struct list {
    uint64_t n_views, bytes;
    struct wfs_buf json; /* when that is wanted */
};

/* "whole", " 83 %" (never 100 for what is not whole), or what is wrong. */
static void describe(const struct wfs_disk_entry *e, char *out, size_t size)
{
    if (e->problem)
        snprintf(out, size, "useless");
    else if (e->whole)
        snprintf(out, size, "whole");
    else
        snprintf(out, size, "%" PRIu64 " %%", e->n_tiles ? e->present * 100 / e->n_tiles : 0);
}

static int print_row(void *ctx, const struct wfs_disk_entry *e)
{
    char size[32], used[32], present[16], when[32], model[1200], name[1200];
    struct list *l = ctx;
    struct tm tm;

    describe(e, present, sizeof present);
    wfs_escape(model, sizeof model, e->model, strlen(e->model));
    wfs_escape(name, sizeof name, e->name, strlen(e->name));
    if (!localtime_r(&e->last_use.tv_sec, &tm) || !strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm))
        snprintf(when, sizeof when, "?");
    l->n_views++;
    l->bytes += e->disk_bytes;
    if (e->problem)
        printf("%.8s  %8s  %8s  %7s  %s  (%s)\n", e->key, "", wfs_human_bytes(e->disk_bytes, used, sizeof used),
               present, when, e->problem);
    else
        printf("%.8s  %8s  %8s  %7s  %s  %s  %s%s\n", e->key, wfs_human_bytes(e->size, size, sizeof size),
               wfs_human_bytes(e->disk_bytes, used, sizeof used), present, when, model, name,
               e->host_only ? "  (this host only)" : "");
    return 0;
}

static void put_text(struct wfs_buf *b, const char *key, const char *text)
{
    wfs_buf_printf(b, ", \"%s\": ", key);
    wfs_json_put_shown(b, text, strlen(text));
}

static int put_row(void *ctx, const struct wfs_disk_entry *e)
{
    struct list *l = ctx;
    struct wfs_buf *b = &l->json;

    wfs_buf_printf(b, "%s\n  {\"key\": \"%s\", \"disk_bytes\": %" PRIu64 ", \"last_use\": %lld",
                   l->n_views++ ? "," : "", e->key, e->disk_bytes, (long long)e->last_use.tv_sec);
    l->bytes += e->disk_bytes;
    if (e->problem) {
        put_text(b, "problem", e->problem);
    } else {
        wfs_buf_printf(b, ", \"size\": %" PRIu64 ", \"whole\": %s, \"tiles\": %" PRIu64 ", \"present\": %" PRIu64
                          ", \"host_only\": %s",
                       e->size, e->whole ? "true" : "false", e->n_tiles, e->present, e->host_only ? "true" : "false");
        put_text(b, "model", e->model);
        put_text(b, "view", e->name);
    }
    wfs_buf_u8(b, '}');
    return 0;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    struct list l = { .json = WFS_BUF_INIT };
    bool json = args->flag[JSON] != NULL;
    struct wfs_error err = { 0 };
    char total[32];
    int r;

    wfs_buf_str(&l.json, "{\"views\": [");
    r = wfs_disk_list(args->positional[0], json ? put_row : print_row, &l, &err);
    if (r == 0 && json) {
        wfs_buf_printf(&l.json, "],\n \"bytes\": %" PRIu64 "}\n", l.bytes);
        fwrite(l.json.data, 1, l.json.len, stdout);
    } else if (r == 0) {
        printf("%" PRIu64 " view%s, %s\n", l.n_views, l.n_views == 1 ? "" : "s",
               wfs_human_bytes(l.bytes, total, sizeof total));
    }
    wfs_buf_done(&l.json);
    if (r == 0)
        return WFS_EXIT_OK;
    wfs_complain(command, &err);
    return WFS_EXIT_FAILED;
}

static const char *const positionals[] = { "DIR", NULL };

const struct wfs_command wfs_command_cache_ls = {
    .name = "cache ls",
    .summary = "list what a disk cache holds",
    .positionals = positionals,
    .flags = flags,
    .about = "Lists the views that are kept in DIR, the least recently used first: the start of the key, the view's\n"
             "size, what it takes up on disk, how much of it is there, when it was last used, the model and the view.\n"
             "\"this host only\": its source has no digest, `weightfs cache key` computes one.",
    .examples = "  weightfs cache ls /srv/weightfs\n"
                "  weightfs cache ls --json /srv/weightfs | jq '.views[] | select(.whole)'\n",
    .run = run,
};
