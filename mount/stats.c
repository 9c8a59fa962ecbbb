#include "base/buf.h"
#include "base/cleanup.h"
#include "commands.h"
#include "human.h"
#include "json.h"
#include "stats_watch.h"
#include "status_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { JSON, EVERY };

static const struct wfs_flag flags[] = {
    [JSON] = { "json", 'j', WFS_FLAG_PLAIN, "print status.json (schema: docs/operations.md)" },
    [EVERY] = { "every", 'e', WFS_FLAG_VALUE, "SECONDS\tprint a line about each interval, until the mount ends" },
    { 0 },
};

/* One counter: "cache bytes   12345 (12.1 KiB)". */
static void print_value(const char *group, const cJSON *value)
{
    char label[64], human[32];
    const char *text = wfs_json_string(value);
    uint64_t number;

    snprintf(label, sizeof label, "%.20s %.30s", group, value->string);
    for (char *p = label; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    if (wfs_json_u64(value, &number) && (strstr(value->string, "bytes") || strcmp(value->string, "limit") == 0))
        printf("%-24s %" PRIu64 " (%s)\n", label, number, wfs_human_bytes(number, human, sizeof human));
    else if (wfs_json_u64(value, &number))
        printf("%-24s %" PRIu64 "\n", label, number);
    else if (cJSON_IsBool(value))
        printf("%-24s %s\n", label, cJSON_IsTrue(value) ? "yes" : "no");
    else if (text && *text)
        printf("%-24s %s\n", label, text);
}

static void print_group(const cJSON *root, const char *name)
{
    const cJSON *group = wfs_json_get(root, name), *value;

    for (value = group ? group->child : NULL; value; value = value->next)
        print_value(name, value);
}

static void print_errors(const cJSON *root)
{
    const cJSON *errors = wfs_json_get(root, "errors"), *last = errors ? wfs_json_get(errors, "last") : NULL;
    uint64_t count;

    if (errors && wfs_json_u64(wfs_json_get(errors, "count"), &count))
        printf("%-24s %" PRIu64 "\n", "errors", count);
    for (const cJSON *e = last ? last->child : NULL; e; e = e->next) {
        char shown[1200];
        const char *text = wfs_json_string(e);

        if (text) {
            wfs_escape(shown, sizeof shown, text, strlen(text));
            printf("  %s\n", shown);
        }
    }
}

static size_t count(const cJSON *root, const char *name)
{
    const cJSON *array = wfs_json_get(root, name);
    size_t n = 0;

    for (const cJSON *entry = array ? array->child : NULL; entry; entry = entry->next)
        n++;
    return n;
}

static int print_stats(const struct wfs_buf *text, struct wfs_error *err)
{
    struct wfs_json *json;
    const cJSON *root;
    const char *source;
    uint64_t generation;
    char shown[1200];
    int r = wfs_json_parse(text->data, text->len, &WFS_JSON_CONFIG, "status.json", &json, err);

    if (r < 0)
        return r;
    root = wfs_json_root(json);
    source = wfs_json_string(wfs_json_get(root, "source"));
    if (source) {
        wfs_escape(shown, sizeof shown, source, strlen(source));
        printf("%-24s %s\n", "source", shown);
    }
    if (wfs_json_u64(wfs_json_get(root, "generation"), &generation))
        printf("%-24s %" PRIu64 "\n", "generation", generation);
    printf("%-24s %zu offered, %zu withheld\n", "views", count(root, "views"), count(root, "withheld"));
    print_group(root, "cache");
    print_group(root, "io");
    print_group(root, "disk_cache");
    print_errors(root);
    wfs_json_free(json);
    return 0;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    struct wfs_error err = { 0 };
    double seconds;
    int r;

    if (args->flag[EVERY] && (args->flag[JSON] || !wfs_stats_interval(args->flag[EVERY], &seconds))) {
        wfs_error_set(&err, EINVAL, args->flag[JSON] ? "--every and --json do not go together"
                                                     : "--every %s: it must be a number from 0.1 to 86400",
                      args->flag[EVERY]);
        wfs_complain(command, &err);
        return WFS_EXIT_USAGE;
    }
    r = args->flag[EVERY] ? wfs_stats_watch(args->positional[0], seconds, &err)
                          : wfs_status_file_read(args->positional[0], &text, &err);
    if (r == 0 && args->flag[EVERY])
        return WFS_EXIT_OK;
    if (r == 0 && args->flag[JSON])
        fwrite(text.data, 1, text.len, stdout);
    else if (r == 0)
        r = print_stats(&text, &err);
    if (r == 0)
        return WFS_EXIT_OK;
    wfs_complain(command, &err);
    return WFS_EXIT_FAILED;
}

static const char *const positionals[] = { "MOUNTPOINT", NULL };

const struct wfs_command wfs_command_stats = {
    .name = "stats",
    .summary = "print a mount's counters: cache, I/O, errors",
    .positionals = positionals,
    .flags = flags,
    .about = "Prints what the mount at MOUNTPOINT has done so far: cache, reads of the source, workers, errors.\n"
             "With --every a line says what it did in each interval: bytes given to readers and read from\n"
             "the source, tiles made, the share of asked-for tiles that were there already, tiles from\n"
             "the disk cache, memory in use for tiles, tiles evicted; reads that wait (for a source that hangs, when\n"
             "nothing is served); and all errors so far.",
    .examples = "  weightfs stats /mnt/llama\n"
                "  weightfs stats --every 1 /mnt/llama\n"
                "  weightfs stats --json /mnt/llama | jq .cache\n",
    .run = run,
};
