/* weightfs: the table of subcommands. Under the name mount.weightfs it is mount(8)'s helper. */
#include "commands.h"
#include "fstab.h"
#include "fuse_ops.h"

#include "kernels/kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct wfs_command *const commands[] = {
    &wfs_command_mount, &wfs_command_umount, &wfs_command_ls, &wfs_command_info,
    &wfs_command_export, &wfs_command_verify, &wfs_command_warm, &wfs_command_stats, &wfs_command_cache_key,
    &wfs_command_cache_ls, &wfs_command_cache_prune,
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *f)
{
    fputs("weightfs shows a folder of model weights in the formats that programs want to read.\n"
          "\nUsage: weightfs COMMAND [OPTION]… ARGUMENT…\n\nCommands:\n", f);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(f, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`weightfs COMMAND --help` says more. `weightfs --version` names the version.\n"
          "\nExample:\n"
          "  weightfs mount ~/models/Llama-3.2-1B /mnt/llama\n"
          "  ls -l /mnt/llama\n"
          "  weightfs umount /mnt/llama\n", f);
}

static void version(void)
{
    printf("weightfs %s\nkernels: %s\nlibfuse: %s\n", WFS_VERSION, wfs_kernels_get()->isa, fuse_pkgversion());
}

/* By one word or two ("cache ls"); *ret_words says how many were taken. */
static const struct wfs_command *find(int argc, char **argv, int *ret_words)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const char *name = commands[i]->name, *space = strchr(name, ' ');
        size_t first = space ? (size_t)(space - name) : strlen(name);

        if (argc < 1 || strlen(argv[0]) != first || memcmp(argv[0], name, first) != 0)
            continue;
        if (space && (argc < 2 || strcmp(argv[1], space + 1) != 0))
            continue;
        *ret_words = space ? 2 : 1;
        return commands[i];
    }
    return NULL;
}

/* Whether the command begins with this word and has a second one. */
static bool is_of_group(const struct wfs_command *command, const char *word)
{
    size_t len = strlen(word);

    return strncmp(command->name, word, len) == 0 && command->name[len] == ' ';
}

static bool is_group(const char *word)
{
    bool any = false;

    for (size_t i = 0; i < N_COMMANDS; i++)
        any = any || is_of_group(commands[i], word);
    return any;
}

static void help_group(FILE *f, const char *word)
{
    fputs("Commands:\n", f);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (is_of_group(commands[i], word))
            fprintf(f, "  weightfs %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
}

static int usage(const char *what, const char *name)
{
    char first[N_COMMANDS][16], shown[200], text[64];
    struct wfs_suggestion near;

    wfs_suggest_begin(&near, name);
    for (size_t i = 0; i < N_COMMANDS && name[0] != '-'; i++) {
        snprintf(first[i], sizeof first[i], "%.*s", (int)strcspn(commands[i]->name, " "), commands[i]->name);
        wfs_suggest_consider(&near, first[i]);
    }
    wfs_escape(shown, sizeof shown, name, strlen(name));
    fprintf(stderr, "weightfs: there is no %s \"%s\"%s\nTry `weightfs --help`.\n", what, shown,
            wfs_suggest_text(&near, "", text, sizeof text));
    return WFS_EXIT_USAGE;
}

/* The first word stands for several commands, and no second one, or a wrong one, follows. */
static int usage_of_group(int argc, char **argv)
{
    char shown[200];

    if (argc > 1) {
        wfs_escape(shown, sizeof shown, argv[1], strlen(argv[1]));
        fprintf(stderr, "weightfs %s: there is no %s \"%s\"\n", argv[0], argv[1][0] == '-' ? "option" : "command", shown);
    } else {
        fprintf(stderr, "weightfs %s: COMMAND is missing\n", argv[0]);
    }
    help_group(stderr, argv[0]);
    return WFS_EXIT_USAGE;
}

static int run(const struct wfs_command *command, int argc, char **argv)
{
    struct wfs_arguments args;
    int r = wfs_arguments_parse(command, argc, argv, &args);

    if (r != 0)
        return r > 0 ? WFS_EXIT_OK : WFS_EXIT_USAGE;
    r = command->run(command, &args);
    wfs_options_done(&args.options);
    /* A full disk behind standard output must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "weightfs %s: standard output: writing failed\n", command->name);
        return WFS_EXIT_FAILED;
    }
    return r;
}

/*
 * The starter may have closed them: then files that are opened would take their places, and be written messages to, or
 * be closed with them. What stands in for them fails, as the closed ones would.
 */
static void hold_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

int main(int argc, char **argv)
{
    const struct wfs_command *command;
    bool only_help, named;
    const char *cpu;
    int words;

    hold_streams();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of a file's size is an error of that write */
    if (!wfs_cpu_check(&cpu)) {
        char shown[200];

        wfs_escape(shown, sizeof shown, cpu, strlen(cpu));
        fprintf(stderr, "weightfs: WEIGHTFS_CPU=%s: the word must be one of c, avx2, avx512, neon\n", shown);
        return argc > 0 && wfs_fstab_is_helper(argv[0]) ? WFS_FSTAB_USAGE : WFS_EXIT_USAGE;
    }
    if (argc > 0 && wfs_fstab_is_helper(argv[0]))
        return wfs_fstab_main(argc, argv);
    if (argc < 2) {
        help(stderr);
        return WFS_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (strcmp(argv[1], "help") == 0 && argc == 2)) {
        help(stdout);
        return WFS_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        version();
        return WFS_EXIT_OK;
    }
    if (argv[1][0] == '-')
        return usage("option", argv[1]);
    only_help = strcmp(argv[1], "help") == 0;
    argv += only_help ? 2 : 1;
    argc -= only_help ? 2 : 1;
    command = find(argc, argv, &words);
    if (!command) {
        named = only_help || (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0));
        if (!is_group(argv[0]))
            return usage("command", argv[0]);
        if (!named)
            return usage_of_group(argc, argv);
        help_group(stdout, argv[0]);
        return WFS_EXIT_OK;
    }
    if (only_help) {
        wfs_arguments_help(command, stdout);
        return WFS_EXIT_OK;
    }
    return run(command, argc - words, argv + words);
}
