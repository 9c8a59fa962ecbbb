#include "commands.h"
#include "human.h"
#include "model.h"
#include "opened.h"
#include "preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SUMMARY };

static const struct wfs_flag flags[] = {
    [SUMMARY] = { "summary", 's', WFS_FLAG_PLAIN, "without the list of tensors" },
    { 0 },
};

static const char *escaped(const char *text, char *out, size_t size)
{
    wfs_escape(out, size, text, strlen(text));
    return out;
}

static void print_types(const struct wfs_model *m)
{
    uint64_t bytes[WFS_DTYPE_COUNT] = { 0 };
    size_t counts[WFS_DTYPE_COUNT] = { 0 };

    for (size_t i = 0; i < m->n_tensors; i++) {
        counts[m->tensors[i].dtype]++;
        bytes[m->tensors[i].dtype] += m->tensors[i].n_bytes;
    }
    for (size_t i = 0; i < WFS_DTYPE_COUNT; i++) {
        char human[32];

        if (counts[i])
            printf("  %-8s %6zu tensors  %s\n", wfs_dtypes[i].name, counts[i],
                   wfs_human_bytes(bytes[i], human, sizeof human));
    }
}

static void print_files(const struct wfs_model *m)
{
    char name[400], human[32];

    printf("files:        %zu\n", m->n_files);
    for (size_t i = 0; i < m->n_files; i++) {
        printf("  %-40s  %s", escaped(m->files[i].name, name, sizeof name),
               wfs_human_bytes(m->files[i].size, human, sizeof human));
        if (m->files[i].problem)
            printf("  %s", m->files[i].problem);
        putchar('\n');
    }
}

static void print_tensors(const struct wfs_model *m)
{
    puts("tensors, by file and name:");
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct wfs_tensor *t = &m->tensors[i];
        char name[1200];

        printf("  %-60s  %-8s [", escaped(t->name, name, sizeof name), wfs_dtypes[t->dtype].name);
        for (unsigned d = 0; d < t->n_dims; d++)
            printf("%s%" PRIu64, d ? ", " : "", t->dims[d]);
        puts("]");
    }
}

static int inform(struct wfs_opened *o, const struct wfs_arguments *args, struct wfs_error *err)
{
    struct wfs_model_info info = { 0 };
    int r = wfs_generation_model_info(o->generation, &info);
    char text[1200], human[32], hint[400];

    if (r < 0)
        return wfs_error_set(err, -r, "%s: %s", wfs_fs_source_path(o->fs), strerror(-r));
    printf("source:       %s\n", escaped(wfs_fs_source_given(o->fs), text, sizeof text));
    printf("architecture: %s\n", info.architecture[0] ? escaped(info.architecture, text, sizeof text) : "not known");
    if (info.gguf_reason)
        printf("no GGUF:      %s\n", info.gguf_reason);
    if (!info.model) {
        printf("weights:      none%s\n", wfs_preflight_model_hint(wfs_fs_source_path(o->fs), hint, sizeof hint));
        return 0;
    }
    printf("parameters:   %" PRIu64 " (%s)\n", info.n_parameters,
           wfs_human_count(info.n_parameters, human, sizeof human));
    if (info.model->problem)
        printf("problem:      %s\n", info.model->problem);
    if (info.model->note)
        printf("note:         %s\n", info.model->note);
    print_files(info.model);
    printf("tensors:      %zu\n", info.model->n_tensors);
    print_types(info.model);
    if (!args->flag[SUMMARY])
        print_tensors(info.model);
    return 0;
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    return wfs_opened_run(command, args, inform);
}

static const char *const positionals[] = { "SOURCE", NULL };

const struct wfs_command wfs_command_info = {
    .name = "info",
    .summary = "say what a model folder holds: architecture, parameters, tensors",
    .positionals = positionals,
    .flags = flags,
    .takes_options = true,
    .about = "Says what the model folder SOURCE holds: architecture, parameters, files of weights, types,\n"
             "and each tensor with its type and shape.",
    .examples = "  weightfs info ~/models/Llama-3.2-1B\n"
                "  weightfs info --summary ~/models/Llama-3.2-1B\n",
    .run = run,
};
