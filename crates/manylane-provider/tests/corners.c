/* The corners of EVP's interface: calls that programs make seldom, or that fail. Both providers are asked the same, and their
 * answers compared, where the default provider has the algorithm. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

static const char *what = "";
static const char *const SIDES[] = { OURS, THEIRS };
static unsigned char key[32], iv[16], data[256];

static void same(const unsigned char *one, const unsigned char *other, size_t len, int line)
{
    if (memcmp(one, other, len) == 0)
        return;
    fprintf(stderr, "line %d: other bytes (%s)\n", line, what);
    exit(1);
}
#define SAME(one, other, len) same(one, other, len, __LINE__)

static EVP_CIPHER *cipher_of(const char *name, const char *properties)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, properties);
    what = name;
    CHECK(cipher != NULL);
    return cipher;
}

/* A context with key and IV. */
static EVP_CIPHER_CTX *begun(const char *name, const char *properties, int encrypts)
{
    EVP_CIPHER *cipher = cipher_of(name, properties);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CHECK(EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypts, NULL));
    EVP_CIPHER_free(cipher);
    return ctx;
}

static int untouched(const unsigned char *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (out[i] != 0xee)
            return 0;
    return 1;
}

/* IVs by their addresses: read, and written as programs for OpenSSL 1.1 do. */
static void test_ivs(void)
{
    static const char *names[] = { "SM4-CBC", "SM4-CFB", "SM4-OFB", "SM4-CTR", "AES-256-CTR" };
    unsigned char out[2][64], ivs[2][16];
    int n;
    for (size_t i = 0; i < 5 * 2; i++) {
        int encrypts = (int)(i % 2);
        EVP_CIPHER_CTX *ctx[2];
        for (int side = 0; side < 2; side++) {
            ctx[side] = begun(names[i / 2], SIDES[side], encrypts);
            EVP_CIPHER_CTX_set_padding(ctx[side], 0);
            CHECK(EVP_CipherUpdate(ctx[side], out[side], &n, data, 32));
        }
        SAME(EVP_CIPHER_CTX_iv(ctx[0]), EVP_CIPHER_CTX_iv(ctx[1]), 16);
        SAME(EVP_CIPHER_CTX_original_iv(ctx[0]), iv, 16);
        SAME(EVP_CIPHER_CTX_original_iv(ctx[1]), iv, 16);
        /* The same IV is written before two messages, and shows where each has come. */
        for (int again = 0; again < 2; again++) {
            for (int side = 0; side < 2; side++) {
                unsigned char *place = EVP_CIPHER_CTX_iv_noconst(ctx[side]);
                CHECK(place != NULL);
                memcpy(place, data + 100, 16);
                CHECK(EVP_CipherUpdate(ctx[side], out[side], &n, data + 16, 48) && n == 48);
            }
            SAME(out[0], out[1], 48);
            SAME(EVP_CIPHER_CTX_iv(ctx[0]), EVP_CIPHER_CTX_iv(ctx[1]), 16);
        }
        for (int side = 0; side < 2; side++) {
            CHECK(EVP_CipherInit_ex2(ctx[side], NULL, NULL, NULL, encrypts, NULL));
            CHECK(EVP_CIPHER_CTX_get_original_iv(ctx[side], ivs[side], 16));
            CHECK(EVP_CipherUpdate(ctx[side], out[side], &n, data, 32));
        }
        SAME(ivs[0], ivs[1], 16);
        SAME(out[0], out[1], 32);
        for (int side = 0; side < 2; side++)
            EVP_CIPHER_CTX_free(ctx[side]);
    }
    static const char *own[] = { "SM4-GCM", "SM4-CCM", "SM4-XTS" };
    for (size_t i = 0; i < 3; i++) {
        EVP_CIPHER_CTX *ctx = begun(own[i], OURS, 1);
        int len = EVP_CIPHER_CTX_get_iv_length(ctx);
        CHECK(EVP_CIPHER_CTX_iv(ctx) != NULL);
        SAME(EVP_CIPHER_CTX_iv(ctx), iv, (size_t)len);
        SAME(EVP_CIPHER_CTX_original_iv(ctx), iv, (size_t)len);
        CHECK(EVP_CipherUpdate(ctx, out[0], &n, data, 32) && n == 32);
        SAME(EVP_CIPHER_CTX_iv(ctx), iv, (size_t)len);
        EVP_CIPHER_CTX_free(ctx);
    }
}

