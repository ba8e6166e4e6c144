/* Programs use the provider by EVP: known answers, chunks of all sizes, in place and not, copies, missing parts, threads, fork
 * and unloading. `evp NAME` runs one of the tests; the configuration comes by OPENSSL_CONF. */
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, what);                     \
            ERR_print_errors_fp(stderr);                                                                   \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

#define OURS "provider=manylane"
#define THEIRS "provider=default"
#define MAX 70000

static const char *what = "";

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fill(uint64_t *state, unsigned char *data, size_t len)
{
    while (len--)
        *data++ = (unsigned char)next(state);
}

static int is_ours(const OSSL_PROVIDER *provider)
{
    return strcmp(OSSL_PROVIDER_get0_name(provider), "manylane") == 0;
}

static EVP_CIPHER *cipher_of(const char *name, const char *properties)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, properties);
    CHECK(cipher != NULL);
    CHECK(is_ours(EVP_CIPHER_get0_provider(cipher)) == (strcmp(properties, OURS) == 0));
    return cipher;
}

static size_t unhex(const char *digits, unsigned char *out)
{
    size_t len = 0;
    unsigned byte;
    if (*digits == '-')
        return 0;
    for (; sscanf(digits, "%2x", &byte) == 1; digits += 2)
        out[len++] = (unsigned char)byte;
    return len;
}

/* A step of the pattern of chunks: all at once, bytes, or lengths around a block. */
static size_t chunk(int pattern, size_t i, size_t left)
{
    static const size_t sizes[] = { 0, 1, 15, 16, 17, 33, 160 };
    size_t size = pattern == 0 ? left : pattern == 1 ? 1 : sizes[(i * 5 + (size_t)pattern) % 7];
    return size < left ? size : left;
}

static int has_tag(const EVP_CIPHER *cipher)
{
    return (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
}

struct vector {
    unsigned char key[64], iv[160], aad[4096], from[MAX], to[MAX], tag[16];
    size_t key_len, iv_len, aad_len, len, to_len, tag_len;
};

/* Runs a vector; 1 if the provider takes it. What comes out is in `out`. */
static int run(const EVP_CIPHER *cipher, const struct vector *v, int encrypts, int pattern, int in_place, int pads,
    const char *standard, unsigned char *out, size_t *out_len, unsigned char *tag)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const unsigned char *from = encrypts ? v->from : v->to;
    size_t len = encrypts ? v->len : v->to_len, done = 0, written = 0;
    int mode = EVP_CIPHER_get_mode(cipher), ok, n;
    OSSL_PARAM params[] = { OSSL_PARAM_END, OSSL_PARAM_END };

    CHECK(ctx != NULL);
    if (standard != NULL)
        params[0] = OSSL_PARAM_construct_utf8_string("xts_standard", (char *)standard, 0);
    ok = EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, encrypts, params);
    EVP_CIPHER_CTX_set_padding(ctx, pads);
    if (has_tag(cipher)) {
        ok = ok && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)v->iv_len, NULL) > 0;
        if (ok && (mode == EVP_CIPH_CCM_MODE || !encrypts))
            ok = EVP_CIPHER_CTX_ctrl(
                     ctx, EVP_CTRL_AEAD_SET_TAG, (int)v->tag_len, encrypts ? NULL : (void *)v->tag)
                > 0;
    }
    ok = ok && EVP_CipherInit_ex2(ctx, NULL, v->key, v->iv_len ? v->iv : NULL, encrypts, NULL);
    if (ok && mode == EVP_CIPH_CCM_MODE)
        ok = EVP_CipherUpdate(ctx, NULL, &n, NULL, (int)len);
    if (ok && v->aad_len > 0)
        ok = EVP_CipherUpdate(ctx, NULL, &n, v->aad, (int)v->aad_len) && (size_t)n == v->aad_len;
    if (in_place) {
        memcpy(out, from, len);
        from = out;
    }
    if (mode == EVP_CIPH_CCM_MODE || mode == EVP_CIPH_XTS_MODE)
        pattern = 0;
    for (size_t i = 0; ok && (done < len || (i == 0 && mode == EVP_CIPH_CCM_MODE)); i++) {
        size_t size = chunk(pattern, i, len - done);
        ok = EVP_CipherUpdate(ctx, out + written, &n, from + done, (int)size);
        CHECK(!ok || ((size_t)n <= size + 16 && written + (size_t)n <= len + 16));
        done += size;
        written += ok ? (size_t)n : 0;
    }
    if (ok) {
        ok = EVP_CipherFinal_ex(ctx, out + written, &n);
        written += ok ? (size_t)n : 0;
    }
    if (ok && encrypts && has_tag(cipher))
        ok = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)v->tag_len, tag) > 0;
    if (ok && has_tag(cipher) && mode == EVP_CIPH_GCM_MODE) {
        /* Nothing goes on after the end. */
        unsigned char byte = 0;
        CHECK(!EVP_CipherUpdate(ctx, &byte, &n, &byte, 1) && !EVP_CipherFinal_ex(ctx, &byte, &n));
        CHECK(!EVP_CipherUpdate(ctx, NULL, &n, &byte, 1));
    }
    *out_len = written;
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

