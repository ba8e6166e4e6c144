/* The numbers and structures of src/abi.rs, one a line, as the headers have them. */
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_object.h>
#include <openssl/evp.h>
#include <stddef.h>
#include <stdio.h>

#define N(module, name, number) printf("%s::%s = %d\n", #module, #name, (int)(number))
#define F(module, PREFIX, name) N(module, name, OSSL_FUNC_##PREFIX##_##name)

int main(void)
{
    N(, INTEGER, OSSL_PARAM_INTEGER);
    N(, UNSIGNED, OSSL_PARAM_UNSIGNED_INTEGER);
    N(, TEXT, OSSL_PARAM_UTF8_STRING);
    N(, OCTETS, OSSL_PARAM_OCTET_STRING);
    N(, TEXT_PTR, OSSL_PARAM_UTF8_PTR);
    N(, OCTETS_PTR, OSSL_PARAM_OCTET_PTR);
#define OP(name) N(operation, name, OSSL_OP_##name)
    OP(DIGEST); OP(CIPHER); OP(KEYMGMT); OP(KEYEXCH); OP(SIGNATURE); OP(ASYM_CIPHER); OP(DECODER);
    F(core, CORE, GET_PARAMS); F(core, CORE, NEW_ERROR); F(core, CORE, VSET_ERROR);
    N(core, BIO_READ_EX, OSSL_FUNC_BIO_READ_EX);
#define P(name) F(provider, PROVIDER, name)
    P(TEARDOWN); P(GETTABLE_PARAMS); P(GET_PARAMS); P(QUERY_OPERATION); P(GET_REASON_STRINGS); P(GET_CAPABILITIES);
#define D(name) F(digest, DIGEST, name)
    D(NEWCTX); D(INIT); D(UPDATE); D(FINAL); D(DIGEST); D(FREECTX); D(DUPCTX); D(GET_PARAMS); D(SET_CTX_PARAMS);
    D(GET_CTX_PARAMS); D(GETTABLE_PARAMS); D(SETTABLE_CTX_PARAMS); D(GETTABLE_CTX_PARAMS);
#ifdef OSSL_FUNC_DIGEST_SQUEEZE
    D(SQUEEZE);
#else
    N(digest, SQUEEZE, 14);
#endif
#define C(name) F(cipher, CIPHER, name)
    C(NEWCTX); C(ENCRYPT_INIT); C(DECRYPT_INIT); C(UPDATE); C(FINAL); C(CIPHER); C(FREECTX); C(DUPCTX); C(GET_PARAMS);
    C(GET_CTX_PARAMS); C(SET_CTX_PARAMS); C(GETTABLE_PARAMS); C(GETTABLE_CTX_PARAMS); C(SETTABLE_CTX_PARAMS);
#define K(name) F(keymgmt, KEYMGMT, name)
    K(NEW); K(GEN_INIT); K(GEN_SET_TEMPLATE); K(GEN_SET_PARAMS); K(GEN_SETTABLE_PARAMS); K(GEN); K(GEN_CLEANUP); K(LOAD);
    K(FREE); K(GET_PARAMS); K(GETTABLE_PARAMS); K(SET_PARAMS); K(SETTABLE_PARAMS); K(QUERY_OPERATION_NAME); K(HAS);
    K(VALIDATE); K(MATCH); K(IMPORT); K(IMPORT_TYPES); K(EXPORT); K(EXPORT_TYPES); K(DUP);
    N(keymgmt, PRIVATE_KEY, OSSL_KEYMGMT_SELECT_PRIVATE_KEY);
    N(keymgmt, PUBLIC_KEY, OSSL_KEYMGMT_SELECT_PUBLIC_KEY);
    N(keymgmt, PARAMETERS, OSSL_KEYMGMT_SELECT_ALL_PARAMETERS);
#define X(name) F(keyexch, KEYEXCH, name)
    X(NEWCTX); X(INIT); X(DERIVE); X(SET_PEER); X(FREECTX); X(DUPCTX); X(SET_CTX_PARAMS); X(SETTABLE_CTX_PARAMS);
#define S(name) F(signature, SIGNATURE, name)
    S(NEWCTX); S(SIGN_INIT); S(SIGN); S(VERIFY_INIT); S(VERIFY); S(DIGEST_SIGN_INIT); S(DIGEST_SIGN_UPDATE);
    S(DIGEST_SIGN_FINAL); S(DIGEST_SIGN); S(DIGEST_VERIFY_INIT); S(DIGEST_VERIFY_UPDATE); S(DIGEST_VERIFY_FINAL);
    S(DIGEST_VERIFY); S(FREECTX); S(DUPCTX); S(GET_CTX_PARAMS); S(GETTABLE_CTX_PARAMS); S(SET_CTX_PARAMS);
    S(SETTABLE_CTX_PARAMS);
#define A(name) F(asym_cipher, ASYM_CIPHER, name)
    A(NEWCTX); A(ENCRYPT_INIT); A(ENCRYPT); A(DECRYPT_INIT); A(DECRYPT); A(FREECTX); A(DUPCTX); A(GET_CTX_PARAMS);
    A(GETTABLE_CTX_PARAMS); A(SET_CTX_PARAMS); A(SETTABLE_CTX_PARAMS);
#define R(name) F(decoder, DECODER, name)
    R(NEWCTX); R(FREECTX); R(DOES_SELECTION); R(DECODE); R(EXPORT_OBJECT);
    N(decoder, OBJECT_PKEY, OSSL_OBJECT_PKEY);
    printf("Param = %zu: %zu %zu %zu %zu %zu\n", sizeof(OSSL_PARAM), offsetof(OSSL_PARAM, key),
        offsetof(OSSL_PARAM, data_type), offsetof(OSSL_PARAM, data), offsetof(OSSL_PARAM, data_size),
        offsetof(OSSL_PARAM, return_size));
    printf("Dispatch = %zu: %zu %zu\n", sizeof(OSSL_DISPATCH), offsetof(OSSL_DISPATCH, function_id),
        offsetof(OSSL_DISPATCH, function));
    printf("Item = %zu: %zu %zu\n", sizeof(OSSL_ITEM), offsetof(OSSL_ITEM, id), offsetof(OSSL_ITEM, ptr));
    printf("Algorithm = %zu: %zu %zu %zu %zu\n", sizeof(OSSL_ALGORITHM), offsetof(OSSL_ALGORITHM, algorithm_names),
        offsetof(OSSL_ALGORITHM, property_definition), offsetof(OSSL_ALGORITHM, implementation),
        offsetof(OSSL_ALGORITHM, algorithm_description));
    printf("modes = %x %x %x %x %x %x %x %x\n", EVP_CIPH_ECB_MODE, EVP_CIPH_CBC_MODE, EVP_CIPH_CFB_MODE,
        EVP_CIPH_OFB_MODE, EVP_CIPH_CTR_MODE, EVP_CIPH_GCM_MODE, EVP_CIPH_CCM_MODE, EVP_CIPH_XTS_MODE);
    return 0;
}
