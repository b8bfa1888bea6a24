/* Plain matrix product for one type: define PRODUCT_NAME, PRODUCT_TYPE. Row m of C gains A[m, k] B[k, :] for increasing
 * k. */
static void PRODUCT_NAME(const hki_product *p, int64_t a_offset, int64_t b_offset, int64_t c_offset, int64_t begin,
                         int64_t end)
{
    const PRODUCT_TYPE *a = (const PRODUCT_TYPE *)p->a + a_offset, *b = (const PRODUCT_TYPE *)p->b + b_offset;
    PRODUCT_TYPE *c = (PRODUCT_TYPE *)p->c + c_offset;
    for (int64_t m = begin; m < end; m++) {
        PRODUCT_TYPE *row = c + m * p->N;
        for (int64_t n = 0; n < p->N; n++)
            row[n] = 0;
        for (int64_t k = 0; k < p->K; k++) {
            PRODUCT_TYPE x = a[m * p->a_row + k * p->a_step];
            const PRODUCT_TYPE *y = b + k * p->b_row;
            for (int64_t n = 0; n < p->N; n++)
                row[n] += x * y[n * p->b_column];
        }
    }
}
#undef PRODUCT_NAME
#undef PRODUCT_TYPE
