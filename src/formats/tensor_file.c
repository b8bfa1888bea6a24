/* The public names (include/halka/file.h) of the npy and IDX readers and writers. */
#include "formats/idx.h"
#include "formats/npy.h"
#include "halka/file.h"

hk_status hk_tensor_load_npy(hk_tensor **out, const char *path)
{
    *out = NULL;
    return hki_npy_load(out, path);
}

hk_status hk_tensor_save_npy(const hk_tensor *tensor, const char *path)
{
    return hki_npy_save(path, tensor);
}

hk_status hk_tensor_load_idx(hk_tensor **out, const char *path)
{
    *out = NULL;
    return hki_idx_load(out, path);
}
