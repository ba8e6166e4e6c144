/*
 * manylane: bulk cryptography in many lanes. The C interface.
 *
 * Made from the library's sources by `cargo xtask gen`: changes here are lost.
 *
 * Statuses. Functions that return int return MANYLANE_OK, which is 0, or one of the negative numbers of
 * `manylane_status`, unless they say otherwise. manylane_error_text() gives a text for a number,
 * manylane_last_error() what went wrong in detail. Unless a function says otherwise, nothing has been
 * written to any output when it fails, but for `*len` as below, and for the place of a new handle, which
 * is then null.
 *
 * Inputs. A pointer and a length in bytes. The pointer may be null if the length is 0.
 *
 * Outputs. Where the length is the function's to say, it takes a `size_t *`: the bytes of room on entry,
 * and afterwards the bytes written. Too little room is MANYLANE_ERROR_OUTPUT_LENGTH, and `*len` then the
 * room that is needed, and nothing is taken from a handle; so a null pointer with a `*len` of 0 asks for
 * it. A call that needs no room is done, whatever the pointer: its status is MANYLANE_OK. An output may
 * overlap an input only where the function says so: otherwise this is refused, as far as it can be seen.
 *
 * Handles. Pointers to things of the library's, made by functions whose names end with _new, _clone,
 * _generate, _from_bytes, _decode or _public, and given back to the function of theirs whose name ends
 * with _free. Secrets that they hold are wiped then, and keys that a call leaves on its stack when it
 * returns. What was given or is given back is the caller's to wipe: manylane_wipe() does. A handle that
 * was freed, or is of another kind, is MANYLANE_ERROR_HANDLE for as long as the place is not used again,
 * which is at least 4096 other handles later: a mistake that is found, and not one to build on.
 *
 * Threads. Different handles may be used by different threads at a time. Handles that a function takes
 * as a pointer to const may be shared by threads; of others, which are changed, a second thread gets
 * MANYLANE_ERROR_BUSY. No handle may be freed while a thread uses it, and no thread cancelled
 * (pthread_cancel) while it is in a call. A child made by fork() may use all handles that no other thread
 * was using.
 *
 * Constant time. What depends on keys, plaintext and other secrets takes a time that depends on lengths
 * alone; SECURITY.md says how this is tested.
 *
 * Names of algorithms are text that ends with a zero byte, in upper or lower case; names of files are such
 * text in whatever encoding the system has.
 */

#ifndef MANYLANE_H
#define MANYLANE_H

#include <stddef.h>
#include <stdint.h>

/** The version that this header is of. */
#define MANYLANE_VERSION "0.1.0"

/** The same as a number: 65536 for each major, 256 for each minor version, and the patch. */
#define MANYLANE_VERSION_NUMBER 256

/** What a compiler is told of functions whose status must be looked at. */
#if defined(__GNUC__)
#define MANYLANE_MUST_USE __attribute__((warn_unused_result))
#else
#define MANYLANE_MUST_USE
#endif

/** Bytes of the longest digest of a function that has one length. */
#define MANYLANE_MAX_DIGEST_LEN 64

/** The user ID that everybody has who has none of their own. */
#define MANYLANE_SM2_DEFAULT_ID "1234567812345678"

/** Its length in bytes. */
#define MANYLANE_SM2_DEFAULT_ID_LEN 16

/**
 * What functions return, as an `int`: zero, or one of these negative numbers. Numbers are never
 * reused; a newer library may return further ones.
 */
typedef enum manylane_status {
  /** All is done. */
  MANYLANE_OK = 0,
  /**
   * An output has not the room, or not the length, that is needed. Where the function was given a
   * pointer to its length, that is now the room that is needed.
   */
  MANYLANE_ERROR_OUTPUT_LENGTH = -1,
  /** Two inputs that go together, such as keys and messages, differ in number. */
  MANYLANE_ERROR_COUNT_MISMATCH = -2,
  /** Many messages reach past their data, or overlap themselves. */
  MANYLANE_ERROR_SHAPE = -3,
  /** An offset is smaller than the one before it, or points past the data. */
  MANYLANE_ERROR_OFFSET = -4,
  /** This processor cannot run what was asked for. */
  MANYLANE_ERROR_UNAVAILABLE = -5,
  /** A secret key outside [1, n - 2], or a public key that is no point of the curve. */
  MANYLANE_ERROR_KEY = -6,
  /** A signature or an authentication code that does not hold, for whatever reason. */
  MANYLANE_ERROR_SIGNATURE = -7,
  /** A user ID of 8192 bytes or more. */
  MANYLANE_ERROR_ID_LENGTH = -8,
  /** The operating system gave no random bytes. */
  MANYLANE_ERROR_RANDOM = -9,
  /** A key exchange that failed: the keys must not be used. */
  MANYLANE_ERROR_EXCHANGE = -10,
  /** Bytes or text that should hold a key, a signature or a ciphertext do not. */
  MANYLANE_ERROR_ENCODING = -11,
  /** An encrypted key does not open: the password is wrong, or the key is damaged. */
  MANYLANE_ERROR_PASSWORD = -12,
  /** The key is encrypted, and no password was given. */
  MANYLANE_ERROR_PASSWORD_NEEDED = -13,
  /** A message that is empty, or longer than SM2 can encrypt. */
  MANYLANE_ERROR_MESSAGE_LENGTH = -14,
  /** A ciphertext that does not decrypt, for whatever reason. */
  MANYLANE_ERROR_DECRYPTION = -15,
  /** An IV or nonce of a length that the mode does not have. */
  MANYLANE_ERROR_IV_LENGTH = -16,
  /** A tag of a length that the mode does not have, or not of the one agreed on. */
  MANYLANE_ERROR_TAG_LENGTH = -17,
  /** Data of a length that the mode does not take. */
  MANYLANE_ERROR_DATA_LENGTH = -18,
  /** A key stream that would begin again. */
  MANYLANE_ERROR_COUNTER_WRAP = -19,
  /** A key that is not as long as the cipher's. */
  MANYLANE_ERROR_KEY_LENGTH = -20,
  /** A key of XTS whose halves are the same. */
  MANYLANE_ERROR_WEAK_KEY = -21,
  /** A null pointer where there must be none. */
  MANYLANE_ERROR_NULL = -100,
  /** A pointer that is no handle of this kind, or one that was freed. */
  MANYLANE_ERROR_HANDLE = -101,
  /** The handle's work was finished before: it takes nothing more. */
  MANYLANE_ERROR_FINISHED = -102,
  /** Another thread is using the handle at this moment. */
  MANYLANE_ERROR_BUSY = -103,
  /**
   * An earlier call failed inside the library and left the handle unusable: it can only be freed.
   */
  MANYLANE_ERROR_POISONED = -104,
  /** The library failed: a defect of it. Nothing is known of the outputs. */
  MANYLANE_ERROR_PANIC = -105,
  /** A number that is none of its enumeration, or outside the range that the function has. */
  MANYLANE_ERROR_ARGUMENT = -106,
  /** A name of no algorithm that the function has. */
  MANYLANE_ERROR_NAME = -107,
  /** A length that no object in memory has, or lengths whose product is none. */
  MANYLANE_ERROR_LENGTH = -108,
  /** An output that overlaps an input or another output. */
  MANYLANE_ERROR_OVERLAP = -109,
  /** The device that was asked for cannot be used. */
  MANYLANE_ERROR_DEVICE = -110,
  /** A file could not be opened or read. */
  MANYLANE_ERROR_IO = -111,
  /** There is not enough memory. */
  MANYLANE_ERROR_MEMORY = -112,
  /** The handle has not come to the point where it does this, or goes another way. */
  MANYLANE_ERROR_STATE = -113,
} manylane_status;