/* What fails leaves the output as it was, so nobody sends it for a ciphertext. */
static void test_failures(void)
{
    static const char *names[] = { "SM4-ECB", "SM4-CBC", "SM4-CFB", "SM4-OFB", "SM4-CTR", "SM4-GCM", "SM4-CCM",
        "SM4-XTS", "AES-128-CTR" };
    unsigned char out[64];
    int n;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EVP_CIPHER *cipher = cipher_of(names[i], OURS);
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        memset(out, 0xee, sizeof out);
        CHECK(EVP_EncryptInit_ex2(ctx, cipher, NULL, NULL, NULL));
        CHECK(!EVP_EncryptUpdate(ctx, out, &n, data, 32) && untouched(out, 64));
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    }
    EVP_CIPHER_CTX *ctx = begun("SM4-GCM", OURS, 1);
    CHECK(EVP_EncryptUpdate(ctx, out, &n, data, 16) && EVP_EncryptFinal_ex(ctx, out, &n));
    memset(out, 0xee, sizeof out);
    CHECK(!EVP_EncryptUpdate(ctx, out, &n, data, 16) && untouched(out, 64));
    EVP_CIPHER_CTX_free(ctx);
    ctx = begun("SM4-CCM", OURS, 1);
    CHECK(EVP_EncryptUpdate(ctx, NULL, &n, NULL, 20));
    CHECK(!EVP_EncryptUpdate(ctx, out, &n, data, 16) && untouched(out, 64));
    EVP_CIPHER_CTX_free(ctx);
    ctx = begun("SM4-CCM", OURS, 0);
    CHECK(!EVP_DecryptUpdate(ctx, out, &n, data, 16) && untouched(out, 64));
    EVP_CIPHER_CTX_free(ctx);
    ctx = begun("SM4-XTS", OURS, 1);
    CHECK(!EVP_EncryptUpdate(ctx, out, &n, data, 15) && untouched(out, 64));
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
}

/* What is not here fails, and does not look done. */
static void test_settings(void)
{
    static const char *names[] = { "SM4-GCM", "SM4-CCM", "SM4-CBC" };
    unsigned char out[16] = { 0 };
    unsigned version = 0x303;
    for (size_t i = 0; i < 3; i++) {
        EVP_CIPHER_CTX *ctx = begun(names[i], OURS, 1);
        OSSL_PARAM params[] = { OSSL_PARAM_construct_uint("tls-version", &version), OSSL_PARAM_END };
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, 13, data) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, 4, data) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, 8, out) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_INV, 8, out) <= 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_RAND_KEY, 0, out) <= 0);
        CHECK(!EVP_CIPHER_CTX_set_params(ctx, params));
        EVP_CIPHER_CTX_free(ctx);
    }
    ERR_clear_error();
}

