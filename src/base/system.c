/* The machine: instruction sets, processors, clock, memory, and the request to stop. */
#include "base/system.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/file.h"
#include "base/text.h"

static const char *const isa_names[HKI_ISA_COUNT] = {"c", "avx2", "avx512"};

const char *hki_isa_name(hki_isa isa)
{
    return (unsigned)isa < HKI_ISA_COUNT ? isa_names[isa] : "unknown";
}

bool hki_isa_find(hki_isa *out, const char *name)
{
    for (int i = 0; i < HKI_ISA_COUNT; i++) {
        if (!strcmp(isa_names[i], name)) {
            *out = (hki_isa)i;
            return true;
        }
    }
    return false;
}

#if defined(__x86_64__) || defined(__i386__)
/* Which register states the operating system saves (XCR0): without its help the upper halves of registers get lost. */
static uint64_t saved_states(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has(uint32_t bits, uint32_t wanted)
{
    return (bits & wanted) == wanted;
}

hki_isa hki_isa_best(void)
{
    uint32_t a, b, c, d, b7, c7, d7;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C))
        return HKI_ISA_C;
    uint64_t saved = saved_states();
    if ((saved & 0x06) != 0x06 /* xmm, ymm */ || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || !has(b7, bit_AVX2))
        return HKI_ISA_C;
    bool zmm = (saved & 0xe6) == 0xe6; /* and opmask, both halves of zmm */
    if (zmm && has(b7, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL))
        return HKI_ISA_AVX512;
    return HKI_ISA_AVX2;
}
#else
hki_isa hki_isa_best(void)
{
    return HKI_ISA_C;
}
#endif

hk_status hki_isa_choose(hki_isa *out)
{
    const char *name = getenv("HALKA_ISA");
    hki_isa best = hki_isa_best(), isa = best;
    if (name && *name) {
        if (!hki_isa_find(&isa, name))
            return HK_ERR(HK_INVALID_ARGUMENT, "HALKA_ISA: expected c, avx2 or avx512, found '%s'", name);
        if (isa > best)
            return HK_ERR(HK_UNSUPPORTED, "HALKA_ISA: this machine has at most %s, found '%s'", hki_isa_name(best),
                          name);
    }
    *out = isa;
    return NULL;
}

/* Copies text without leading, trailing and repeated blanks. */
static void copy_trimmed(char *out, size_t size, const char *text)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++)
        if (*text != ' ' || (length && out[length - 1] != ' '))
            out[length++] = *text;
    while (length && out[length - 1] == ' ')
        length--;
    out[length] = '\0';
}

void hki_cpu_name(char *out, size_t size)
{
    if (!size)
        return;
    copy_trimmed(out, size, "unknown processor");
#if defined(__x86_64__) || defined(__i386__)
    uint32_t words[13] = {0}; /* the brand string: 48 bytes from three calls */
    if (__get_cpuid_max(0x80000000, NULL) < 0x80000004)
        return;
    for (uint32_t i = 0; i < 3; i++)
        __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
    char brand[sizeof words];
    memcpy(brand, words, sizeof words);
    if (brand[0])
        copy_trimmed(out, size, brand);
#endif
}

/* Reads the quota of one group, in processors rounded up; 0 if it has none. Version 2: "cpu.max" holds "quota period"
 * or "max period". Version 1: two files, the quota is -1 if there is no limit. */
static int group_quota(const char *folder, bool version2)
{
    char path[4200], *text;
    size_t size;
    long long quota = -1, period = 100000;
    snprintf(path, sizeof path, "%s/%s", folder, version2 ? "cpu.max" : "cpu.cfs_quota_us");
    hk_status status = hki_file_read(&text, &size, path);
    if (!status) {
        if (sscanf(text, "%lld %lld", &quota, &period) < 1)
            quota = -1;
        hki_free(text);
    }
    hk_status_free(status);
    if (quota > 0 && !version2) {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        status = hki_file_read(&text, &size, path);
        if (!status) {
            period = strtoll(text, NULL, 10);
            hki_free(text);
        }
        hk_status_free(status);
    }
    if (quota <= 0 || period <= 0)
        return 0;
    long long count = quota / period + (quota % period != 0);
    return count > 1 << 20 ? 0 : (int)count;
}

