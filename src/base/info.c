/* What include/halka/info.h tells about library and machine. */
#include "halka/info.h"

#include <unistd.h>

#include "base/system.h"

#ifndef HALKA_ZLIB
#define HALKA_ZLIB 0
#endif
#ifndef HALKA_JPEG
#define HALKA_JPEG 0
#endif
#ifndef HALKA_PNG
#define HALKA_PNG 0
#endif

static const hk_feature features[] = {
    {"zlib", HALKA_ZLIB, "zlib1g-dev", "reads .gz data files"},
    {"jpeg", HALKA_JPEG, "libjpeg62-turbo-dev", "reads JPEG images"},
    {"png", HALKA_PNG, "libpng-dev", "reads PNG images"},
};

const char *hk_version(void)
{
    return HALKA_VERSION;
}

int hk_feature_count(void)
{
    return (int)(sizeof features / sizeof *features);
}

const hk_feature *hk_feature_at(int index)
{
    return index >= 0 && index < hk_feature_count() ? &features[index] : NULL;
}

hk_status hk_machine_describe(hk_machine *out)
{
    hki_isa isa;
    HK_TRY(hki_isa_choose(&isa));
    hk_machine machine = {.isa = hki_isa_name(isa), .threads = hki_cpu_count(), .peak_memory = hki_memory_peak()};
    hki_cpu_name(machine.cpu, sizeof machine.cpu);
    for (int i = 0; i <= (int)hki_isa_best() && i < 7; i++)
        machine.isas[i] = hki_isa_name((hki_isa)i);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        machine.memory = (uint64_t)pages * (uint64_t)page;
    *out = machine;
    return NULL;
}
