#include "commands.h"
#include "disk.h"
#include "human.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SIZE, ALL };

static const struct wfs_flag flags[] = {
    [SIZE] = { "size", 0, WFS_FLAG_VALUE, "SIZE\thow much may stay; K, M, G, T are powers of 1024" },
    [ALL] = { "all", 'a', WFS_FLAG_PLAIN, "nothing stays" },
    { 0 },
};

static void tell(void *ctx, const struct wfs_disk_entry *e)
{
    char size[32], model[1200], name[1200];

    (void)ctx;
    wfs_escape(model, sizeof model, e->model, strlen(e->model));
    wfs_escape(name, sizeof name, e->name, strlen(e->name));
    printf("%.8s  %8s  %s%s%s\n", e->key, wfs_human_bytes(e->disk_bytes, size, sizeof size),
           e->problem ? e->problem : model, e->problem ? "" : "  ", e->problem ? "" : name);
}

static int run(const struct wfs_command *command, struct wfs_arguments *args)
{
    struct wfs_disk_pruned pruned = { 0 };
    struct wfs_error err = { 0 };
    char gone[32], left[32];
    uint64_t target = 0;

    if (!args->flag[SIZE] == !args->flag[ALL]) {
        fprintf(stderr, "weightfs %s: say either --size=SIZE or --all\n", command->name);
        return WFS_EXIT_USAGE;
    }
    if (args->flag[SIZE] && !wfs_options_parse_size(args->flag[SIZE], &target)) {
        fprintf(stderr, "weightfs %s: --size=%s: the value must be a size of at least 1M, as in 512M or 2G\n",
                command->name, args->flag[SIZE]);
        return WFS_EXIT_USAGE;
    }
    if (wfs_disk_prune(args->positional[0], target, tell, NULL, &pruned, &err) < 0) {
        wfs_complain(command, &err);
        return WFS_EXIT_FAILED;
    }
    printf("%" PRIu64 " view%s taken away, %s; %s are left\n", pruned.views, pruned.views == 1 ? "" : "s",
           wfs_human_bytes(pruned.bytes, gone, sizeof gone), wfs_human_bytes(pruned.left, left, sizeof left));
    return WFS_EXIT_OK;
}

static const char *const positionals[] = { "DIR", NULL };

const struct wfs_command wfs_command_cache_prune = {
    .name = "cache prune",
    .summary = "make a disk cache smaller",
    .positionals = positionals,
    .flags = flags,
    .about = "Takes away the least recently used views of DIR until what is left is at most SIZE, and what killed\n"
             "processes have left behind. Mounts that use DIR go on, and write what they make anew.",
    .examples = "  weightfs cache prune --size 20G /srv/weightfs\n"
                "  weightfs cache prune --all /srv/weightfs\n",
    .run = run,
};