static int smaller_limit(int a, int b)
{
    return !a ? b : !b ? a : a < b ? a : b;
}

/* Walks from a group to the root of its hierarchy. Inside a container the path may name a folder that is not visible;
 * its parents, in the end the root, are. */
static int path_quota(const char *root, const char *controllers, const char *group)
{
    char folder[4096];
    bool version2 = !*controllers;
    int base = snprintf(folder, sizeof folder, "%s%s%s", root, version2 ? "" : "/", controllers);
    int length = snprintf(folder, sizeof folder, "%s%s%s%s", root, version2 ? "" : "/", controllers, group);
    if (base < 0 || length < base || (size_t)length >= sizeof folder)
        return 0;
    int limit = 0;
    for (;;) {
        limit = smaller_limit(limit, group_quota(folder, version2));
        char *slash = strrchr(folder + base, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

/* True if a comma-separated list of version 1 controllers holds "cpu". */
static bool lists_cpu(const char *controllers)
{
    for (const char *s = controllers; s; s = strchr(s, ',')) {
        s += *s == ',';
        if (!strncmp(s, "cpu", 3) && (s[3] == ',' || !s[3]))
            return true;
    }
    return false;
}

int hki_cpu_quota(const char *root, const char *group_file)
{
    char *text;
    size_t size;
    hk_status status = hki_file_read(&text, &size, group_file);
    if (status) {
        hk_status_free(status);
        return 0;
    }
    int limit = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) { /* "number:controllers:/group"; version 2: "0::/group" */
        char *number = strsep(&line, ":"), *controllers = strsep(&line, ":");
        if (!number || !controllers || !line)
            continue;
        if (!*controllers || lists_cpu(controllers))
            limit = smaller_limit(limit, path_quota(root, controllers, line));
        if (lists_cpu(controllers)) /* "cpu" is also a link to "cpu,cpuacct", sometimes the only name */
            limit = smaller_limit(limit, path_quota(root, "cpu", line));
    }
    hki_free(text);
    return limit;
}

/* Size of the affinity mask, however many processors the kernel knows. */
static int affinity_count(void)
{
    for (int capacity = 1024; capacity <= 1 << 20; capacity *= 4) {
        size_t size = CPU_ALLOC_SIZE(capacity);
        cpu_set_t *set = hki_alloc(size);
        if (!set)
            break;
        CPU_ZERO_S(size, set);
        int count = sched_getaffinity(0, size, set) ? 0 : CPU_COUNT_S(size, set);
        hki_free(set);
        if (count)
            return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int hki_cpu_count(void)
{
    return smaller_limit(affinity_count(), hki_cpu_quota("/sys/fs/cgroup", "/proc/self/cgroup"));
}

double hki_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t hki_memory_peak(void)
{
    /* VmHWM begins with this program; getrusage would count the one that started it as well. No heap: it is measured.
     */
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    struct rusage usage;
    if (!kilobytes && !getrusage(RUSAGE_SELF, &usage))
        kilobytes = (unsigned long long)usage.ru_maxrss;
    return (uint64_t)kilobytes * 1024;
}

static atomic_bool stop_flag; /* lock-free, so that a signal handler may set it */

static void on_signal(int number)
{
    if (atomic_load(&stop_flag)) { /* the second time: die of the signal as soon as this handler returns */
        signal(number, SIG_DFL);
        raise(number);
    }
    atomic_store(&stop_flag, true);
}

void hki_stop_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART; /* a read or write in progress goes on; loops look at the flag */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool hki_stop_requested(void)
{
    return atomic_load_explicit(&stop_flag, memory_order_relaxed);
}

void hki_stop_set(bool stop)
{
    atomic_store(&stop_flag, stop);
}
