#include "hash_files.h"

#include "base/cleanup.h"
#include "pool.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { PIECE = 1 << 20, MAX_THREADS = 64 };

struct hashing {
    struct wfs_source *source;
    struct wfs_hash_job *jobs;
    size_t n_jobs;
    void (*each)(void *ctx, struct wfs_hash_job *job);
    void *ctx;
    pthread_mutex_t lock; /* protects what follows; each is called under it */
    pthread_cond_t ended;
    size_t next, n_running;
    uint64_t done;
};

static int hash_fd(struct hashing *h, struct wfs_hash_job *job, int fd, EVP_MD_CTX *md, uint8_t *buf)
{
    uint64_t size = job->file->identity.size;

    if (EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1)
        return wfs_error_set(&job->err, ENOTSUP, "libcrypto has no SHA-256");
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (uint64_t at = 0; at < size;) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        int r = wfs_source_pread(h->source, job->file, at, buf, n, &job->err);

        if (r < 0)
            return r;
        EVP_DigestUpdate(md, buf, n);
        at += n;
        pthread_mutex_lock(&h->lock);
        h->done += n;
        pthread_mutex_unlock(&h->lock);
    }
    EVP_DigestFinal_ex(md, job->sha256, NULL);
    return 0; /* wfs_source_pread has looked at the file after each read */
}

static int hash_file(struct hashing *h, struct wfs_hash_job *job, EVP_MD_CTX *md, uint8_t *buf)
{
    int fd, r;

    if (!md || !buf)
        return wfs_error_nomem(&job->err);
    fd = wfs_source_fd_get(h->source, job->file, &job->err);
    if (fd < 0)
        return fd;
    r = hash_fd(h, job, fd, md, buf);
    wfs_source_fd_put(h->source, job->file);
    return r;
}

static void *hash_some(void *arg)
{
    struct hashing *h = arg;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    uint8_t *buf = malloc(PIECE);

    pthread_mutex_lock(&h->lock);
    while (h->next < h->n_jobs) {
        struct wfs_hash_job *job = &h->jobs[h->next++];
        int r;

        pthread_mutex_unlock(&h->lock);
        r = hash_file(h, job, md, buf);
        pthread_mutex_lock(&h->lock);
        if (r == 0 && h->each)
            h->each(h->ctx, job);
    }
    h->n_running--;
    pthread_cond_signal(&h->ended);
    pthread_mutex_unlock(&h->lock);
    free(buf);
    EVP_MD_CTX_free(md);
    return NULL;
}

/* Draws until all threads have ended. */
static void wait_all(struct hashing *h, uint64_t total)
{
    struct wfs_progress progress;
    struct timespec until;

    wfs_progress_begin(&progress, stderr, "reading", total);
    pthread_mutex_lock(&h->lock);
    while (h->n_running > 0) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&h->ended, &h->lock, &until);
        wfs_progress_update(&progress, h->done);
    }
    pthread_mutex_unlock(&h->lock);
    wfs_progress_end(&progress);
}

int wfs_hash_files(struct wfs_source *s, struct wfs_hash_job *jobs, size_t n_jobs,
                   void (*each)(void *ctx, struct wfs_hash_job *job), void *ctx)
{
    struct hashing h = { .source = s, .jobs = jobs, .n_jobs = n_jobs, .each = each, .ctx = ctx };
    size_t wanted = wfs_pool_default_workers(), n = 0;
    pthread_t threads[MAX_THREADS];
    uint64_t total = 0;

    wanted = wanted < MAX_THREADS ? wanted : MAX_THREADS;
    wanted = wanted < n_jobs ? wanted : n_jobs;
    pthread_mutex_init(&h.lock, NULL);
    pthread_cond_init(&h.ended, NULL);
    for (size_t i = 0; i < n_jobs; i++)
        total += jobs[i].file->identity.size;
    h.n_running = wanted;
    while (n < wanted && pthread_create(&threads[n], NULL, hash_some, &h) == 0)
        n++;
    pthread_mutex_lock(&h.lock);
    h.n_running -= wanted - n;
    pthread_mutex_unlock(&h.lock);
    wait_all(&h, total);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&h.ended);
    pthread_mutex_destroy(&h.lock);
    return n > 0 || n_jobs == 0 ? 0 : -ENOMEM;
}