/* Lines: cipher, padding (0, 1) or standard of XTS, key, IV, associated data, plaintext, ciphertext, tag, whether valid. */
static void test_vectors(void)
{
    static char line[8 * MAX], fields[9][2 * MAX + 2];
    static struct vector v, bad;
    static unsigned char out[MAX + 32];
    unsigned char tag[16];
    size_t len, count = 0;

    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *format = "%140001s %140001s %140001s %140001s %140001s %140001s %140001s %140001s %140001s";
        CHECK(sscanf(line, format, fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6],
                  fields[7], fields[8])
            == 9);
        EVP_CIPHER *cipher = cipher_of(fields[0], OURS);
        int pads = fields[1][0] == '1', valid = fields[8][0] == '1';
        const char *standard = strlen(fields[1]) > 1 ? fields[1] : NULL;
        what = line;
        v.key_len = unhex(fields[2], v.key);
        v.iv_len = unhex(fields[3], v.iv);
        v.aad_len = unhex(fields[4], v.aad);
        v.len = unhex(fields[5], v.from);
        v.to_len = unhex(fields[6], v.to);
        v.tag_len = unhex(fields[7], v.tag);
        CHECK((int)v.key_len == EVP_CIPHER_get_key_length(cipher));
        for (int pattern = 0; pattern < 6; pattern++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                /* Buffered blocks move the output against the input; EVP refuses that within one buffer. */
                if (in_place && pattern > 0 && EVP_CIPHER_get_block_size(cipher) > 1)
                    continue;
                if (valid) {
                    CHECK(run(cipher, &v, 1, pattern, in_place, pads, standard, out, &len, tag));
                    CHECK(len == v.to_len && memcmp(out, v.to, len) == 0 && memcmp(tag, v.tag, v.tag_len) == 0);
                    CHECK(run(cipher, &v, 0, pattern, in_place, pads, standard, out, &len, tag));
                    CHECK(len == v.len && memcmp(out, v.from, len) == 0);
                } else {
                    ERR_set_mark();
                    CHECK(!run(cipher, &v, 0, pattern, in_place, pads, standard, out, &len, tag));
                    ERR_pop_to_mark();
                }
                if (valid && v.tag_len > 0) {
                    bad = v;
                    bad.tag[v.tag_len - 1] ^= 1;
                    CHECK(!run(cipher, &bad, 0, pattern, in_place, pads, standard, out, &len, tag));
                    ERR_clear_error();
                }
            }
        }
        EVP_CIPHER_free(cipher);
        count++;
    }
    CHECK(count > 0);
    printf("%zu vectors\n", count);
}