/** How many messages lie in memory. */
typedef enum manylane_shape {
  /** An array of pointers and one of lengths. */
  MANYLANE_SHAPE_POINTERS = 0,
  /** Rows of one length, one every `stride` bytes. */
  MANYLANE_SHAPE_STRIDED = 1,
  /** Data, and 32-bit offsets into them: Apache Arrow's `binary`. */
  MANYLANE_SHAPE_OFFSETS32 = 2,
  /** Data, and 64-bit offsets into them: Apache Arrow's `large_binary`. */
  MANYLANE_SHAPE_OFFSETS64 = 3,
} manylane_shape;

/** Which way a cipher goes. */
typedef enum manylane_direction {
  /** From the message to its ciphertext. */
  MANYLANE_ENCRYPT = 0,
  /** And back. */
  MANYLANE_DECRYPT = 1,
  /**
   * Neither, only whether the tag of a ciphertext is right: for manylane_gcm_stream_new() alone.
   */
  MANYLANE_VERIFY = 2,
} manylane_direction;

/** What ECB and CBC do with a message that is not whole blocks. */
typedef enum manylane_padding {
  /** Refuse it, at the end. */
  MANYLANE_PADDING_NONE = 0,
  /**
   * Fill it up as PKCS #7 does, whatever its length. An attacker who is told which of many
   * ciphertexts do not decrypt can learn a message from that: authenticate ciphertexts first.
   */
  MANYLANE_PADDING_PKCS7 = 1,
} manylane_padding;

/** How XTS multiplies the tweak from block to block. */
typedef enum manylane_xts_order {
  /** IEEE 1619, NIST SP 800-38E: what AES-XTS is everywhere. */
  MANYLANE_XTS_IEEE = 0,
  /** GB/T 17964-2021: what SM4-XTS is in that standard. */
  MANYLANE_XTS_GB = 1,
} manylane_xts_order;

/** Forms of keys. */
typedef enum manylane_sm2_form {
  /**
   * A secret key: the number d, 32 bytes big-endian. A public key: the point, 04 and x and y, 65
   * bytes.
   */
  MANYLANE_SM2_RAW = 0,
  /** A public key as a compressed point: 02 or 03 and x, 33 bytes. */
  MANYLANE_SM2_COMPRESSED = 1,
  /** The raw form in hexadecimal digits, without a zero byte at the end. */
  MANYLANE_SM2_HEX = 2,
  /** DER: PKCS #8 of a secret key, SubjectPublicKeyInfo of a public one. */
  MANYLANE_SM2_DER = 3,
  /** The same in PEM, without a zero byte at the end. */
  MANYLANE_SM2_PEM = 4,
  /** A secret key in SEC 1's DER (RFC 5915). */
  MANYLANE_SM2_SEC1_DER = 5,
  /** The same in PEM, without a zero byte at the end. */
  MANYLANE_SM2_SEC1_PEM = 6,
} manylane_sm2_form;

/** How a secret key is encrypted under a password, as PBES2 of RFC 8018. */
typedef enum manylane_sm2_kdf {
  /** HMAC-SM3 and SM4-CBC: what GmSSL and Tongsuo read. */
  MANYLANE_SM2_KDF_SM3 = 0,
  /** HMAC-SHA-256 and AES-256-CBC: what OpenSSL reads. */
  MANYLANE_SM2_KDF_SHA256 = 1,
} manylane_sm2_kdf;

/** Forms of signatures. */
typedef enum manylane_sm2_signature {
  /** A SEQUENCE of the INTEGERs r and s in DER, of 8 to 72 bytes. */
  MANYLANE_SM2_SIGNATURE_DER = 0,
  /** r and s, 64 bytes. */
  MANYLANE_SM2_SIGNATURE_RAW = 1,
  /** r and s with zeros before each, 128 bytes, as of GM/T 0016. */
  MANYLANE_SM2_SIGNATURE_SKF = 2,
} manylane_sm2_signature;

