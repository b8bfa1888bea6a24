/* Digests: the same weights give the same text from a graph and from a checkpoint, whatever the order; any byte changes
 * it. */
#include "halka/digest.h"

#include "formats/safetensors.h"
#include "harness/test.h"

static hk_tensor *tensor(float first)
{
    hk_tensor *t = NULL;
    float data[] = {first, 2, 3, 4};
    CHECK_OK(hk_tensor_from(&t, data, HK_FLOAT, 2, (int64_t[]){2, 2}));
    return t;
}

TEST(graph_and_checkpoint)
{
    hk_tensor *a = tensor(1), *b = tensor(5);
    hk_graph *graph;
    hk_digest of_graph, of_file, of_other;
    REQUIRE_OK(hk_graph_create(&graph, "digest"));
    hk_graph_constant(graph, "w.b", b);
    hk_graph_constant(graph, "w.a", a);
    REQUIRE_OK(hk_digest_graph(&of_graph, graph));
    CHECK_EQ(of_graph.tensors, 2);
    CHECK_EQ(of_graph.bytes, 32);
    const char *path = TEST_BINARY_DIR "/digest_test.safetensors";
    hki_named_tensor named[] = {{"w.a", a}, {"w.b", b}};
    REQUIRE_OK(hki_safetensors_save(path, named, 2, NULL, 0));
    REQUIRE_OK(hk_digest_file(&of_file, path));
    CHECK_STR(of_file.text, of_graph.text);
    ((float *)hk_tensor_data(b))[3] = 4.0000005f; /* one bit */
    REQUIRE_OK(hki_safetensors_save(path, named, 2, NULL, 0));
    REQUIRE_OK(hk_digest_file(&of_other, path));
    CHECK(strcmp(of_other.text, of_graph.text) != 0);
    named[0].name = "w.c";
    ((float *)hk_tensor_data(b))[3] = 4;
    REQUIRE_OK(hki_safetensors_save(path, named, 2, NULL, 0));
    REQUIRE_OK(hk_digest_file(&of_other, path));
    CHECK(strcmp(of_other.text, of_graph.text) != 0);
    hk_tensor_free(a);
    hk_tensor_free(b);
    hk_graph_free(graph);
}

TEST(no_file)
{
    hk_digest digest;
    CHECK_FAILS(hk_digest_file(&digest, "/no/such.safetensors"), HK_NOT_FOUND, "such.safetensors");
    CHECK_FAILS(hk_digest_file(&digest, "/no/such.onnx"), HK_NOT_FOUND, "such.onnx");
}

TEST_MAIN()