/* Both providers side by side through random calls: the same answers, IVs and numbers at each step. */
static void differ(const char *name, uint64_t *state)
{
    static unsigned char data[4200], out[2][4400];
    unsigned char key[32], iv[16], ivs[2][16];
    EVP_CIPHER *ciphers[] = { cipher_of(name, OURS), cipher_of(name, THEIRS) };
    EVP_CIPHER_CTX *ctx[] = { EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new() };
    int encrypts = (int)(next(state) % 2), pads = next(state) % 4 != 0, n[2], ok[2];

    what = name;
    CHECK(EVP_CIPHER_get_mode(ciphers[0]) == EVP_CIPHER_get_mode(ciphers[1]));
    CHECK(EVP_CIPHER_get_flags(ciphers[0]) == EVP_CIPHER_get_flags(ciphers[1]));
    CHECK(EVP_CIPHER_get_block_size(ciphers[0]) == EVP_CIPHER_get_block_size(ciphers[1]));
    CHECK(EVP_CIPHER_get_iv_length(ciphers[0]) == EVP_CIPHER_get_iv_length(ciphers[1]));
    CHECK(EVP_CIPHER_get_nid(ciphers[0]) == EVP_CIPHER_get_nid(ciphers[1]));
    fill(state, key, sizeof key);
    for (int step = 0; step < 12; step++) {
        switch (step == 0 ? 0 : next(state) % 12) {
        case 0: /* a key and an IV */
            fill(state, iv, sizeof iv);
            if (next(state) % 2)
                memset(iv + 4, 0xff, 12);
            for (int i = 0; i < 2; i++) {
                CHECK(EVP_CipherInit_ex2(ctx[i], ciphers[i], key, iv, encrypts, NULL));
                CHECK(EVP_CIPHER_CTX_set_padding(ctx[i], pads));
            }
            break;
        case 1: /* the same key, another IV, perhaps the other direction */
            fill(state, iv, sizeof iv);
            for (int i = 0; i < 2; i++)
                CHECK(EVP_CipherInit_ex2(ctx[i], NULL, NULL, iv, encrypts, NULL));
            break;
        case 2: /* the same of both */
            for (int i = 0; i < 2; i++)
                CHECK(EVP_CipherInit_ex2(ctx[i], NULL, NULL, NULL, encrypts, NULL));
            break;
        case 3: /* a copy goes on, the first is freed */
            for (int i = 0; i < 2; i++) {
                EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
                CHECK(EVP_CIPHER_CTX_copy(copy, ctx[i]));
                EVP_CIPHER_CTX_free(ctx[i]);
                ctx[i] = copy;
            }
            break;
        case 4: /* the end */
            for (int i = 0; i < 2; i++)
                ok[i] = EVP_CipherFinal_ex(ctx[i], out[i], &n[i]);
            CHECK(ok[0] == ok[1] && (!ok[0] || (n[0] == n[1] && memcmp(out[0], out[1], (size_t)n[0]) == 0)));
            for (int i = 0; i < 2; i++)
                CHECK(EVP_CipherInit_ex2(ctx[i], NULL, NULL, iv, encrypts, NULL));
            break;
        default: {
            size_t len = next(state) % (next(state) % 4 ? 50 : 4100);
            fill(state, data, len);
            for (int i = 0; i < 2; i++)
                CHECK(EVP_CipherUpdate(ctx[i], out[i], &n[i], data, (int)len));
            CHECK(n[0] == n[1] && memcmp(out[0], out[1], (size_t)n[0]) == 0);
        }
        }
        for (int i = 0; i < 2 && EVP_CIPHER_CTX_get_iv_length(ctx[0]) > 0; i++)
            CHECK(EVP_CIPHER_CTX_get_updated_iv(ctx[i], ivs[i], 16));
        CHECK(EVP_CIPHER_CTX_get_iv_length(ctx[0]) == 0 || memcmp(ivs[0], ivs[1], 16) == 0);
        CHECK(EVP_CIPHER_CTX_get_num(ctx[0]) == EVP_CIPHER_CTX_get_num(ctx[1]));
    }
    ERR_clear_error();
    for (int i = 0; i < 2; i++) {
        EVP_CIPHER_CTX_free(ctx[i]);
        EVP_CIPHER_free(ciphers[i]);
    }
}

static void test_differential(void)
{
    static const char *names[] = { "SM4-ECB", "SM4-CBC", "SM4-CTR", "SM4-CFB", "SM4-OFB", "AES-128-CTR",
        "AES-192-CTR", "AES-256-CTR" };
    const char *count = getenv("COUNT");
    uint64_t state = 88172645463325252;
    for (int i = 0; i < (count ? atoi(count) : 200); i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            differ(names[j], &state);
}

/* Calls that miss something are refused, and say what. */
static void refused(const char *name)
{
    unsigned char key[32] = { 1, 2, 3 }, iv[16] = { 4 }, out[64] = { 0 }, message[16] = { 5 };
    EVP_CIPHER *cipher = cipher_of(name, OURS);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n, mode = EVP_CIPHER_get_mode(cipher);

    what = name;
    CHECK(EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, 1, NULL));
    CHECK(!EVP_CipherUpdate(ctx, out, &n, message, 16) && out[0] == 0);
    CHECK(strcmp(ERR_reason_error_string(ERR_peek_last_error()), "no key has been set") == 0);
    ERR_clear_error();
    CHECK(!EVP_CipherFinal_ex(ctx, out, &n));
    ERR_clear_error();
    if (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_CUSTOM_IV) {
        CHECK(EVP_CipherInit_ex2(ctx, NULL, key, NULL, 1, NULL));
        CHECK(!EVP_CipherUpdate(ctx, out, &n, message, 16) && out[0] == 0);
        CHECK(strcmp(ERR_reason_error_string(ERR_peek_last_error()), "no IV has been set") == 0);
        ERR_clear_error();
    }
    CHECK(EVP_CIPHER_CTX_set_key_length(ctx, EVP_CIPHER_get_key_length(cipher) + 1) <= 0);
    if (mode == EVP_CIPH_XTS_MODE) {
        unsigned char weak[32] = { 0 };
        CHECK(!EVP_CipherInit_ex2(ctx, cipher, weak, iv, 1, NULL));
        CHECK(EVP_CipherInit_ex2(ctx, cipher, key, iv, 1, NULL));
        CHECK(!EVP_CipherUpdate(ctx, out, &n, message, 15) && out[0] == 0);
    }
    if (mode == EVP_CIPH_GCM_MODE || mode == EVP_CIPH_CCM_MODE) {
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 0, NULL) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 2000, NULL) <= 0);
        CHECK(EVP_CipherInit_ex2(ctx, cipher, key, iv, 1, NULL));
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, out) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 3, NULL) <= 0);
        /* Decryption without a tag comes to no good end. */
        CHECK(EVP_CipherInit_ex2(ctx, cipher, key, iv, 0, NULL));
        CHECK(!(EVP_CipherUpdate(ctx, out, &n, out, 16) && EVP_CipherFinal_ex(ctx, out, &n)));
    }
    if (mode == EVP_CIPH_CBC_MODE || mode == EVP_CIPH_ECB_MODE) {
        CHECK(EVP_CipherInit_ex2(ctx, cipher, key, iv, 0, NULL));
        CHECK(EVP_CipherUpdate(ctx, out, &n, out, 32) && n == 16);
        CHECK(!EVP_CipherFinal_ex(ctx, out, &n));
    }
    ERR_clear_error();
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
}