/* Tags: set by the init's parameters, and there only when their message has ended. */
static void test_tags(void)
{
    static const char *names[] = { "SM4-GCM", "SM4-CCM" };
    unsigned char sealed[32], out[32], tag[16];
    size_t iv_len = 12;
    int n;
    for (size_t i = 0; i < 2; i++) {
        EVP_CIPHER *cipher = cipher_of(names[i], OURS);
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t("ivlen", &iv_len),
            OSSL_PARAM_construct_octet_string("tag", i == 0 ? tag : NULL, 16), OSSL_PARAM_END };
        OSSL_PARAM length[] = { params[0], OSSL_PARAM_END };
        CHECK(EVP_EncryptInit_ex2(ctx, cipher, NULL, NULL, i == 0 ? length : params));
        CHECK(EVP_EncryptInit_ex2(ctx, NULL, key, iv, NULL));
        CHECK(EVP_EncryptUpdate(ctx, sealed, &n, data, 32) && EVP_EncryptFinal_ex(ctx, out, &n));
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0);
        /* The next message has no tag yet, whatever begins it. */
        CHECK(EVP_EncryptInit_ex2(ctx, NULL, NULL, iv, NULL));
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out) <= 0);
        CHECK(EVP_EncryptUpdate(ctx, out, &n, data, 32));
        CHECK(EVP_EncryptInit_ex2(ctx, NULL, key, NULL, NULL));
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out) <= 0);
        EVP_CIPHER_CTX_free(ctx);

        params[1] = OSSL_PARAM_construct_octet_string("tag", tag, 16);
        ctx = EVP_CIPHER_CTX_new();
        CHECK(EVP_DecryptInit_ex2(ctx, cipher, NULL, NULL, params));
        CHECK(EVP_DecryptInit_ex2(ctx, NULL, key, iv, NULL));
        CHECK(EVP_DecryptUpdate(ctx, out, &n, sealed, 32) && EVP_DecryptFinal_ex(ctx, out + 32, &n));
        SAME(out, data, 32);
        CHECK(!EVP_EncryptInit_ex2(ctx, NULL, NULL, NULL, params));
        EVP_CIPHER_CTX_free(ctx);
        /* A tag that was made is none that is expected. */
        ctx = EVP_CIPHER_CTX_new();
        CHECK(EVP_EncryptInit_ex2(ctx, cipher, NULL, NULL, length) && EVP_EncryptInit_ex2(ctx, NULL, key, iv, NULL));
        CHECK(EVP_EncryptUpdate(ctx, out, &n, data, 32) && EVP_EncryptFinal_ex(ctx, out, &n));
        CHECK(EVP_DecryptInit_ex2(ctx, NULL, NULL, iv, NULL));
        CHECK(!(EVP_DecryptUpdate(ctx, out, &n, sealed, 32) && EVP_DecryptFinal_ex(ctx, out, &n)));
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    }
    /* `EVP_Cipher` ends a message as of AES-GCM. */
    static const char *gcm[][2] = { { "SM4-GCM", OURS }, { "AES-128-GCM", THEIRS } };
    for (size_t i = 0; i < 2; i++) {
        EVP_CIPHER_CTX *ctx = begun(gcm[i][0], gcm[i][1], 1);
        CHECK(EVP_Cipher(ctx, NULL, data, 16) == 16 && EVP_Cipher(ctx, out, data, 16) == 16);
        CHECK(EVP_Cipher(ctx, NULL, NULL, 0) == 0);
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0);
        EVP_CIPHER_CTX_free(ctx);
    }
    ERR_clear_error();
}

/* Associated data in parts come to the same tag, and are not kept. */
static void test_associated(void)
{
    static unsigned char long_data[1 << 20];
    unsigned char tags[2][16], out[16];
    struct rusage before, after;
    int n;
    for (size_t step = 0; step < 40; step += 3) {
        EVP_CIPHER_CTX *ctx = begun("SM4-GCM", OURS, 1);
        for (size_t done = 0; done < 250;) {
            size_t len = step == 0 || step > 250 - done ? 250 - done : step;
            CHECK(EVP_EncryptUpdate(ctx, NULL, &n, data + done, (int)len) && n == (int)len);
            done += len;
        }
        CHECK(EVP_EncryptUpdate(ctx, out, &n, data, 5));
        CHECK(EVP_EncryptUpdate(ctx, NULL, &n, data, 0) && !EVP_EncryptUpdate(ctx, NULL, &n, data, 1));
        CHECK(EVP_EncryptFinal_ex(ctx, out, &n));
        CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tags[step != 0]) > 0);
        if (step != 0)
            SAME(tags[0], tags[1], 16);
        EVP_CIPHER_CTX_free(ctx);
    }
    EVP_CIPHER_CTX *ctx = begun("SM4-GCM", OURS, 1);
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    for (int i = 0; i < 64; i++)
        CHECK(EVP_EncryptUpdate(ctx, NULL, &n, long_data, sizeof long_data));
    CHECK(EVP_EncryptFinal_ex(ctx, out, &n));
    CHECK(getrusage(RUSAGE_SELF, &after) == 0 && after.ru_maxrss - before.ru_maxrss < 32 << 10);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
}

