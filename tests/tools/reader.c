/*
 * Reads a file the way its readers do, and says how fast that went: what tests/bench measures views and plain files by.
 *
 * Usage: reader [-l] [-s] [-r] [-p MS] [-w FROM:TO] [-g KIB] ACCESS READERS SECONDS FILE
 *   ACCESS   seq_read     pread, 1 MiB at a time; every reader from begin to end of a part of the file of its own
 *            seq_mmap     the same by mmap, every byte looked at
 *            rand4k_read  pread of pages, each once, in an order that is random but always the same
 *            rand4k_mmap  the same by mmap
 *   READERS  threads, each with a descriptor and a mapping of its own
 *   SECONDS  ends sooner when all is read
 *   -l       begins again when all is read (what is read again comes from the page cache)
 *   -s       sums up what it reads, to tell whether two files are equal
 *   -r       MADV_RANDOM for mappings
 *   -p MS    every reader rests so long after each read
 *   -w FROM:TO  only this part of the file, in percent
 *   -g KIB   pages so far apart (4): with more than a tile's length, each read is of another tile
 * Prints: bytes, seconds, MB/s, p50 and p99 and the longest of the reads in ms, its own CPU seconds, the sum.
 * The clock starts when every reader has its file open.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    CHUNK = 1 << 20,
    MAX_READERS = 1024,
    STEPS = 32, /* of the histogram, for each power of two: 3 % */
    BUCKETS = 64 * STEPS,
};

struct reader {
    pthread_t thread;
    unsigned number;
    int fd;
    const uint8_t *map;
    uint8_t *buffer;
    uint64_t bytes, end_ns, sum;
    uint64_t longest_ns;
    uint32_t latencies[BUCKETS];
};

static const char *path;
static bool by_mmap, at_random, again, summing, advise_random;
static unsigned n_readers, pause_ms;
static uint64_t size, deadline, duration;
static uint64_t window_from, window_to = 100, grid = PAGE;
static pthread_barrier_t opened;
static struct reader *readers;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "reader: %s: %s: %s\n", path ? path : "", what, strerror(errno));
    exit(1);
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- latencies ---- */

static unsigned bucket_of(uint64_t ns)
{
    unsigned power;

    if (ns < STEPS)
        return (unsigned)ns;
    power = 63 - (unsigned)__builtin_clzll(ns);
    return (power - 4) * STEPS + (unsigned)(ns >> (power - 5)) - STEPS;
}

static double bucket_ms(unsigned bucket)
{
    unsigned power = bucket / STEPS + 4;

    if (bucket < STEPS)
        return bucket / 1e6;
    return (double)((uint64_t)(bucket % STEPS + STEPS) << (power - 5)) * (1 + 0.5 / STEPS) / 1e6;
}

static double percentile_ms(double part)
{
    uint64_t total = 0, seen = 0;

    for (unsigned i = 0; i < n_readers; i++) {
        for (unsigned b = 0; b < BUCKETS; b++)
            total += readers[i].latencies[b];
    }
    for (unsigned b = 0; b < BUCKETS; b++) {
        for (unsigned i = 0; i < n_readers; i++)
            seen += readers[i].latencies[b];
        if (seen > 0 && (double)seen >= part * (double)total)
            return bucket_ms(b);
    }
    return 0;
}

