/* The log: level, receiver, long messages. */
#include "base/log.h"

#include "harness/test.h"

static char last[2000];
static int received;

static void receive(void *context, hki_level level, const char *message)
{
    (void)level;
    ++*(int *)context;
    snprintf(last, sizeof last, "%s", message);
}

TEST(levels)
{
    hki_log(HKI_LOG_WARNING, "nobody listens");
    hki_log_set(receive, &received, HKI_LOG_INFO);
    hki_log(HKI_LOG_DEBUG, "too low");
    CHECK_EQ(received, 0);
    hki_log(HKI_LOG_INFO, "epoch %d", 3);
    CHECK_EQ(received, 1);
    CHECK_STR(last, "epoch 3");
    hki_log(HKI_LOG_WARNING, "%05000d", 0);
    CHECK_EQ(received, 2);
    CHECK_EQ(strlen(last), 1023);
    hki_log_set(NULL, NULL, HKI_LOG_DEBUG);
    hki_log(HKI_LOG_WARNING, "nobody listens");
    CHECK_EQ(received, 2);
}

TEST_MAIN()
