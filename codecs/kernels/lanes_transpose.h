/* Columns of rows in memory, by the vf_transpose_rows of the lanes_*.h that includes this. */
#ifndef WFS_KERNELS_LANES_TRANSPOSE_H
#define WFS_KERNELS_LANES_TRANSPOSE_H

/* ret[i] lane j = p[j * stride + i]. */
static inline void vf_transpose(const float *p, size_t stride, vf ret[LANES])
{
    vf rows[LANES];

    for (int j = 0; j < LANES; j++)
        rows[j] = vf_load(p + (size_t)j * stride);
    vf_transpose_rows(rows, ret);
}

/* ret[i] lane j = p[at[j] + i]. */
static inline void vf_transpose_at(const float *p, const int32_t at[LANES], vf ret[LANES])
{
    vf rows[LANES];

    for (int j = 0; j < LANES; j++)
        rows[j] = vf_load(p + at[j]);
    vf_transpose_rows(rows, ret);
}

#endif
