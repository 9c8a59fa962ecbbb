/*
 * Writes the tokenizer keys of a model folder to standard output, as they stand in a GGUF file: what check_tokenizer.py
 * compares with the reference. Usage: dump_tokenizer DIR llama|qwen2 VOCAB_SIZE [PRETOKENIZER]
 * VOCAB_SIZE -1 = config.json has none. "time" as a fifth argument prints the milliseconds of processor time of the
 * best of five runs.
 */
#include "tokenizer/tokenizer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int read_file(void *ctx, const char *name, struct wfs_blob *ret, struct wfs_error *err)
{
    char path[4096];
    struct stat st;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", (const char *)ctx, name);
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    file = fopen(path, "rb");
    if (!file)
        return wfs_error_set(err, errno, "%s: %s", name, strerror(errno));
    ret->data = malloc((size_t)st.st_size + 1);
    ret->len = ret->data ? fread(ret->data, 1, (size_t)st.st_size, file) : 0;
    fclose(file);
    return 1;
}

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Once through; 0, or 1 with the message on standard error. */
static int dump(const struct wfs_tokenizer_request *request, FILE *out)
{
    struct wfs_buf bytes = WFS_BUF_INIT;
    struct wfs_kv_list kv;
    struct wfs_error err = { 0, "" };
    uint64_t n_tokens = 0;
    int r;

    wfs_kv_init(&kv);
    r = wfs_tokenizer_write(request, &kv, &n_tokens, &err);
    if (r == 0)
        r = wfs_kv_serialise(&kv, &bytes);
    if (r == 0 && out)
        fwrite(bytes.data, 1, bytes.len, out);
    if (r < 0)
        fprintf(stderr, "%d %s\n", r, err.msg);
    wfs_kv_done(&kv);
    wfs_buf_done(&bytes);
    return r < 0;
}

int main(int argc, char **argv)
{
    struct wfs_folder folder = { .read = read_file };
    struct wfs_tokenizer_request request = { .folder = &folder, .vocab_size = -1 };
    bool timed = argc > 5;
    struct dirent **entries;
    const char **names;
    double best = 1e9;
    int n, r = 0;

    if (argc < 4 || (n = scandir(argv[1], &entries, NULL, alphasort)) < 0)
        return 2;
    names = calloc((size_t)n + 1, sizeof *names);
    for (int i = 0; names && i < n; i++)
        names[i] = entries[i]->d_name;
    folder.ctx = argv[1];
    folder.path = argv[1];
    folder.names = names;
    folder.n_names = names ? (size_t)n : 0;
    request.method = strcmp(argv[2], "qwen2") == 0 ? WFS_VOCAB_QWEN2 : WFS_VOCAB_LLAMA;
    request.vocab_size = atoll(argv[3]);
    request.force_pre = argc > 4 && *argv[4] ? argv[4] : NULL;
    for (int run = 0; run < (timed ? 5 : 1) && r == 0; run++) {
        double start = cpu_ms();

        r = dump(&request, timed ? NULL : stdout);
        best = cpu_ms() - start < best ? cpu_ms() - start : best;
    }
    if (timed)
        printf("%.1f\n", best);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    free(names);
    return r;
}
