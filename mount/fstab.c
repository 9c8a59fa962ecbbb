#include "fstab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool wfs_fstab_is_helper(const char *program)
{
    const char *name = last_part(program);

    return strcmp(name, "mount.weightfs") == 0 || strcmp(name, "mount.fuse.weightfs") == 0;
}

/* What the arguments said, before the lists of -o are looked at: -s may stand behind them. */
struct helper {
    const char *lists[16];
    size_t n_lists;
    bool sloppy;
};

/* The letters of one argument; value letters take the rest of it or the next one (*at moves on). */
static int take_letters(struct helper *h, struct wfs_mount_request *ret, int argc, char **argv, int *at,
                        struct wfs_error *err)
{
    for (const char *c = argv[*at] + 1; *c; c++) {
        const char *value;

        switch (*c) {
        case 's':
            h->sloppy = true;
            continue;
        case 'f':
            ret->fake = true;
            continue;
        case 'n': case 'v': case 'r': case 'w': /* no mtab, chatty, read-only (it always is), and asked not to be */
            continue;
        case 'o': case 't': case 'N':
            break;
        default:
            return wfs_error_set(err, EINVAL, "there is no flag \"-%c\"", *c);
        }
        value = c[1] ? c + 1 : *at + 1 < argc ? argv[++*at] : NULL;
        if (!value)
            return wfs_error_set(err, EINVAL, "flag -%c needs a value", *c);
        if (*c == 'o') {
            if (h->n_lists == sizeof h->lists / sizeof *h->lists)
                return wfs_error_set(err, EINVAL, "too many -o");
            h->lists[h->n_lists++] = value;
        }
        return 0;
    }
    return 0;
}

int wfs_fstab_parse(int argc, char **argv, struct wfs_options *options, struct wfs_mount_request *ret,
                    struct wfs_error *err)
{
    struct wfs_mount_request request = { .program = last_part(argv[0]), .options = options,
                                         .failed_code = WFS_FSTAB_FAILED };
    struct helper h = { 0 };
    int r = 0;

    for (int i = 1; i < argc && r == 0; i++) {
        if (argv[i][0] == '-' && argv[i][1])
            r = take_letters(&h, &request, argc, argv, &i, err);
        else if (!request.source)
            request.source = argv[i];
        else if (!request.mountpoint)
            request.mountpoint = argv[i];
        else
            r = wfs_error_set(err, EINVAL, "\"%s\" is one argument too many", argv[i]);
    }
    for (size_t i = 0; i < h.n_lists && r == 0; i++)
        r = wfs_options_set_list(options, h.lists[i], WFS_LIST_GENERIC | (h.sloppy ? WFS_LIST_SLOPPY : 0), err);
    if (r == 0 && (!request.source || !request.mountpoint))
        r = wfs_error_set(err, EINVAL, "%s is missing", request.source ? "MOUNTPOINT" : "SOURCE");
    if (r == 0)
        *ret = request;
    return r;
}

static bool is_absent(const char *source)
{
    return access(source, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void usage(FILE *f, const char *program)
{
    fprintf(f, "Usage: %s SOURCE MOUNTPOINT [-sfnvrw] [-t TYPE] [-o OPTION,…]\nOptions: `weightfs mount --help`.\n",
            program);
}

int wfs_fstab_main(int argc, char **argv)
{
    struct wfs_mount_request request;
    struct wfs_options options;
    struct wfs_error err = { 0 };
    int code;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout, last_part(argv[0]));
        return 0;
    }
    wfs_options_init(&options);
    if (wfs_fstab_parse(argc, argv, &options, &request, &err) < 0) {
        fprintf(stderr, "%s: %s\n", last_part(argv[0]), err.msg);
        usage(stderr, last_part(argv[0]));
        code = err.code == ENOMEM ? WFS_FSTAB_SYSTEM : WFS_FSTAB_USAGE;
    } else if (options.no_fail && is_absent(request.source)) {
        code = 0;
    } else {
        code = wfs_mount_run(&request);
    }
    wfs_options_done(&options);
    return code;
}
