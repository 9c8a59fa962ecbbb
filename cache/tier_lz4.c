/*
 * The compressed tier's format: lz4 of the block, either as it is or with the bytes of each group of four sorted by
 * place first, which lets floats with empty low bytes (float32 made of bfloat16) shrink to half.
 */
#include "private.h"

#include <errno.h>
#include <lz4.h>
#include <string.h>

/*
 * Measured on float32 made of bfloat16, 512 KiB, sorted: acceleration 1 packs to 0.43 in 300 us and unpacks in 50 us,
 * 16 to 0.48 in 84 and 30 us. Sorting is 17 us, back 12 us. (Unsorted: 0.65 in 960 us.) Making such a block from a
 * source in the page cache is some 150 us.
 */
enum { SAMPLE = 16 * 1024, ACCELERATION = 16 };

/*
 * Blocks are packed in pieces, each with its length (4 bytes, of this machine) in front: the sorting needs no memory
 * but the stack.
 */
enum { CHUNK = 64 * 1024 };

static void shuffle(const uint8_t *in, uint8_t *out, size_t size)
{
    size_t n = size / 4;

    for (size_t i = 0; i < n; i++) {
        out[i] = in[4 * i];
        out[n + i] = in[4 * i + 1];
        out[2 * n + i] = in[4 * i + 2];
        out[3 * n + i] = in[4 * i + 3];
    }
    memcpy(out + 4 * n, in + 4 * n, size - 4 * n);
}

static void unshuffle(const uint8_t *in, uint8_t *out, size_t size)
{
    size_t n = size / 4;

    for (size_t i = 0; i < n; i++) {
        out[4 * i] = in[i];
        out[4 * i + 1] = in[n + i];
        out[4 * i + 2] = in[2 * n + i];
        out[4 * i + 3] = in[3 * n + i];
    }
    memcpy(out + 4 * n, in + 4 * n, size - 4 * n);
}

/* A look at the middle of the block: whether it shrinks, and in which form. */
static bool worth_it(const uint8_t *data, size_t size, bool *ret_shuffled)
{
    size_t n = size < SAMPLE ? size : SAMPLE, goal = n / 4 * 3;
    const uint8_t *from = data + (size - n) / 2 / 4 * 4;
    char out[LZ4_COMPRESSBOUND(SAMPLE)];
    uint8_t sorted[SAMPLE];
    int plain, shuffled;

    if (n < 256)
        return false;
    plain = LZ4_compress_fast((const char *)from, out, (int)n, (int)sizeof out, ACCELERATION);
    shuffle(from, sorted, n);
    shuffled = LZ4_compress_fast((const char *)sorted, out, (int)n, (int)sizeof out, ACCELERATION);
    *ret_shuffled = shuffled < plain;
    return (plain > 0 && (size_t)plain <= goal) || (shuffled > 0 && (size_t)shuffled <= goal);
}

uint32_t wfs_lz4_pack(const uint8_t *data, size_t size, uint8_t *out, bool *ret_shuffled)
{
    size_t goal = size / 4 * 3, used = 0;
    uint8_t sorted[CHUNK];

    if (size > UINT32_MAX || !worth_it(data, size, ret_shuffled))
        return 0;
    for (size_t at = 0, n; at < size; at += n) {
        uint32_t packed;
        int r;

        n = size - at < CHUNK ? size - at : CHUNK;
        if (goal - used <= sizeof packed)
            return 0;
        if (*ret_shuffled)
            shuffle(data + at, sorted, n);
        r = LZ4_compress_fast((const char *)(*ret_shuffled ? sorted : data + at), (char *)out + used + sizeof packed,
                              (int)n, (int)(goal - used - sizeof packed), ACCELERATION);
        if (r <= 0)
            return 0;
        packed = (uint32_t)r;
        memcpy(out + used, &packed, sizeof packed);
        used += sizeof packed + packed;
    }
    return (uint32_t)used;
}

int wfs_lz4_unpack(const uint8_t *packed, uint32_t packed_size, bool shuffled, uint8_t *out, size_t size)
{
    uint8_t sorted[CHUNK];
    size_t used = 0;

    for (size_t at = 0, n; at < size; at += n) {
        uint32_t len;
        int r;

        n = size - at < CHUNK ? size - at : CHUNK;
        if (packed_size - used < sizeof len)
            return -EIO;
        memcpy(&len, packed + used, sizeof len);
        used += sizeof len;
        if (len > packed_size - used)
            return -EIO;
        r = LZ4_decompress_safe((const char *)packed + used, (char *)(shuffled ? sorted : out + at), (int)len, (int)n);
        if (r != (int)n)
            return -EIO;
        if (shuffled)
            unshuffle(sorted, out + at, n);
        used += len;
    }
    return used == packed_size ? 0 : -EIO;
}
