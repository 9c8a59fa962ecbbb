#include "base/buf.h"
#include "base/cleanup.h"
#include "commands.h"
#include "gguf/gguf.h"
#include "human.h"
#include "opened.h"
#include "preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { ALL, JSON };

static const struct wfs_flag flags[] = {
    [ALL] = { "all", 'a', WFS_FLAG_PLAIN, "each tensor's file, what only opens by name, and every withheld view" },
    [JSON] = { "json", 'j', WFS_FLAG_PLAIN, "print status.json (schema: docs/operations.md)" },
    { 0 },
};

enum { NAMES_SHOWN = 8 };

/* Withheld views with one reason: it is said once. */
struct group {
    char *reason;
    struct wfs_buf names;
    size_t count;
};

struct listing {
    bool all;
    uint64_t tensor_bytes;
    size_t n_tensors, n_unlisted, n_unusual_withheld;
    struct group *groups;
    size_t n_groups;
    bool failed; /* out of memory */
};

static void add_withheld(struct listing *l, const struct wfs_view_info *info)
{
    struct group *g = l->n_groups ? &l->groups[l->n_groups - 1] : NULL;
    char name[400];

    if (!g || strcmp(g->reason, info->reason) != 0) {
        struct group *groups = realloc(l->groups, (l->n_groups + 1) * sizeof *groups);

        if (groups)
            l->groups = groups;
        g = groups ? &groups[l->n_groups] : NULL;
        if (g)
            *g = (struct group){ .reason = strdup(info->reason), .names = WFS_BUF_INIT };
        if (!g || !g->reason) {
            l->failed = true;
            return;
        }
        l->n_groups++;
    }
    wfs_escape(name, sizeof name, info->path, strlen(info->path));
    if (g->count++ < NAMES_SHOWN || l->all)
        wfs_buf_printf(&g->names, "%s%s", g->count > 1 ? ", " : "", name);
}

static void print_row(uint64_t size, const char *kind, const char *name, const char *remark)
{
    char human[32], shown[1200];

    wfs_escape(shown, sizeof shown, name, strlen(name));
    printf("%15" PRIu64 "  %8s  %-11s  %s%s\n", size, wfs_human_bytes(size, human, sizeof human), kind, shown, remark);
}

/* "  4.85 bpw: 61 q4_K, 13 q6_K, 25 f32", the most frequent type first. */
static void describe_types(const struct wfs_gguf_measure *m, char *ret, size_t size)
{
    uint32_t counts[WFS_TYPE_COUNT];
    int len = snprintf(ret, size, "  %.2f bpw:", m->n_elems ? 8.0 * (double)m->tensor_bytes / (double)m->n_elems : 0.0);
    bool first = true;

    memcpy(counts, m->counts, sizeof counts);
    for (;;) {
        size_t most = 0;

        for (size_t i = 1; i < WFS_TYPE_COUNT; i++)
            most = counts[i] > counts[most] ? i : most;
        if (!counts[most] || len < 0 || (size_t)len >= size)
            break;
        len += snprintf(ret + len, size - (size_t)len, "%s %" PRIu32 " %s", first ? "" : ",", counts[most],
                        wfs_ggml_types[most].name);
        counts[most] = 0;
        first = false;
    }
    if (m->n_fallbacks && len >= 0 && (size_t)len < size)
        snprintf(ret + len, size - (size_t)len, "; %" PRIu32 " of them by fallback", m->n_fallbacks);
}

static void show_quantised(const struct wfs_view_info *info)
{
    enum { NAME_COLUMNS = 21 };
    char remark[400], types[360], shown[1200];
    size_t width;

    describe_types(info->quantised, types, sizeof types);
    wfs_escape(shown, sizeof shown, info->path, strlen(info->path));
    width = wfs_human_width(shown);
    snprintf(remark, sizeof remark, "%*s%s%s", width < NAME_COLUMNS ? (int)(NAME_COLUMNS - width) : 0, "", types,
             info->listed ? "" : "  (opens by name)");
    print_row(info->size, info->kind, info->path, remark);
}

/* Below the row of the view. */
static void show_notes(const char *notes)
{
    char shown[1200];

    for (const char *line = notes, *end; (end = strchr(line, '\n')); line = end + 1) {
        wfs_escape(shown, sizeof shown, line, (unsigned long)(end - line));
        printf("%15s  note: %s\n", "", shown);
    }
}