static void test_refused(void)
{
    static const char *names[] = { "SM4-ECB", "SM4-CBC", "SM4-CTR", "SM4-CFB", "SM4-CFB8", "SM4-OFB", "SM4-GCM",
        "SM4-CCM", "SM4-XTS", "AES-128-CTR", "AES-256-CTR" };
    for (size_t j = 0; j < sizeof names / sizeof *names; j++)
        refused(names[j]);
}

/* A copy in the middle of a message comes to the same tag. */
static void test_copies(void)
{
    unsigned char key[16] = { 7 }, iv[12] = { 8 }, data[100] = { 9 }, out[2][100], tags[2][16];
    EVP_CIPHER *cipher = cipher_of("SM4-GCM", OURS);
    EVP_CIPHER_CTX *ctx[] = { EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new() };
    int n;
    CHECK(EVP_EncryptInit_ex2(ctx[0], cipher, key, iv, NULL));
    CHECK(EVP_EncryptUpdate(ctx[0], NULL, &n, data, 33));
    CHECK(EVP_EncryptUpdate(ctx[0], out[0], &n, data, 37));
    memcpy(out[1], out[0], 37);
    CHECK(EVP_CIPHER_CTX_copy(ctx[1], ctx[0]));
    for (int i = 0; i < 2; i++) {
        CHECK(EVP_EncryptUpdate(ctx[i], out[i] + 37, &n, data + 37, 63));
        CHECK(EVP_EncryptFinal_ex(ctx[i], out[i] + 100, &n));
        CHECK(EVP_CIPHER_CTX_ctrl(ctx[i], EVP_CTRL_AEAD_GET_TAG, 16, tags[i]) > 0);
    }
    CHECK(memcmp(out[0], out[1], 100) == 0 && memcmp(tags[0], tags[1], 16) == 0);
    /* The key stays for the next message. */
    CHECK(EVP_EncryptInit_ex2(ctx[0], NULL, NULL, iv, NULL));
    CHECK(EVP_EncryptUpdate(ctx[0], NULL, &n, data, 33));
    CHECK(EVP_EncryptUpdate(ctx[0], out[0], &n, data, 100) && EVP_EncryptFinal_ex(ctx[0], out[0], &n));
    CHECK(EVP_CIPHER_CTX_ctrl(ctx[0], EVP_CTRL_AEAD_GET_TAG, 16, tags[0]) > 0);
    CHECK(memcmp(tags[0], tags[1], 16) == 0);
    for (int i = 0; i < 2; i++)
        EVP_CIPHER_CTX_free(ctx[i]);
    EVP_CIPHER_free(cipher);
}