/* A final call that fails fails again. */
static void test_finals(void)
{
    unsigned char out[2][64];
    int n[2], ok[2];
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        for (int len = 0; len < 40; len += 4) {
            EVP_CIPHER_CTX *ctx[2];
            for (int side = 0; side < 2; side++) {
                ctx[side] = begun("SM4-CBC", SIDES[side], encrypts);
                CHECK(EVP_CipherUpdate(ctx[side], out[side], &n[side], data, len));
                EVP_CIPHER_CTX_set_padding(ctx[side], 0);
            }
            CHECK(n[0] == n[1]);
            for (int again = 0; again < 2; again++) {
                for (int side = 0; side < 2; side++)
                    ok[side] = EVP_CipherFinal_ex(ctx[side], out[side], &n[side]);
                CHECK(ok[0] == ok[1]);
                if (!ok[0])
                    continue;
                CHECK(n[0] == n[1]);
                SAME(out[0], out[1], (size_t)n[0]);
            }
            for (int side = 0; side < 2; side++)
                EVP_CIPHER_CTX_free(ctx[side]);
        }
    }
    EVP_CIPHER_CTX *ctx = begun("SM4-CBC", OURS, 0);
    CHECK(EVP_DecryptUpdate(ctx, out[0], n, data, 32));
    CHECK(!EVP_DecryptFinal_ex(ctx, out[0], n) && !EVP_DecryptFinal_ex(ctx, out[0], n));
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
}

static void test_digests(void)
{
    unsigned char out[2][80];
    unsigned written[2];
    size_t len = 64;
    static const char *names[] = { "SHAKE-128", "SHAKE-256" };
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t("xoflen", &len), OSSL_PARAM_END };
    for (size_t i = 0; i < 2; i++) {
        what = names[i];
        for (int side = 0; side < 2; side++) {
            EVP_MD *md = EVP_MD_fetch(NULL, names[i], SIDES[side]);
            EVP_MD_CTX *ctx = EVP_MD_CTX_new();
            memset(out[side], 0xee, sizeof out[side]);
            CHECK(EVP_DigestInit_ex2(ctx, md, params) && EVP_DigestUpdate(ctx, "abc", 3));
            CHECK(EVP_DigestFinal_ex(ctx, out[side], &written[side]));
            EVP_MD_CTX_free(ctx);
            EVP_MD_free(md);
        }
        CHECK(written[0] == written[1]);
        SAME(out[0], out[1], sizeof out[0]);
    }
}

/* Their key, and the same key as one of ours. */
static void both(EVP_PKEY *keys[2])
{
    OSSL_PARAM *params = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "SM2", THEIRS);
    keys[0] = keys[1] = NULL;
    what = "key";
    CHECK(EVP_PKEY_keygen_init(ctx) > 0 && EVP_PKEY_keygen(ctx, &keys[1]) > 0);
    EVP_PKEY_CTX_free(ctx);
    CHECK(EVP_PKEY_todata(keys[1], EVP_PKEY_KEYPAIR, &params));
    ctx = EVP_PKEY_CTX_new_from_name(NULL, "SM2", OURS);
    CHECK(EVP_PKEY_fromdata_init(ctx) > 0 && EVP_PKEY_fromdata(ctx, &keys[0], EVP_PKEY_KEYPAIR, params) > 0);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    CHECK(strcmp(OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(keys[0])), "manylane") == 0);
}