/** Forms of ciphertexts. */
typedef enum manylane_sm2_ciphertext {
  /** SM2Cipher of GM/T 0009 in DER: what OpenSSL and GmSSL write. */
  MANYLANE_SM2_ASN1 = 0,
  /** C1, beginning with 04, C3 and C2: gmsm and BouncyCastle. */
  MANYLANE_SM2_C1C3C2 = 1,
  /** C1, beginning with 04, C2 and C3: the old order. */
  MANYLANE_SM2_C1C2C3 = 2,
  /** C1 without 04, C3 and C2: sm-crypto for JavaScript. */
  MANYLANE_SM2_C1C3C2_BARE = 3,
  /** C1 without 04, C2 and C3. */
  MANYLANE_SM2_C1C2C3_BARE = 4,
} manylane_sm2_ciphertext;

/** Who of the two begins. */
typedef enum manylane_sm2_role {
  /** A of the standard. */
  MANYLANE_SM2_INITIATOR = 0,
  /** B of the standard. */
  MANYLANE_SM2_RESPONDER = 1,
} manylane_sm2_role;

/** A key of GCM or CCM. Any number of threads may use one handle at a time. */
typedef struct manylane_aead manylane_aead;

/** A message that is encrypted or decrypted piece by piece. */
typedef struct manylane_cipher manylane_cipher;

/**
 * Threads and devices that share work on many messages. Any number of threads may use one handle at
 * a time.
 */
typedef struct manylane_engine manylane_engine;

/** A message of GCM that comes in parts. */
typedef struct manylane_gcm_stream manylane_gcm_stream;

/** A message that is hashed piece by piece. */
typedef struct manylane_hash manylane_hash;

/** A message whose HMAC is computed piece by piece. */
typedef struct manylane_hmac manylane_hmac;

/** One side's part of a key exchange. */
typedef struct manylane_sm2_exchange manylane_sm2_exchange;

/** A secret key of SM2. Any number of threads may use one handle at a time. */
typedef struct manylane_sm2_key manylane_sm2_key;

/** A public key of SM2. Any number of threads may use one handle at a time. */
typedef struct manylane_sm2_public manylane_sm2_public;

/** A message that is signed as it comes. */
typedef struct manylane_sm2_signer manylane_sm2_signer;

/** A message whose signature is verified as it comes. */
typedef struct manylane_sm2_verifier manylane_sm2_verifier;

/** A pair of keys of XTS. Any number of threads may use one handle at a time. */
typedef struct manylane_xts manylane_xts;

/**
 * Many messages, where they lie: made by manylane_pointers(), manylane_strided(),
 * manylane_offsets32() or manylane_offsets64(), which copy nothing and check nothing. Whoever uses
 * them checks them.
 */
typedef struct manylane_messages {
  /** One of `manylane_shape`. */
  int shape;
  /** The data, or an array of `count` pointers. */
  const void *data;
  /** Bytes of data. */
  size_t data_len;
  /** An array of `count` lengths, or of `count + 1` offsets. */
  const void *places;
  /** Number of messages. */
  size_t count;
  /** Bytes of a message. */
  size_t len;
  /** Bytes from the start of a message to that of the next. */
  size_t stride;
  /** Must be 0. */
  uint64_t reserved[2];
} manylane_messages;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/** The library's version as text, such as "0.1.0". The header's own is `MANYLANE_VERSION`. */
const char *manylane_version(void);

/** Fills `out` with random bytes of the operating system's, fit for keys and nonces. */
MANYLANE_MUST_USE
int manylane_random(void *out, size_t len);

/**
 * Overwrites `len` bytes with zeros, which no compiler takes for useless: for secrets in memory
 * that is given back. Null is left alone.
 */
void manylane_wipe(void *data,
                   size_t len);

/**
 * What a status means: a short text in English, without a full stop. It is static: not to be freed.
 */
const char *manylane_error_text(int status);

/**
 * What went wrong in the last call that failed on the calling thread, with details such as the
 * length that was expected or what is wrong with a key file; "" if none has failed. It is there
 * until the thread ends, and is overwritten by the next call that fails on this thread. For logs
 * and people: programs look at the status.
 */
const char *manylane_last_error(void);

/**
 * The name of the hash function with that index, counted from 0: "sm3", "sha3-256" and so on; null
 * past the last.
 */
const char *manylane_hash_name(size_t index);

/**
 * Bytes of a digest of the named function; of one with digests of any length (SHAKE, TurboSHAKE,
 * KT), the usual length, 32 or 64.
 */
MANYLANE_MUST_USE
int manylane_hash_len(const char *algorithm,
                      size_t *digest_len);

/**
 * Begins a message. `digest_len` is 0 for digests of the usual length; functions with digests of
 * any length take any other too. Free the handle with manylane_hash_free().
 */
MANYLANE_MUST_USE
int manylane_hash_new(manylane_hash **hash,
                      const char *algorithm,
                      size_t digest_len);

/** Goes on over `len` bytes of the message. */
MANYLANE_MUST_USE
int manylane_hash_update(manylane_hash *hash, const void *data, size_t len);

/**
 * The digest, after which the handle takes nothing more until manylane_hash_reset(). `*digest_len`
 * is the room on entry, and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_hash_finish(manylane_hash *hash,
                         uint8_t *digest,
                         size_t *digest_len);

/** Begins another message of the same function, whatever was done with the one before. */
MANYLANE_MUST_USE
int manylane_hash_reset(manylane_hash *hash);

