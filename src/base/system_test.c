/* The machine: ISA choice, processor count and quota files, clock, stop requests. */
#include "base/system.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "harness/test.h"

TEST(isa_names)
{
    hki_isa isa;
    for (int i = 0; i < HKI_ISA_COUNT; i++) {
        CHECK(hki_isa_find(&isa, hki_isa_name((hki_isa)i)));
        CHECK_EQ(isa, i);
    }
    CHECK(!hki_isa_find(&isa, "sse9"));
    CHECK_STR(hki_isa_name((hki_isa)99), "unknown");
}

TEST(isa_best_agrees_with_the_compiler)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    CHECK_EQ(hki_isa_best(), avx512 ? HKI_ISA_AVX512 : avx2 ? HKI_ISA_AVX2 : HKI_ISA_C);
#else
    CHECK_EQ(hki_isa_best(), HKI_ISA_C);
#endif
}

TEST(isa_choose)
{
    hki_isa isa = HKI_ISA_COUNT;
    unsetenv("HALKA_ISA");
    REQUIRE_OK(hki_isa_choose(&isa));
    CHECK_EQ(isa, hki_isa_best());
    setenv("HALKA_ISA", "c", 1);
    REQUIRE_OK(hki_isa_choose(&isa));
    CHECK_EQ(isa, HKI_ISA_C);
    setenv("HALKA_ISA", "mmx", 1);
    CHECK_FAILS(hki_isa_choose(&isa), HK_INVALID_ARGUMENT, "found 'mmx'");
    if (hki_isa_best() < HKI_ISA_AVX512) {
        setenv("HALKA_ISA", "avx512", 1);
        CHECK_FAILS(hki_isa_choose(&isa), HK_UNSUPPORTED, "avx512");
    }
    unsetenv("HALKA_ISA");
}

TEST(cpu)
{
    char name[64], tiny[4];
    hki_cpu_name(name, sizeof name);
    CHECK(name[0] && name[0] != ' ');
    hki_cpu_name(tiny, sizeof tiny);
    CHECK(strlen(tiny) <= 3);
    CHECK(hki_cpu_count() >= 1);
    cpu_set_t old, one;
    CHECK_EQ(sched_getaffinity(0, sizeof old, &old), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &old))
            CPU_SET(i, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(hki_cpu_count(), 1);
    CHECK_EQ(sched_setaffinity(0, sizeof old, &old), 0);
}

static void put(const char *root, const char *folder, const char *name, const char *text)
{
    char path[900];
    hki_writer *writer;
    snprintf(path, sizeof path, "%s/%s", root, folder);
    REQUIRE_OK(hki_directory_create(path));
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    REQUIRE_OK(hki_writer_open(&writer, path));
    hki_writer_write(writer, text, strlen(text));
    REQUIRE_OK(hki_writer_commit(writer));
}

TEST(quota)
{
    char root[400], file[500], command[600];
    snprintf(root, sizeof root, "%s/system_test.cgroup", TEST_BINARY_DIR);
    snprintf(file, sizeof file, "%s/self", root);
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_EQ(system(command), 0);
    put(root, ".", "self", "0::/a/b\n");
    CHECK_EQ(hki_cpu_quota(root, file), 0);
    put(root, "a/b", "cpu.max", "max 100000\n");
    CHECK_EQ(hki_cpu_quota(root, file), 0);
    put(root, "a", "cpu.max", "250000 100000\n"); /* 2.5 processors */
    CHECK_EQ(hki_cpu_quota(root, file), 3);
    put(root, "a/b", "cpu.max", "50000 100000\n");
    CHECK_EQ(hki_cpu_quota(root, file), 1);
    put(root, ".", "self", "0::/not/visible/here\n");
    CHECK_EQ(hki_cpu_quota(root, file), 0);
    put(root, ".", "cpu.max", "400000 100000\n");
    CHECK_EQ(hki_cpu_quota(root, file), 4);
    put(root, ".", "self", "5:memory:/x\n4:cpuset:/x\n3:cpu,cpuacct:/x\n");
    CHECK_EQ(hki_cpu_quota(root, file), 0);
    put(root, "cpu,cpuacct/x", "cpu.cfs_quota_us", "-1\n");
    CHECK_EQ(hki_cpu_quota(root, file), 0);
    put(root, "cpu,cpuacct/x", "cpu.cfs_quota_us", "150000\n");
    put(root, "cpu,cpuacct/x", "cpu.cfs_period_us", "50000\n");
    CHECK_EQ(hki_cpu_quota(root, file), 3);
    put(root, "cpu/x", "cpu.cfs_quota_us", "garbage");
    CHECK_EQ(hki_cpu_quota(root, file), 3);
    put(root, ".", "self", "nonsense\n::\n\n0::");
    CHECK_EQ(hki_cpu_quota(root, file), 4);
    CHECK_EQ(hki_cpu_quota(root, "/none"), 0);
}

TEST(clock_and_memory)
{
    double before = hki_clock();
    usleep(2000);
    double passed = hki_clock() - before;
    CHECK(passed >= 0.002 && passed < 10);
    CHECK(hki_memory_peak() > 100000);
}

TEST(stop)
{
    CHECK(!hki_stop_requested());
    hki_stop_set(true);
    CHECK(hki_stop_requested());
    hki_stop_set(false);
    hki_stop_install();
    raise(SIGTERM);
    CHECK(hki_stop_requested());
    hki_stop_set(false);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGINT);
        raise(SIGINT); /* the second one ends the process */
        _exit(0);
    }
    int state = 0;
    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGINT);
    CHECK(!hki_stop_requested());
}

TEST_MAIN()