static void test_signatures(void)
{
    unsigned char signature[80];
    EVP_PKEY *keys[2];
    both(keys);
    for (int side = 0; side < 2; side++) {
        what = SIDES[side];
        for (size_t len = 0; len < 40; len++) {
            EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, keys[side], SIDES[side]);
            size_t written = sizeof signature;
            CHECK(EVP_PKEY_sign_init(ctx) > 0);
            CHECK((EVP_PKEY_sign(ctx, signature, &written, data, len) > 0) == (len == 32));
            ERR_clear_error();
            if (len == 32) {
                CHECK(EVP_PKEY_verify_init(ctx) > 0);
                CHECK(EVP_PKEY_verify(ctx, signature, written, data, len) == 1);
                /* Another message is an answer, not an error of the provider's; newer versions add their own. */
                CHECK(EVP_PKEY_verify(ctx, signature, written, data + 1, len) == 0);
                CHECK(OPENSSL_VERSION_MAJOR >= 4 || ERR_peek_error() == 0);
                ERR_clear_error();
                CHECK(EVP_PKEY_verify(ctx, signature, written - 1, data, len) != 1 && ERR_peek_error() != 0);
                ERR_clear_error();
            }
            EVP_PKEY_CTX_free(ctx);
        }
        EVP_PKEY_free(keys[side]);
    }
}

static int has(const unsigned char *text, size_t len, const void *part, size_t part_len)
{
    for (size_t i = 0; i + part_len <= len; i++)
        if (memcmp(text + i, part, part_len) == 0)
            return 1;
    return 0;
}

/* A key that is to be encrypted is, by all ciphers that OpenSSL knows, or there is an error. */
static void test_encryption(void)
{
    static const char *ciphers[] = { "AES-128-CBC", "AES-192-CBC", "AES-256-CBC", "DES-EDE3-CBC", "CAMELLIA-128-CBC",
        "ARIA-256-CBC", "SM4-CBC" };
    static const char *structures[] = { "PrivateKeyInfo", "EncryptedPrivateKeyInfo", "type-specific", NULL };
    static const char *formats[] = { "PEM", "DER" };
    unsigned char number[32];
    BIGNUM *priv = NULL;
    EVP_PKEY *keys[2];
    both(keys);
    CHECK(EVP_PKEY_get_bn_param(keys[1], "priv", &priv) && BN_bn2binpad(priv, number, 32) == 32);
    for (size_t i = 0; i < 7 * 4 * 2; i++) {
        const char *cipher = ciphers[i % 7], *structure = structures[i / 7 % 4], *format = formats[i / 28];
        unsigned char *out[2] = { NULL, NULL };
        size_t len[2] = { 0, 0 };
        int ok[2];
        what = structure == NULL ? cipher : structure;
        for (int side = 0; side < 2; side++) {
            OSSL_ENCODER_CTX *ctx
                = OSSL_ENCODER_CTX_new_for_pkey(keys[side], EVP_PKEY_KEYPAIR, format, structure, NULL);
            CHECK(ctx != NULL);
            ok[side] = OSSL_ENCODER_CTX_set_cipher(ctx, cipher, NULL)
                && OSSL_ENCODER_CTX_set_passphrase(ctx, (const unsigned char *)"secret", 6)
                && OSSL_ENCODER_to_data(ctx, &out[side], &len[side]);
            OSSL_ENCODER_CTX_free(ctx);
        }
        CHECK(ok[0] == ok[1]);
        if (ok[0] && i / 28 == 0) {
            CHECK(has(out[0], len[0], "ENCRYPTED", 9));
            CHECK(has(out[1], len[1], "ENCRYPTED", 9));
            SAME(out[0], out[1], 20);
        } else if (ok[0]) {
            CHECK(has(out[0], len[0], number, 32) == has(out[1], len[1], number, 32));
        }
        for (int side = 0; side < 2; side++)
            OPENSSL_free(out[side]);
        ERR_clear_error();
    }
    BN_free(priv);
    EVP_PKEY_free(keys[0]);
    EVP_PKEY_free(keys[1]);
}