/** A second handle that goes on from where this one is. */
MANYLANE_MUST_USE
int manylane_hash_clone(manylane_hash *hash, manylane_hash **clone);

/** Bytes of the digest that manylane_hash_finish() will write. */
MANYLANE_MUST_USE
int manylane_hash_digest_len(manylane_hash *hash, size_t *digest_len);

/** Frees a handle, and wipes what it held. Null is left alone. */
void manylane_hash_free(manylane_hash *hash);

/**
 * The digest of one message in memory, of the usual length. `*digest_len` is the room on entry, and
 * then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_hash_once(const char *algorithm,
                       const void *data,
                       size_t len,
                       uint8_t *digest,
                       size_t *digest_len);

/**
 * The digests of many messages, one after another in `out`, whose length `out_len` must be theirs
 * in all.
 *
 * `engine` says on which threads and devices; null means on the calling thread alone. `digest_len`
 * is 0 for digests of the usual length. `out` may overlap neither the messages nor what says where
 * they are. Messages of "kt128" and "kt256" are worked on one after another. Page-locked messages
 * are read by GPUs where they are: should a GPU hang, it may still read them when this has
 * returned, so they must stay mapped as long as the process lives.
 */
MANYLANE_MUST_USE
int manylane_hash_many(const manylane_engine *engine,
                       const char *algorithm,
                       size_t digest_len,
                       const manylane_messages *messages,
                       uint8_t *out,
                       size_t out_len);

/**
 * Begins a message under a key of any length. There is HMAC with every hash function of one digest
 * length, "sm3" and "sha3-256" among them. Free the handle with manylane_hmac_free().
 */
MANYLANE_MUST_USE
int manylane_hmac_new(manylane_hmac **hmac,
                      const char *algorithm,
                      const void *key,
                      size_t key_len);

/** Goes on over `len` bytes of the message. */
MANYLANE_MUST_USE
int manylane_hmac_update(manylane_hmac *hmac, const void *data, size_t len);

/**
 * The code, as long as a digest, after which the handle takes nothing more until
 * manylane_hmac_reset(). `*code_len` is the room on entry, and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_hmac_finish(manylane_hmac *hmac,
                         uint8_t *code,
                         size_t *code_len);

/**
 * Finishes, and compares with a code in constant time: MANYLANE_OK if it is the message's,
 * otherwise MANYLANE_ERROR_SIGNATURE. A code that was cut is another.
 */
MANYLANE_MUST_USE
int manylane_hmac_verify(manylane_hmac *hmac,
                         const void *code,
                         size_t code_len);

/** Begins another message under the same key, whatever was done with the one before. */
MANYLANE_MUST_USE
int manylane_hmac_reset(manylane_hmac *hmac);

/** A second handle that goes on from where this one is. */
MANYLANE_MUST_USE
int manylane_hmac_clone(manylane_hmac *hmac, manylane_hmac **clone);

/** Frees a handle, and wipes what it held. Null is left alone. */
void manylane_hmac_free(manylane_hmac *hmac);

/** HMAC of one message in memory. `*code_len` is the room on entry, and then the bytes written. */
MANYLANE_MUST_USE
int manylane_hmac_once(const char *algorithm,
                       const void *key,
                       size_t key_len,
                       const void *data,
                       size_t len,
                       uint8_t *code,
                       size_t *code_len);

/**
 * HMAC-SM3 of many messages, each under its own key, 32 bytes each one after another in `out`,
 * whose length `out_len` must be theirs in all. `engine` as for manylane_hash_many(). `out` may
 * overlap neither keys nor messages.
 */
MANYLANE_MUST_USE
int manylane_hmac_sm3_many(const manylane_engine *engine,
                           const manylane_messages *keys,
                           const manylane_messages *messages,
                           uint8_t *out,
                           size_t out_len);

/**
 * HKDF (RFC 5869) with HMAC-SM3: fills `out` with at most 8160 bytes of key from the secret `ikm`.
 * `salt` and `info` may be empty. `out` may overlap no input.
 */
MANYLANE_MUST_USE
int manylane_hkdf_sm3(const void *ikm,
                      size_t ikm_len,
                      const void *salt,
                      size_t salt_len,
                      const void *info,
                      size_t info_len,
                      uint8_t *out,
                      size_t out_len);

/**
 * PBKDF2 (RFC 8018) with HMAC-SM3: fills `out` from a password, with at least one iteration. `out`
 * may overlap no input.
 */
MANYLANE_MUST_USE
int manylane_pbkdf2_sm3(const void *password,
                        size_t password_len,
                        const void *salt,
                        size_t salt_len,
                        uint32_t iterations,
                        uint8_t *out,
                        size_t out_len);

/**
 * Whether two strings of bytes of one length are equal: 1 or 0, in a time that depends on the
 * length alone. Null or impossible lengths are not equal, but two empty strings are.
 */
MANYLANE_MUST_USE
int manylane_equal(const void *a,
                   const void *b,
                   size_t len);

/**
 * `count` messages: message `i` is `lens[i]` bytes at `pointers[i]`, which may be null where the
 * length is 0.
 */
manylane_messages manylane_pointers(const void *const *pointers,
                                           const size_t *lens,
                                           size_t count);

/**
 * `count` messages of `len` bytes, message `i` at `stride * i` bytes from `data`, within `data_len`
 * bytes. `stride` may not be less than `len`, for rows that overlap are refused; the last row may
 * end before its stride does.
 */
manylane_messages manylane_strided(const void *data,
                                          size_t data_len,
                                          size_t len,
                                          size_t stride,
                                          size_t count);

/**
 * `count` messages by `count + 1` offsets: message `i` is the bytes from `offsets[i]` to before
 * `offsets[i + 1]` of `data`, which has `data_len` bytes. Without messages, `offsets` may be null.
 */