/* OpenSSL's own modes with a tag, and XTS, which it has since 3.2: the same ciphertexts and tags, and each opens the other's. */
static void test_tagged(void)
{
    static const char *names[] = { "SM4-GCM", "SM4-CCM", "SM4-XTS" };
    static struct vector v;
    static unsigned char out[2][MAX + 32];
    unsigned char tags[2][16] = { { 0 } };
    uint64_t state = 424242;
    size_t lens[2];
    for (int i = 0; i < 600; i++) {
        EVP_CIPHER *ciphers[] = { cipher_of(names[i % 3], OURS), cipher_of(names[i % 3], THEIRS) };
        const char *standard = i % 3 < 2 ? NULL : i % 2 ? "GB" : "IEEE";
        what = names[i % 3];
        CHECK(EVP_CIPHER_get_mode(ciphers[0]) == EVP_CIPHER_get_mode(ciphers[1]));
        CHECK(EVP_CIPHER_get_flags(ciphers[0]) == EVP_CIPHER_get_flags(ciphers[1]));
        CHECK(EVP_CIPHER_get_iv_length(ciphers[0]) == EVP_CIPHER_get_iv_length(ciphers[1]));
        CHECK(EVP_CIPHER_get_key_length(ciphers[0]) == EVP_CIPHER_get_key_length(ciphers[1]));
        v.key_len = (size_t)EVP_CIPHER_get_key_length(ciphers[0]);
        v.iv_len = i % 3 == 2 ? 16 : i % 3 == 1 ? 7 + next(&state) % 7 : 1 + next(&state) % 20;
        v.aad_len = i % 3 == 2 ? 0 : next(&state) % 100;
        v.len = (i % 3 == 2 ? 16 : 1) + next(&state) % (i % 5 ? 100 : 5000);
        v.tag_len = i % 3 == 2 ? 0 : 12 + 2 * (next(&state) % 3);
        fill(&state, v.key, v.key_len);
        fill(&state, v.iv, v.iv_len);
        fill(&state, v.aad, v.aad_len);
        fill(&state, v.from, v.len);
        for (int j = 0; j < 2; j++)
            CHECK(run(ciphers[j], &v, 1, i % 6, i / 6 % 2, 1, standard, out[j], &lens[j], tags[j]));
        CHECK(lens[0] == lens[1] && memcmp(out[0], out[1], lens[0]) == 0);
        CHECK(memcmp(tags[0], tags[1], v.tag_len) == 0);
        v.to_len = lens[0];
        memcpy(v.to, out[0], lens[0]);
        memcpy(v.tag, tags[0], 16);
        for (int j = 0; j < 2; j++) {
            CHECK(run(ciphers[j], &v, 0, i % 6, i / 6 % 2, 1, standard, out[j], &lens[j], NULL));
            CHECK(lens[j] == v.len && memcmp(out[j], v.from, v.len) == 0);
            EVP_CIPHER_free(ciphers[j]);
        }
    }
}

static const char *const DIGESTS[] = { "SM3", "SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512", "SHAKE-128",
    "SHAKE-256" };

static void digests(uint64_t *state)
{
    static unsigned char data[20000];
    unsigned char out[2][300];
    for (size_t i = 0; i < sizeof DIGESTS / sizeof *DIGESTS; i++) {
        size_t len = next(state) % (next(state) % 3 ? 300 : sizeof data), lens[2] = { 0, 0 }, xof = next(state) % 300;
        unsigned written;
        what = DIGESTS[i];
        fill(state, data, len);
        EVP_MD *md[] = { EVP_MD_fetch(NULL, DIGESTS[i], OURS), EVP_MD_fetch(NULL, DIGESTS[i], THEIRS) };
        CHECK(md[0] != NULL && md[1] != NULL && is_ours(EVP_MD_get0_provider(md[0])));
        CHECK(EVP_MD_get_size(md[0]) == EVP_MD_get_size(md[1]) || OPENSSL_VERSION_MAJOR >= 4);
        CHECK(EVP_MD_get_block_size(md[0]) == EVP_MD_get_block_size(md[1]));
        CHECK(EVP_MD_get_flags(md[0]) == EVP_MD_get_flags(md[1]));
        CHECK(EVP_MD_get_type(md[0]) == EVP_MD_get_type(md[1]));
        int is_xof = (EVP_MD_get_flags(md[0]) & EVP_MD_FLAG_XOF) != 0;
        if (!is_xof) {
            CHECK(EVP_Q_digest(NULL, DIGESTS[i], OURS, data, len, out[0], &lens[0]));
            CHECK(EVP_Q_digest(NULL, DIGESTS[i], THEIRS, data, len, out[1], &lens[1]));
            CHECK(lens[0] == lens[1] && memcmp(out[0], out[1], lens[0]) == 0);
        }
        EVP_MD_CTX *ctx = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
        for (int again = 0; again < 2; again++) {
            CHECK(EVP_DigestInit_ex2(ctx, again ? NULL : md[0], NULL));
            for (size_t done = 0, step; done < len; done += step) {
                step = next(state) % 200;
                step = step < len - done ? step : len - done;
                CHECK(EVP_DigestUpdate(ctx, data + done, step));
                if (next(state) % 8 == 0) {
                    CHECK(EVP_MD_CTX_copy_ex(copy, ctx));
                    EVP_MD_CTX *other = ctx;
                    ctx = copy;
                    copy = other;
                }
            }
            memset(out[0], 0xaa, sizeof out[0]);
            CHECK(is_xof ? EVP_DigestFinalXOF(ctx, out[0], xof) : EVP_DigestFinal_ex(ctx, out[0], &written));
            size_t size = is_xof ? xof : written;
            for (size_t j = size; j < sizeof out[0]; j++)
                CHECK(out[0][j] == 0xaa);
            EVP_MD_CTX *theirs = EVP_MD_CTX_new();
            CHECK(EVP_DigestInit_ex2(theirs, md[1], NULL) && EVP_DigestUpdate(theirs, data, len));
            CHECK(is_xof ? EVP_DigestFinalXOF(theirs, out[1], xof) : EVP_DigestFinal_ex(theirs, out[1], NULL));
            CHECK(memcmp(out[0], out[1], size) == 0);
            EVP_MD_CTX_free(theirs);
        }
#if OPENSSL_VERSION_NUMBER >= 0x30300000
        if (is_xof) {
            CHECK(EVP_DigestInit_ex2(ctx, md[0], NULL) && EVP_DigestUpdate(ctx, data, len));
            for (size_t done = 0, step; done < xof; done += step) {
                step = 1 + next(state) % 50;
                step = step < xof - done ? step : xof - done;
                CHECK(EVP_DigestSqueeze(ctx, out[0] + done, step));
            }
            CHECK(memcmp(out[0], out[1], xof) == 0);
        }
#endif
        EVP_MD_CTX_free(ctx);
        EVP_MD_CTX_free(copy);
        EVP_MD_free(md[0]);
        EVP_MD_free(md[1]);
    }
}