/* The same bytes of both, as files and as numbers. */
static void compare_keys(EVP_PKEY *keys[2])
{
    static const char *numbers[] = { "p", "a", "b", "order", "cofactor", "qx", "qy", "priv" };
    static const char *points[] = { "generator", "pub", "encoded-pub-key" };
    static const char *texts[] = { "group", "encoding", "point-format", "field-type" };
    unsigned char *der[2], bytes[2][100];
    char words[2][40];
    size_t lens[2];
    int len[2];
    for (int form = 0; form < 2; form++) {
        for (int side = 0; side < 2; side++) {
            der[side] = NULL;
            len[side] = form == 0 ? i2d_PUBKEY(keys[side], &der[side]) : i2d_PrivateKey(keys[side], &der[side]);
        }
        CHECK(len[0] == len[1] && len[0] > 0);
        SAME(der[0], der[1], (size_t)len[0]);
        OPENSSL_free(der[0]);
        OPENSSL_free(der[1]);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        BIGNUM *big[2] = { NULL, NULL };
        what = numbers[i];
        for (int side = 0; side < 2; side++)
            CHECK(EVP_PKEY_get_bn_param(keys[side], numbers[i], &big[side]));
        CHECK(BN_cmp(big[0], big[1]) == 0);
        BN_free(big[0]);
        BN_free(big[1]);
    }
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        what = points[i];
        for (int side = 0; side < 2; side++)
            CHECK(EVP_PKEY_get_octet_string_param(keys[side], points[i], bytes[side], 100, &lens[side]));
        CHECK(lens[0] == lens[1]);
        SAME(bytes[0], bytes[1], lens[0]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        what = texts[i];
        for (int side = 0; side < 2; side++)
            CHECK(EVP_PKEY_get_utf8_string_param(keys[side], texts[i], words[side], 40, NULL));
        CHECK(strcmp(words[0], words[1]) == 0);
    }
}