manylane_messages manylane_offsets32(const void *data,
                                            size_t data_len,
                                            const uint32_t *offsets,
                                            size_t count);

/** The same by 64-bit offsets. */
manylane_messages manylane_offsets64(const void *data,
                                            size_t data_len,
                                            const uint64_t *offsets,
                                            size_t count);

/**
 * Makes an engine. `device` is "auto" (or null), "cpu", "all", "cuda", "cuda:N", "hip" or "hip:N";
 * `threads` counts the calling one, and 0 means one for each core that the process may use. Nothing
 * is started before there is work that pays for it. Free the handle with manylane_engine_free().
 *
 * Fails with MANYLANE_ERROR_DEVICE if the one GPU that was named cannot be used.
 */
MANYLANE_MUST_USE
int manylane_engine_new(manylane_engine **engine,
                        const char *device,
                        size_t threads);

/**
 * Frees an engine, whose threads end soon after: they may still be there when this returns. Null is
 * left alone. No call may be using it.
 */
void manylane_engine_free(manylane_engine *engine);

/** Threads that compute at most, the calling one among them. */
MANYLANE_MUST_USE
int manylane_engine_threads(const manylane_engine *engine, size_t *threads);

/**
 * What the engine uses for the named hash function, and why: lines of text that end with a zero
 * byte, which `*len` counts. `*len` is the room on entry.
 */
MANYLANE_MUST_USE
int manylane_engine_explain(const manylane_engine *engine,
                            const char *algorithm,
                            char *out,
                            size_t *len);

/**
 * What went wrong so far without making a result wrong, such as a GPU that was given up: a line
 * each, and a zero byte at the end, which `*len` counts; "" if nothing did. Each warning is told
 * once, if there is room for all. `*len` is the room on entry.
 */
MANYLANE_MUST_USE
int manylane_engine_warnings(const manylane_engine *engine,
                             char *out,
                             size_t *len);

/**
 * The digest of one message in memory, of the usual length; of the trees "kt128" and "kt256" on all
 * threads and devices, where that is faster. `*digest_len` is the room on entry, and then the bytes
 * written.
 */
MANYLANE_MUST_USE
int manylane_engine_hash(const manylane_engine *engine,
                         const char *algorithm,
                         const void *data,
                         size_t len,
                         uint8_t *digest,
                         size_t *digest_len);

/**
 * The digest of a file, read in bounded memory. `digest_len_asked` is 0 for one of the usual
 * length, or up to 64 for functions with digests of any length. `*digest_len` is the room on entry,
 * and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_engine_hash_file(const manylane_engine *engine,
                              const char *algorithm,
                              size_t digest_len_asked,
                              const char *path,
                              uint8_t *digest,
                              size_t *digest_len);

/**
 * Begins a message. `algorithm` is a cipher, "sm4", "aes-128", "aes-192" or "aes-256", and a mode,
 * "ecb", "cbc", "cfb", "cfb8", "ofb" or "ctr", with a hyphen between: "sm4-ctr". The key is as long
 * as the cipher's, the IV has 16 bytes, and none with ECB. `direction` is one of
 * `manylane_direction`, `padding` one of `manylane_padding`. None of these modes tells whether a
 * ciphertext was altered: manylane_aead_new() is for those that do. Free the handle with
 * manylane_cipher_free().
 */
MANYLANE_MUST_USE
int manylane_cipher_new(manylane_cipher **cipher,
                        const char *algorithm,
                        int direction,
                        int padding,
                        const void *key,
                        size_t key_len,
                        const void *iv,
                        size_t iv_len);

/**
 * Goes on over `len` bytes. `*out_len` is the room on entry, and then the bytes written: as many as
 * were given; with ECB and CBC whole blocks, up to 15 bytes more or less, for what is left waits
 * for more. So `len + 15` bytes of room always suffice: that is what a null `out` is told, unless
 * `len` is 0, and the data are not taken then. `out` may be `data`, but not overlap it in another
 * way.
 */
MANYLANE_MUST_USE
int manylane_cipher_update(manylane_cipher *cipher,
                           const void *data,
                           size_t len,
                           uint8_t *out,
                           size_t *out_len);

/**
 * The end of the message, after which the handle takes nothing more. Writes the last bytes: with
 * padding up to 16, otherwise none: then there is no room to ask for, and a call with a null `out`
 * is the end. `*out_len` is the room on entry, and then the bytes written. Data that are not whole
 * blocks are MANYLANE_ERROR_DATA_LENGTH, and padding that is none MANYLANE_ERROR_DECRYPTION:
 * nothing that was decrypted before is then to be used.
 */
MANYLANE_MUST_USE
int manylane_cipher_finish(manylane_cipher *cipher,
                           uint8_t *out,
                           size_t *out_len);

/** Frees a handle, and wipes its key. Null is left alone. */
void manylane_cipher_free(manylane_cipher *cipher);

/**
 * Bytes of the key that the named cipher takes, and bytes of IV or nonce: of the modes above, or of
 * "gcm", "ccm" and "xts". GCM and CCM take other nonces than the usual 12 bytes too; XTS' "IV" is
 * the tweak of a data unit, and its key two keys.
 */
MANYLANE_MUST_USE
int manylane_cipher_lens(const char *algorithm,
                         size_t *key_len,
                         size_t *iv_len);

/**
 * Makes a key. `algorithm` is a cipher, as for manylane_cipher_new(), and "gcm" or "ccm":
 * "sm4-gcm", "aes-256-ccm". `tag_len` is the bytes of its tags: 16, or 0 for that; GCM also has 4,
 * 8 and 12 to 15, CCM all even numbers from 4 on. Short ones are guessed sooner. Free the handle
 * with manylane_aead_free().
 */