static void test_digests(void)
{
    const char *count = getenv("COUNT");
    uint64_t state = 1234567;
    EVP_MD *md = EVP_MD_fetch(NULL, "SM3", OURS);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    what = "length";
    CHECK(EVP_DigestInit_ex2(ctx, md, NULL) && !EVP_DigestUpdate(ctx, &state, (size_t)-8));
    ERR_clear_error();
    EVP_MD_CTX_free(ctx);
    EVP_MD_free(md);
    for (int i = 0; i < (count ? atoi(count) : 50); i++)
        digests(&state);
}

static EVP_PKEY *new_key(const char *properties)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "SM2", properties);
    CHECK(ctx != NULL && EVP_PKEY_keygen_init(ctx) > 0 && EVP_PKEY_generate(ctx, &key) > 0);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static EVP_PKEY *from_data(int selection, const char *group, const unsigned char *pub, size_t pub_len, BIGNUM *priv)
{
    EVP_PKEY *key = NULL;
    unsigned char number[80];
    OSSL_PARAM params[4], *p = params;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "SM2", OURS);
    if (group != NULL)
        *p++ = OSSL_PARAM_construct_utf8_string("group", (char *)group, 0);
    if (pub != NULL)
        *p++ = OSSL_PARAM_construct_octet_string("pub", (void *)pub, pub_len);
    if (priv != NULL) {
        CHECK(BN_bn2nativepad(priv, number, 33) == 33);
        *p++ = OSSL_PARAM_construct_BN("priv", number, 33);
    }
    *p = OSSL_PARAM_construct_end();
    CHECK(ctx != NULL && EVP_PKEY_fromdata_init(ctx) > 0);
    if (EVP_PKEY_fromdata(ctx, &key, selection, params) <= 0)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static void sign_and_verify(EVP_PKEY *signer, EVP_PKEY *verifier, const char *id, size_t len)
{
    unsigned char signature[72], message[500];
    size_t signature_len = sizeof signature, needed = 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
    EVP_PKEY_CTX *pctx = NULL;
    memset(message, 5, sizeof message);
    CHECK(EVP_DigestSignInit_ex(ctx, &pctx, "SM3", NULL, NULL, signer, NULL));
    CHECK(id == NULL || EVP_PKEY_CTX_set1_id(pctx, id, strlen(id)) > 0);
    CHECK(EVP_DigestSignUpdate(ctx, message, len / 2));
    CHECK(EVP_MD_CTX_copy_ex(copy, ctx));
    CHECK(EVP_DigestSignUpdate(copy, message, len - len / 2));
    CHECK(EVP_DigestSignFinal(copy, NULL, &needed) && needed == 72);
    CHECK(EVP_DigestSignFinal(copy, signature, &signature_len) && signature_len <= 72);
    EVP_MD_CTX_free(ctx);
    EVP_MD_CTX_free(copy);
    for (int bad = 0; bad < 2; bad++) {
        ctx = EVP_MD_CTX_new();
        CHECK(EVP_DigestVerifyInit_ex(ctx, &pctx, "SM3", NULL, NULL, verifier, NULL));
        CHECK(id == NULL || EVP_PKEY_CTX_set1_id(pctx, id, strlen(id)) > 0);
        message[0] ^= (unsigned char)bad;
        CHECK((EVP_DigestVerify(ctx, signature, signature_len, message, len) == 1) == !bad);
        EVP_MD_CTX_free(ctx);
    }
    ERR_clear_error();
}