static void test_keys(void)
{
    static const char *forms[] = { "uncompressed", "compressed", "hybrid" };
    EVP_PKEY *keys[2], *read;
    unsigned char *der = NULL, point[64];
    const unsigned char *p;
    both(keys);
    for (size_t i = 0; i < 3; i++) {
        for (int side = 0; side < 2; side++)
            CHECK(EVP_PKEY_set_utf8_string_param(keys[side], "point-format", forms[i]));
        compare_keys(keys);
        /* What was written is read again: a signature under the one is one under the other. */
        der = NULL;
        int len = i2d_PUBKEY(keys[0], &der);
        p = der;
        what = forms[i];
        read = d2i_PUBKEY(NULL, &p, len);
        CHECK(read != NULL && EVP_PKEY_eq(read, keys[1]) == 1);
        EVP_PKEY_CTX *signer = EVP_PKEY_CTX_new_from_pkey(NULL, keys[0], NULL);
        EVP_PKEY_CTX *verifier = EVP_PKEY_CTX_new_from_pkey(NULL, read, NULL);
        unsigned char signature[72];
        size_t signature_len = sizeof signature;
        CHECK(EVP_PKEY_sign_init(signer) > 0 && EVP_PKEY_sign(signer, signature, &signature_len, data, 32) > 0);
        CHECK(EVP_PKEY_verify_init(verifier) > 0);
        CHECK(EVP_PKEY_verify(verifier, signature, signature_len, data, 32) == 1);
        EVP_PKEY_CTX_free(signer);
        EVP_PKEY_CTX_free(verifier);
        unsigned char *again = NULL;
        CHECK(i2d_PUBKEY(read, &again) == len);
        SAME(again, der, (size_t)len);
        OPENSSL_free(again);
        OPENSSL_free(der);
        EVP_PKEY_free(read);
    }
    CHECK(!EVP_PKEY_set_utf8_string_param(keys[0], "point-format", "folded"));
    for (int side = 0; side < 2; side++)
        CHECK(EVP_PKEY_set_int_param(keys[side], "include-public", 0));
    compare_keys(keys);
    for (int side = 0; side < 2; side++)
        CHECK(EVP_PKEY_set_utf8_string_param(keys[side], "encoding", "explicit"));
    compare_keys(keys);

    /* A point has its first byte. */
    memset(point, 1, sizeof point);
    for (int side = 0; side < 2; side++) {
        OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("group", (char *)"SM2", 0),
            OSSL_PARAM_construct_octet_string("pub", point, 64), OSSL_PARAM_END };
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "SM2", SIDES[side]);
        read = NULL;
        CHECK(EVP_PKEY_fromdata_init(ctx) > 0);
        CHECK(EVP_PKEY_fromdata(ctx, &read, EVP_PKEY_PUBLIC_KEY, params) <= 0);
        EVP_PKEY_CTX_free(ctx);
    }
    /* Who asks for parameters gets no secret key. */
    der = NULL;
    size_t len = 0;
    OSSL_ENCODER_CTX *encoder = OSSL_ENCODER_CTX_new_for_pkey(keys[1], EVP_PKEY_KEYPAIR, "DER", "type-specific", NULL);
    CHECK(OSSL_ENCODER_to_data(encoder, &der, &len));
    OSSL_ENCODER_CTX_free(encoder);
    read = NULL;
    p = der;
    OSSL_DECODER_CTX *decoder
        = OSSL_DECODER_CTX_new_for_pkey(&read, "DER", NULL, "SM2", EVP_PKEY_KEY_PARAMETERS, NULL, NULL);
    size_t left = len;
    CHECK(!OSSL_DECODER_from_data(decoder, &p, &left) && read == NULL);
    OSSL_DECODER_CTX_free(decoder);
    OPENSSL_free(der);
    EVP_PKEY_free(keys[0]);
    EVP_PKEY_free(keys[1]);
    ERR_clear_error();
}

static int asked;

static int password(char *out, size_t size, size_t *len, const OSSL_PARAM params[], void *argument)
{
    (void)out, (void)size, (void)params, (void)argument;
    *len = 0;
    asked++;
    return 0;
}

/* Nobody is asked for the password of what is no key. */
static void test_passwords(void)
{
    static const unsigned char other[] = { 0x30, 0x0a, 0x06, 0x08, 0x2a, 0x81, 0x1c, 0xcf, 0x55, 0x01, 0x83, 0x11 };
    const unsigned char *p = other;
    size_t len = sizeof other;
    EVP_PKEY *read = NULL;
    OSSL_DECODER_CTX *ctx = OSSL_DECODER_CTX_new_for_pkey(&read, "DER", NULL, NULL, 0, NULL, NULL);
    what = "password";
    CHECK(OSSL_DECODER_CTX_set_passphrase_cb(ctx, password, NULL));
    CHECK(!OSSL_DECODER_from_data(ctx, &p, &len) && asked == 0);
    OSSL_DECODER_CTX_free(ctx);
    ERR_clear_error();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = { { "ivs", test_ivs }, { "failures", test_failures }, { "settings", test_settings },
        { "tags", test_tags }, { "associated", test_associated }, { "finals", test_finals }, { "digests", test_digests },
        { "signatures", test_signatures }, { "encryption", test_encryption }, { "keys", test_keys },
        { "passwords", test_passwords } };
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(7 * i + 1);
    memcpy(key, data + 50, sizeof key);
    memcpy(iv, data + 150, sizeof iv);
    for (int i = 1; i < argc; i++)
        for (size_t j = 0; j < sizeof tests / sizeof *tests; j++)
            if (strcmp(argv[i], tests[j].name) == 0) {
                tests[j].test();
                puts(tests[j].name);
            }
    return 0;
}