MANYLANE_MUST_USE
int manylane_aead_new(manylane_aead **aead,
                      const char *algorithm,
                      const void *key,
                      size_t key_len,
                      size_t tag_len);

/**
 * Frees a handle, and wipes its key once no stream of it is left. Null is left alone. No call may
 * be using it.
 */
void manylane_aead_free(manylane_aead *aead);

/**
 * Encrypts `len` bytes into as many at `out`, which may be `data`, but not overlap it in another
 * way; and writes the tag. `tag_len` must be the key's. **A nonce must never be used twice under a
 * key.** The associated data `aad` are authenticated, and not encrypted. GCM takes nonces of any
 * length but 0, CCM of 7 to 13 bytes: 12 with both suits everybody.
 */
MANYLANE_MUST_USE
int manylane_aead_encrypt(const manylane_aead *aead,
                          const void *nonce,
                          size_t nonce_len,
                          const void *aad,
                          size_t aad_len,
                          const void *data,
                          size_t len,
                          uint8_t *out,
                          uint8_t *tag,
                          size_t tag_len);

/**
 * Decrypts `len` bytes into as many at `out`, which may be `data`, but not overlap it in another
 * way, if the tag is theirs. If it is not, the status is MANYLANE_ERROR_DECRYPTION, and all of
 * `out` is zero. A nonce or a tag of a length that the key does not have is refused before, and
 * `out` is as it was.
 */
MANYLANE_MUST_USE
int manylane_aead_decrypt(const manylane_aead *aead,
                          const void *nonce,
                          size_t nonce_len,
                          const void *aad,
                          size_t aad_len,
                          const void *data,
                          size_t len,
                          uint8_t *out,
                          const void *tag,
                          size_t tag_len);

/**
 * Begins a message of GCM that comes in parts, in bounded memory. CCM has none: its tag needs the
 * length first. `direction` is one of `manylane_direction`. A message that does not fit in memory
 * is read twice: by MANYLANE_VERIFY, which only says whether it is the message, and then by
 * MANYLANE_DECRYPT. The stream outlives its key's handle. Free it with manylane_gcm_stream_free().
 */
MANYLANE_MUST_USE
int manylane_gcm_stream_new(manylane_gcm_stream **stream,
                            const manylane_aead *aead,
                            int direction,
                            const void *nonce,
                            size_t nonce_len,
                            const void *aad,
                            size_t aad_len);

/**
 * Goes on over `len` bytes, into as many at `out`, which may be `data`, but not overlap it in
 * another way. What is decrypted is **not to be used, shown or written anywhere** before
 * manylane_gcm_stream_verify() says that it is the message. With MANYLANE_VERIFY there is no
 * output: `out` must be null.
 */
MANYLANE_MUST_USE
int manylane_gcm_stream_update(manylane_gcm_stream *stream,
                               const void *data,
                               size_t len,
                               uint8_t *out);

/** The end of a message that was encrypted: its tag, of the key's length. */
MANYLANE_MUST_USE
int manylane_gcm_stream_tag(manylane_gcm_stream *stream, uint8_t *tag, size_t tag_len);

/**
 * The end of a message that was decrypted or verified: whether the tag is its. If not, the status
 * is MANYLANE_ERROR_DECRYPTION, and all that was decrypted is to be wiped.
 */
MANYLANE_MUST_USE
int manylane_gcm_stream_verify(manylane_gcm_stream *stream,
                               const void *tag,
                               size_t tag_len);

/** Frees a stream, and wipes what it held. Null is left alone. */
void manylane_gcm_stream_free(manylane_gcm_stream *stream);

/**
 * Makes a pair of keys: `key` is the data's key and the tweak's, one after the other. `algorithm`
 * is "sm4-xts", "aes-128-xts" or "aes-256-xts", `order` one of `manylane_xts_order`. Halves that
 * are the same are MANYLANE_ERROR_WEAK_KEY. Free the handle with manylane_xts_free().
 */
MANYLANE_MUST_USE
int manylane_xts_new(manylane_xts **xts,
                     const char *algorithm,
                     int order,
                     const void *key,
                     size_t key_len);

/** Frees a handle, and wipes its keys. Null is left alone. No call may be using it. */
void manylane_xts_free(manylane_xts *xts);

/**
 * Encrypts or decrypts one data unit of at least 16 bytes, into as many at `out`, which may be
 * `data`, but not overlap it in another way. `tweak` has 16 bytes: the number of a sector as a
 * little-endian number. `direction` is one of `manylane_direction`.
 */
MANYLANE_MUST_USE
int manylane_xts_crypt(const manylane_xts *xts,
                       int direction,
                       const uint8_t *tweak,
                       const void *data,
                       size_t len,
                       uint8_t *out);

/**
 * The same for data units of `unit_len` bytes, one after another, whose tweaks are the numbers
 * `first`, `first + 1` and so on: sectors of a disk. The last may be shorter, down to 16 bytes.
 */
MANYLANE_MUST_USE
int manylane_xts_crypt_units(const manylane_xts *xts,
                             int direction,
                             uint64_t first,
                             size_t unit_len,
                             const void *data,
                             size_t len,
                             uint8_t *out);

/**
 * Draws a secret key from the operating system's generator. Free the handle with
 * manylane_sm2_key_free().
 */
MANYLANE_MUST_USE
int manylane_sm2_key_generate(manylane_sm2_key **key);

/**
 * The secret key that is the number `d`: 32 bytes, big-endian. Free the handle with
 * manylane_sm2_key_free().
 */
MANYLANE_MUST_USE
int manylane_sm2_key_from_bytes(manylane_sm2_key **key,
                                const void *d,
                                size_t len);