static int show(void *ctx, const struct wfs_view_info *info)
{
    struct listing *l = ctx;

    if (info->reason && info->unusual && !info->listed && !l->all) {
        l->n_unusual_withheld++;
    } else if (info->reason) {
        add_withheld(l, info);
    } else if (!info->listed && !l->all) {
        l->n_unlisted++;
    } else if (strcmp(info->kind, "npy") == 0 && !l->all) {
        l->n_tensors++;
        l->tensor_bytes += info->size;
    } else if (info->quantised) {
        show_quantised(info);
    } else {
        print_row(info->size, info->kind, info->path, info->listed ? "" : "  (opens by name)");
    }
    if (!info->reason && info->notes && (info->listed || l->all))
        show_notes(info->notes);
    return 0;
}

static void finish(struct listing *l)
{
    if (l->n_tensors) {
        char name[64];

        snprintf(name, sizeof name, "tensors/  (%zu files)", l->n_tensors);
        print_row(l->tensor_bytes, "npy", name, "");
    }
    if (l->n_unlisted)
        printf("%zu more %s by name (--all shows %s)\n", l->n_unlisted, l->n_unlisted == 1 ? "opens" : "open",
               l->n_unlisted == 1 ? "it" : "them");
    if (l->n_unusual_withheld)
        printf("%zu unusual GGUF type%s withheld (--all says why)\n", l->n_unusual_withheld,
               l->n_unusual_withheld == 1 ? " is" : "s are");
    if (l->n_groups)
        printf("\nWithheld:\n");
    for (size_t i = 0; i < l->n_groups; i++) {
        struct group *g = &l->groups[i];

        wfs_buf_u8(&g->names, 0);
        l->failed |= g->names.failed;
        if (!g->names.failed && g->count > NAMES_SHOWN && !l->all)
            printf("  %s and %zu more\n", (const char *)g->names.data, g->count - NAMES_SHOWN);
        else if (!g->names.failed)
            printf("  %s\n", (const char *)g->names.data);
        printf("    %s\n", g->reason);
        free(g->reason);
        wfs_buf_done(&g->names);
    }
    free(l->groups);
}

static int list_text(struct wfs_opened *o, bool all, struct wfs_error *err)
{
    struct listing l = { .all = all };
    char source[1200], hint[400];
    struct wfs_model_info model = { 0 };

    wfs_escape(source, sizeof source, wfs_fs_source_given(o->fs), strlen(wfs_fs_source_given(o->fs)));
    wfs_generation_model_info(o->generation, &model);
    printf("%s%s\n", source,
           model.model ? "" : wfs_preflight_model_hint(wfs_fs_source_path(o->fs), hint, sizeof hint));
    wfs_generation_each_view(o->generation, show, &l);
    finish(&l);
    return l.failed ? wfs_error_set(err, ENOMEM, "out of memory") : 0;
}

static int list_json(struct wfs_opened *o, struct wfs_error *err)
{
    WFS_CLEANUP(wfs_buf_done) struct wfs_buf text = WFS_BUF_INIT;
    int r = wfs_fs_status(o->fs, &text);

    if (r < 0 || text.failed)
        return wfs_error_set(err, ENOMEM, "out of memory");
    fwrite(text.data, 1, text.len, stdout);
    return 0;
}

static int list(struct wfs_opened *o, const struct wfs_arguments *args, struct wfs_error *err)
{
    return args->flag[JSON] ? list_json(o, err) : list_text(o, args->flag[ALL] != NULL, err);
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    return wfs_opened_run(command, args, list);
}

static const char *const positionals[] = { "SOURCE", NULL };

const struct wfs_command wfs_command_ls = {
    .name = "ls",
    .summary = "list the views of a model folder with exact sizes, and what is withheld and why",
    .positionals = positionals,
    .flags = flags,
    .takes_options = true,
    .about = "Lists what a mount of SOURCE would show, with exact sizes, and what it would withhold and\n"
             "why. Mounts nothing.",
    .examples = "  weightfs ls ~/models/Llama-3.2-1B\n"
                "  weightfs ls --view 'model-mine.gguf q4_k_m output=q8_0' ~/models/Llama-3.2-1B\n"
                "  weightfs ls --json ~/models/Llama-3.2-1B | jq '.views[] | select(.kind == \"gguf\")'\n",
    .run = run,
};