static void test_sm2(void)
{
    EVP_PKEY *ours = new_key(OURS), *theirs = new_key(THEIRS), *copy, *other;
    unsigned char point[65], small[10], *der = NULL;
    size_t len;
    BIGNUM *priv = NULL, *theirs_priv = NULL;
    char group[20];

    what = "SM2";
    CHECK(is_ours(EVP_PKEY_get0_provider(ours)) && !is_ours(EVP_PKEY_get0_provider(theirs)));
    CHECK(EVP_PKEY_get_bits(ours) == EVP_PKEY_get_bits(theirs));
    CHECK(EVP_PKEY_get_security_bits(ours) == EVP_PKEY_get_security_bits(theirs));
    CHECK(EVP_PKEY_get_size(ours) == EVP_PKEY_get_size(theirs));
    CHECK(EVP_PKEY_get_default_digest_name(ours, group, sizeof group) > 0 && strcmp(group, "SM3") == 0);
    CHECK(EVP_PKEY_get_group_name(ours, group, sizeof group, &len) && strcmp(group, "SM2") == 0);
    CHECK(EVP_PKEY_get_octet_string_param(ours, "pub", point, sizeof point, &len) && len == 65);
    CHECK(EVP_PKEY_get_octet_string_param(theirs, "pub", point, sizeof point, &len) && len == 65);
    CHECK(EVP_PKEY_get_bn_param(theirs, "priv", &theirs_priv) && EVP_PKEY_get_bn_param(ours, "priv", &priv));
    CHECK(!EVP_PKEY_get_octet_string_param(ours, "pub", small, sizeof small, &len));

    /* A key of theirs becomes one of ours by its numbers. */
    copy = from_data(EVP_PKEY_KEYPAIR, "SM2", point, 65, theirs_priv);
    CHECK(copy != NULL && EVP_PKEY_eq(copy, theirs) == 1 && EVP_PKEY_eq(copy, ours) == 0);
    sign_and_verify(copy, theirs, "1234567812345678", 100);
    sign_and_verify(theirs, copy, NULL, 1);
    /* OpenSSL 4 can set no empty identifier. */
    sign_and_verify(ours, ours, OPENSSL_VERSION_MAJOR < 4 ? "" : NULL, 500);
    other = EVP_PKEY_dup(copy);
    CHECK(other != NULL && EVP_PKEY_eq(copy, other) == 1);
    sign_and_verify(other, copy, "somebody", 33);
    EVP_PKEY_free(other);
    EVP_PKEY_free(copy);

    copy = from_data(EVP_PKEY_PUBLIC_KEY, "SM2", point, 65, NULL);
    CHECK(copy != NULL && EVP_PKEY_eq(copy, theirs) == 1);
    sign_and_verify(theirs, copy, "x", 7);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CHECK(!EVP_DigestSignInit_ex(ctx, NULL, "SM3", NULL, NULL, copy, NULL));
    EVP_MD_CTX_reset(ctx);
    CHECK(!EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, ours, NULL));
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(copy);

    /* What is no key is refused. */
    CHECK(from_data(EVP_PKEY_KEYPAIR, "SM2", point, 65, priv) == NULL);
    CHECK(from_data(EVP_PKEY_KEYPAIR, "P-256", point, 65, NULL) == NULL);
    CHECK(from_data(EVP_PKEY_KEYPAIR, NULL, point, 65, NULL) == NULL);
    CHECK(from_data(EVP_PKEY_PUBLIC_KEY, "SM2", point, 63, NULL) == NULL);
    point[64] ^= 1;
    CHECK(from_data(EVP_PKEY_PUBLIC_KEY, "SM2", point, 65, NULL) == NULL);
    BN_zero(priv);
    CHECK(from_data(EVP_PKEY_KEYPAIR, "SM2", NULL, 0, priv) == NULL);
    CHECK(BN_set_bit(priv, 256) && from_data(EVP_PKEY_KEYPAIR, "SM2", NULL, 0, priv) == NULL);
    ERR_clear_error();

    /* DER that is damaged anywhere is a key or none, but never a crash. */
    int der_len = i2d_PrivateKey(ours, &der);
    CHECK(der_len > 0);
    for (int i = 0; i < der_len; i += getenv("COUNT") ? 16 : 1) {
        for (int bit = 0; bit < 8; bit += 3) {
            const unsigned char *p = der;
            der[i] ^= (unsigned char)(1 << bit);
            other = d2i_AutoPrivateKey(NULL, &p, der_len);
            EVP_PKEY_free(other);
            p = der;
            other = d2i_AutoPrivateKey(NULL, &p, i);
            EVP_PKEY_free(other);
            der[i] ^= (unsigned char)(1 << bit);
            ERR_clear_error();
        }
    }
    OPENSSL_free(der);
    BN_free(priv);
    BN_free(theirs_priv);
    EVP_PKEY_free(ours);
    EVP_PKEY_free(theirs);
}