/**
 * Reads a secret key in whatever form it is: PKCS #8, encrypted or not, or SEC 1, in DER or PEM, or
 * 64 hexadecimal digits. The number d alone is for manylane_sm2_key_from_bytes(), for every 32
 * bytes are one. `password` may be null, with the length 0, if there is none: a key that is
 * encrypted is then MANYLANE_ERROR_PASSWORD_NEEDED.
 */
MANYLANE_MUST_USE
int manylane_sm2_key_decode(manylane_sm2_key **key,
                            const void *data,
                            size_t len,
                            const void *password,
                            size_t password_len);

/**
 * Writes a secret key, unencrypted, in one of the forms of `manylane_sm2_form`; the compressed one
 * has only public keys. `*len` is the room on entry, and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_sm2_key_encode(const manylane_sm2_key *key,
                            int form,
                            uint8_t *out,
                            size_t *len);

/**
 * Writes a secret key encrypted under a password: PKCS #8, in MANYLANE_SM2_DER or MANYLANE_SM2_PEM.
 * `kdf` is one of `manylane_sm2_kdf`; `iterations` of PBKDF2 are 1 to 10,000,000, or 0 for the
 * usual 600,000, which take some tenths of a second. The password may not be empty. `*len` is the
 * room on entry, which must be 512 bytes, and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_sm2_key_encrypt(const manylane_sm2_key *key,
                             int form,
                             int kdf,
                             uint32_t iterations,
                             const void *password,
                             size_t password_len,
                             uint8_t *out,
                             size_t *len);

/**
 * The public key of a secret one, as a handle of its own. Free it with manylane_sm2_public_free().
 */
MANYLANE_MUST_USE
int manylane_sm2_key_public(const manylane_sm2_key *key,
                            manylane_sm2_public **public_key);

/** Frees a secret key, and wipes it. Null is left alone. No call may be using it. */
void manylane_sm2_key_free(manylane_sm2_key *key);

/**
 * Reads a public key in whatever form it is: a point, with or without 04 or compressed,
 * SubjectPublicKeyInfo or a certificate, in DER or PEM, or hexadecimal digits. Of a certificate
 * nothing but the key is looked at: it is not verified.
 */
MANYLANE_MUST_USE
int manylane_sm2_public_decode(manylane_sm2_public **public_key,
                               const void *data,
                               size_t len);

/**
 * Writes a public key in one of the forms of `manylane_sm2_form`; those of SEC 1 have only secret
 * keys. `*len` is the room on entry, and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_sm2_public_encode(const manylane_sm2_public *public_key,
                               int form,
                               uint8_t *out,
                               size_t *len);

/** Whether two public keys are the same: 1 or 0. What is no handle is the same as nothing. */
MANYLANE_MUST_USE
int manylane_sm2_public_equal(const manylane_sm2_public *a,
                              const manylane_sm2_public *b);

/** Frees a public key. Null is left alone. No call may be using it. */
void manylane_sm2_public_free(manylane_sm2_public *public_key);

/**
 * Plain Diffie-Hellman: x of the shared point, 32 bytes, without any proof of who the other side
 * is. It is no key by itself; derive one from it, for example with manylane_hkdf_sm3().
 */
MANYLANE_MUST_USE
int manylane_sm2_diffie_hellman(const manylane_sm2_key *key,
                                const manylane_sm2_public *peer,
                                uint8_t *out);

/**
 * Signs a message as the user `id`, of at most 8191 bytes. Whoever has none uses
 * MANYLANE_SM2_DEFAULT_ID with the length MANYLANE_SM2_DEFAULT_ID_LEN. An empty ID is another; its
 * pointer, too, may not be null. `form` is one of `manylane_sm2_signature`. `*len` is the room on
 * entry, which must be 72, 64 or 128 bytes, and then the bytes written.
 */
MANYLANE_MUST_USE
int manylane_sm2_sign(const manylane_sm2_key *key,
                      const void *id,
                      size_t id_len,
                      const void *message,
                      size_t message_len,
                      int form,
                      uint8_t *signature,
                      size_t *len);

/**
 * Verifies a signature of the user `id`, as of manylane_sm2_sign(): MANYLANE_OK if it holds,
 * otherwise MANYLANE_ERROR_SIGNATURE.
 */
MANYLANE_MUST_USE
int manylane_sm2_verify(const manylane_sm2_public *public_key,
                        const void *id,
                        size_t id_len,
                        const void *message,
                        size_t message_len,
                        int form,
                        const void *signature,
                        size_t len);

/**
 * Signs the 32 bytes e, the SM3 digest of Z_A and the message, by whoever has computed it. As
 * manylane_sm2_sign() for the rest.
 */
MANYLANE_MUST_USE
int manylane_sm2_sign_digest(const manylane_sm2_key *key,
                             const uint8_t *e,
                             int form,
                             uint8_t *signature,
                             size_t *len);

/** Verifies a signature of the 32 bytes e, as of manylane_sm2_sign_digest(). */
MANYLANE_MUST_USE
int manylane_sm2_verify_digest(const manylane_sm2_public *public_key,
                               const uint8_t *e,
                               int form,
                               const void *signature,
                               size_t len);

/**
 * Begins a message that is signed as it comes, as the user `id` of manylane_sm2_sign(). The handle
 * has a copy of the key, and is freed with manylane_sm2_signer_free().
 */
MANYLANE_MUST_USE
int manylane_sm2_signer_new(manylane_sm2_signer **signer,
                            const manylane_sm2_key *key,
                            const void *id,
                            size_t id_len);

/** Goes on over `len` bytes of the message. */
MANYLANE_MUST_USE
int manylane_sm2_signer_update(manylane_sm2_signer *signer, const void *data, size_t len);