/* ---- which page comes when ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
    return x ^ (x >> 29);
}

/* A permutation of [0, n): a Feistel network over the next even power of two, walked until it is back within n. */
static uint64_t shuffled(uint64_t i, uint64_t n)
{
    unsigned half = 1;

    while (half < 31 && (uint64_t)1 << (2 * half) < n)
        half++;
    do {
        uint64_t mask = ((uint64_t)1 << half) - 1, left = i >> half, right = i & mask;

        for (uint64_t round = 1; round <= 4; round++) {
            uint64_t next = left ^ (mix(right + round * 0x51ed2701) & mask);

            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* ---- reading ---- */

/* Of whole words, each by its place in the file, so that the order of reading does not matter; then the last bytes. */
static uint64_t sum_of(const uint8_t *data, uint64_t offset, size_t len)
{
    uint64_t sum = 0, place = offset / 8;
    size_t n = len / 8;

    for (size_t i = 0; i < n; i++) {
        uint64_t word;

        memcpy(&word, data + 8 * i, 8);
        sum += word * (2 * (place + i) + 1);
    }
    for (size_t i = 8 * n; i < len; i++)
        sum += (uint64_t)data[i] << (i % 8 * 8);
    return sum;
}

/* Looks at every byte, as quickly as memory gives them. */
static uint64_t look_at(const uint8_t *data, size_t len)
{
    uint64_t sum = 0;

    for (size_t i = 0; i + 8 <= len; i += 8) {
        uint64_t word;

        memcpy(&word, data + i, 8);
        sum ^= word;
    }
    return sum;
}

static void read_piece(struct reader *r, uint64_t offset, size_t len)
{
    uint64_t begin = now(), took;
    const uint8_t *data = r->buffer;
    unsigned bucket;

    if (by_mmap) {
        data = r->map + offset;
        r->sum += look_at(data, len);
    } else {
        for (size_t done = 0; done < len;) {
            ssize_t n = pread(r->fd, r->buffer + done, len - done, (off_t)(offset + done));

            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0) {
                errno = n < 0 ? errno : ENODATA;
                die("read");
            }
            done += (size_t)n;
        }
    }
    took = now() - begin;
    bucket = bucket_of(took);
    r->latencies[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    r->longest_ns = took > r->longest_ns ? took : r->longest_ns;
    r->bytes += len;
    if (summing)
        r->sum += sum_of(data, offset, len);
    if (pause_ms) {
        struct timespec rest = { pause_ms / 1000, (long)(pause_ms % 1000) * 1000000 };

        nanosleep(&rest, NULL);
    }
}

static void read_part(struct reader *r)
{
    uint64_t chunks = (size + CHUNK - 1) / CHUNK, first = chunks * window_from / 100;
    uint64_t n = chunks * window_to / 100 - first;
    uint64_t from = first + n * r->number / n_readers, to = first + n * (r->number + 1) / n_readers;

    for (uint64_t i = from; i < to && now() < deadline; i++) {
        uint64_t offset = i * CHUNK;

        read_piece(r, offset, size - offset < CHUNK ? (size_t)(size - offset) : CHUNK);
    }
}

static void read_pages(struct reader *r)
{
    uint64_t places = size / grid, first = places * window_from / 100, n = places * window_to / 100 - first;

    for (uint64_t i = r->number; i < n && now() < deadline; i += n_readers)
        read_piece(r, (first + shuffled(i, n)) * grid, PAGE);
}

static void open_file(struct reader *r)
{
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        die("open");
    if (by_mmap) {
        r->map = mmap(NULL, size, PROT_READ, MAP_SHARED, r->fd, 0);
        if (r->map == MAP_FAILED)
            die("mmap");
        if (advise_random && madvise((void *)r->map, size, MADV_RANDOM) < 0)
            die("madvise");
        return;
    }
    r->buffer = aligned_alloc(PAGE, CHUNK);
    if (!r->buffer)
        die("memory");
    memset(r->buffer, 0, CHUNK);
}

static void *run(void *arg)
{
    struct reader *r = arg;

    open_file(r);
    pthread_barrier_wait(&opened);
    pthread_barrier_wait(&opened); /* the clock is set */
    do {
        if (at_random)
            read_pages(r);
        else
            read_part(r);
    } while (again && now() < deadline);
    r->end_ns = now();
    return NULL;
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void parse(int argc, char **argv)
{
    struct stat st;
    int option;

    while ((option = getopt(argc, argv, "+lsrp:w:g:")) != -1) {
        again = again || option == 'l';
        summing = summing || option == 's';
        advise_random = advise_random || option == 'r';
        if (option == 'p')
            pause_ms = (unsigned)strtoul(optarg, NULL, 10);
        if (option == 'g')
            grid = strtoull(optarg, NULL, 10) * 1024;
        if (option == 'w' && sscanf(optarg, "%lu:%lu", &window_from, &window_to) != 2)
            window_to = 0;
    }
    if (window_from >= window_to || window_to > 100 || grid < PAGE) {
        fprintf(stderr, "reader: no such part of a file\n");
        exit(2);
    }
    if (argc - optind != 4) {
        fprintf(stderr, "reader: ACCESS READERS SECONDS FILE are wanted\n");
        exit(2);
    }
    by_mmap = strstr(argv[optind], "mmap") != NULL;
    at_random = strncmp(argv[optind], "rand", 4) == 0;
    n_readers = (unsigned)strtoul(argv[optind + 1], NULL, 10);
    duration = (uint64_t)(strtod(argv[optind + 2], NULL) * 1e9);
    path = argv[optind + 3];
    if (n_readers < 1 || n_readers > MAX_READERS) {
        fprintf(stderr, "reader: 1 to %d readers\n", MAX_READERS);
        exit(2);
    }
    if (stat(path, &st) < 0)
        die("stat");
    size = (uint64_t)st.st_size;
}

int main(int argc, char **argv)
{
    uint64_t begin, end = 0, bytes = 0, sum = 0, longest = 0;
    double cpu, seconds;

    parse(argc, argv);
    readers = calloc(n_readers, sizeof *readers);
    if (!readers)
        die("memory");
    pthread_barrier_init(&opened, NULL, n_readers + 1);
    for (unsigned i = 0; i < n_readers; i++) {
        readers[i].number = i;
        errno = pthread_create(&readers[i].thread, NULL, run, &readers[i]);
        if (errno)
            die("thread");
    }
    pthread_barrier_wait(&opened);
    cpu = cpu_seconds();
    begin = now();
    deadline = begin + duration;
    pthread_barrier_wait(&opened);
    for (unsigned i = 0; i < n_readers; i++) {
        struct reader *r = &readers[i];

        pthread_join(r->thread, NULL);
        bytes += r->bytes;
        sum += r->sum;
        longest = r->longest_ns > longest ? r->longest_ns : longest;
        end = r->end_ns > end ? r->end_ns : end;
    }
    cpu = cpu_seconds() - cpu;
    seconds = (double)(end - begin) / 1e9;
    printf("%llu %.6f %.3f %.6f %.6f %.6f %.6f %016llx\n", (unsigned long long)bytes, seconds,
           (double)bytes / seconds / 1e6, percentile_ms(0.5), percentile_ms(0.99), (double)longest / 1e6, cpu,
           (unsigned long long)sum);
    return 0;
}