static EVP_PKEY *shared;

static void *thread(void *argument)
{
    uint64_t state = 0x1234567 + (uint64_t)(uintptr_t)argument;
    static const char *names[] = { "SM4-CBC", "SM4-CTR", "SM4-CFB", "AES-256-CTR" };
    EVP_PKEY *key = new_key(OURS);
    for (int i = 0; i < 10; i++) {
        unsigned char out[32], again[32];
        EVP_CIPHER *cipher = cipher_of(names[i % 4], OURS);
        EVP_CIPHER_free(cipher);
        sign_and_verify(key, key, "thread", 100);
        sign_and_verify(shared, shared, "all threads", 100);
        CHECK(EVP_PKEY_eq(key, shared) == 0 && EVP_PKEY_get_bits(shared) == 256);
        CHECK(EVP_Q_digest(NULL, "SM3", OURS, &state, sizeof state, out, NULL));
        CHECK(EVP_Q_digest(NULL, "SM3", THEIRS, &state, sizeof state, again, NULL));
        CHECK(memcmp(out, again, 32) == 0);
        next(&state);
    }
    EVP_PKEY_free(key);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[8];
    shared = new_key(OURS);
    for (uintptr_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, thread, (void *)i) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    EVP_PKEY_free(shared);
}

/* A child goes on with what its parent began, and both end alike. */
static void test_fork(void)
{
    unsigned char out[32], again[32];
    EVP_MD *md = EVP_MD_fetch(NULL, "SM3", OURS);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY *key = new_key(OURS);
    int pipes[2], status;
    CHECK(EVP_DigestInit_ex2(ctx, md, NULL) && EVP_DigestUpdate(ctx, "parent", 6) && pipe(pipes) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    sign_and_verify(key, key, "both", 50);
    CHECK(EVP_DigestUpdate(ctx, "both", 4) && EVP_DigestFinal_ex(ctx, out, NULL));
    if (child == 0)
        _exit(write(pipes[1], out, 32) == 32 ? 0 : 1);
    CHECK(read(pipes[0], again, 32) == 32 && memcmp(out, again, 32) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    EVP_PKEY_free(key);
    EVP_MD_CTX_free(ctx);
    EVP_MD_free(md);
}

/* Loaded and unloaded again and again, in contexts of its own. Objects may outlive what loaded their provider. */
static void test_unload(void)
{
    for (int i = 0; i < (getenv("COUNT") ? 2 : 20); i++) {
        unsigned char out[32];
        OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
        CHECK(library != NULL && OSSL_PROVIDER_set_default_search_path(library, "."));
        OSSL_PROVIDER *provider = OSSL_PROVIDER_load(library, "manylane");
        CHECK(provider != NULL && OSSL_PROVIDER_available(library, "manylane"));
        EVP_MD *md = EVP_MD_fetch(library, "SM3", NULL);
        CHECK(md != NULL && is_ours(EVP_MD_get0_provider(md)));
        CHECK(EVP_Digest("abc", 3, out, NULL, md, NULL) && out[0] == 0x66);
        CHECK(OSSL_PROVIDER_unload(provider));
        CHECK(EVP_Digest("abc", 3, out, NULL, md, NULL) && out[0] == 0x66);
        EVP_MD_free(md);
        OSSL_LIB_CTX_free(library);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = { { "vectors", test_vectors }, { "differential", test_differential }, { "refused", test_refused },
        { "copies", test_copies }, { "digests", test_digests }, { "sm2", test_sm2 }, { "threads", test_threads },
        { "fork", test_fork }, { "unload", test_unload }, { "tagged", test_tagged } };
    for (int i = 1; i < argc; i++) {
        size_t j = 0;
        while (j < sizeof tests / sizeof *tests && strcmp(argv[i], tests[j].name) != 0)
            j++;
        CHECK(j < sizeof tests / sizeof *tests);
        tests[j].test();
    }
    return 0;
}