/**
 * The signature, after which the handle takes nothing more. As manylane_sm2_sign() for the rest.
 */
MANYLANE_MUST_USE
int manylane_sm2_signer_finish(manylane_sm2_signer *signer,
                               int form,
                               uint8_t *signature,
                               size_t *len);

/** Frees a handle, and wipes its key. Null is left alone. */
void manylane_sm2_signer_free(manylane_sm2_signer *signer);

/**
 * Begins a message whose signature is verified as it comes, of the user `id` of
 * manylane_sm2_sign(). Free the handle with manylane_sm2_verifier_free().
 */
MANYLANE_MUST_USE
int manylane_sm2_verifier_new(manylane_sm2_verifier **verifier,
                              const manylane_sm2_public *public_key,
                              const void *id,
                              size_t id_len);

/** Goes on over `len` bytes of the message. */
MANYLANE_MUST_USE
int manylane_sm2_verifier_update(manylane_sm2_verifier *verifier,
                                 const void *data,
                                 size_t len);

/**
 * Whether the signature holds, after which the handle takes nothing more. As manylane_sm2_verify()
 * for the rest.
 */
MANYLANE_MUST_USE
int manylane_sm2_verifier_finish(manylane_sm2_verifier *verifier,
                                 int form,
                                 const void *signature,
                                 size_t len);

/** Frees a handle. Null is left alone. */
void manylane_sm2_verifier_free(manylane_sm2_verifier *verifier);

/**
 * Encrypts a message of 1 byte or more. `form` is one of `manylane_sm2_ciphertext`. `*len` is the
 * room on entry, and then the bytes written: 96 or 97 more than the message, and with
 * MANYLANE_SM2_ASN1 up to 118 more. GmSSL decrypts at most 255 bytes.
 */
MANYLANE_MUST_USE
int manylane_sm2_encrypt(const manylane_sm2_public *public_key,
                         int form,
                         const void *message,
                         size_t message_len,
                         uint8_t *out,
                         size_t *len);

/**
 * Decrypts a ciphertext of that form. `*len` is the room on entry, and then the bytes written.
 * Whatever is wrong with a ciphertext is MANYLANE_ERROR_DECRYPTION, and nothing is written.
 */
MANYLANE_MUST_USE
int manylane_sm2_decrypt(const manylane_sm2_key *key,
                         int form,
                         const void *ciphertext,
                         size_t ciphertext_len,
                         uint8_t *out,
                         size_t *len);

/**
 * Encrypts many messages where they lie, side by side: `count` messages, message `i` of `lens[i]`
 * bytes at `data[i]` to `keys[i]`, which becomes C2, with C1 of 65 bytes at `c1 + 65 * i` and C3 of
 * 32 bytes at `c3 + 32 * i`. What became of each is `statuses[i]`: one that failed is as it was.
 * Returns the first that is not MANYLANE_OK, if there is one. No two of all these may overlap.
 */
MANYLANE_MUST_USE
int manylane_sm2_encrypt_many(const manylane_sm2_public *const *public_keys,
                              uint8_t *const *data,
                              const size_t *lens,
                              size_t count,
                              uint8_t *c1,
                              uint8_t *c3,
                              int *statuses);

/**
 * The reverse of manylane_sm2_encrypt_many(): each C2 becomes its message. One that does not
 * decrypt is all zero then.
 */
MANYLANE_MUST_USE
int manylane_sm2_decrypt_many(const manylane_sm2_key *const *keys,
                              uint8_t *const *data,
                              const size_t *lens,
                              size_t count,
                              const uint8_t *c1,
                              const uint8_t *c3,
                              int *statuses);

/**
 * Begins a key exchange with the key of this side and the public key of the other, each with a user
 * ID as of manylane_sm2_sign(). `role` is one of `manylane_sm2_role`. Each exchange has an
 * ephemeral key of its own, and serves once. The handle has a copy of the key, and is freed with
 * manylane_sm2_exchange_free().
 */
MANYLANE_MUST_USE
int manylane_sm2_exchange_new(manylane_sm2_exchange **exchange,
                              int role,
                              const manylane_sm2_key *key,
                              const void *id,
                              size_t id_len,
                              const manylane_sm2_public *peer,
                              const void *peer_id,
                              size_t peer_id_len);

/** What the other side needs: this side's ephemeral public key R, a point of 65 bytes. */
MANYLANE_MUST_USE
int manylane_sm2_exchange_ephemeral(manylane_sm2_exchange *exchange, uint8_t *out);

/**
 * Fills `key` with what both sides share, given the other side's R as a point in any form. `key`
 * may not overlap it. Without a check of the other side's confirmation there is no proof yet that
 * it has the same key.
 */
MANYLANE_MUST_USE
int manylane_sm2_exchange_agree(manylane_sm2_exchange *exchange,
                                const void *peer_ephemeral,
                                size_t peer_ephemeral_len,
                                uint8_t *key,
                                size_t key_len);

/**
 * The confirmation that is to be sent to the other side once there is a key: S_A or S_B, 32 bytes.
 * Sending it is optional.
 */
MANYLANE_MUST_USE
int manylane_sm2_exchange_confirmation(manylane_sm2_exchange *exchange,
                                       uint8_t *out);

/**
 * Checks the confirmation of the other side, 32 bytes, in constant time: MANYLANE_OK if it has the
 * same key, otherwise MANYLANE_ERROR_EXCHANGE.
 */
MANYLANE_MUST_USE
int manylane_sm2_exchange_check(manylane_sm2_exchange *exchange,
                                const uint8_t *confirmation);

/** Frees a handle, and wipes what it held. Null is left alone. */
void manylane_sm2_exchange_free(manylane_sm2_exchange *exchange);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MANYLANE_H */
