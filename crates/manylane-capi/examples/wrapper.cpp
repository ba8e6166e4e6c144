/*
 * A small wrapper in C++17: handles that free themselves, statuses that become exceptions.
 *
 * Try:
 * $ "$EXAMPLE"
 */
#include <manylane.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace manylane {

/// A status that is no success, with the library's words.
class Error : public std::runtime_error {
public:
  explicit Error(int code) : std::runtime_error(manylane_last_error()), status(code) {}
  const int status;
};

inline void check(int status) {
  if (status != MANYLANE_OK)
    throw Error(status);
}

/// A handle that is freed with its owner.
template <class T, void (*free)(T *)> struct Deleter {
  void operator()(T *handle) const noexcept { free(handle); }
};
template <class T, void (*free)(T *)> using Handle = std::unique_ptr<T, Deleter<T, free>>;

using Bytes = std::vector<unsigned char>;

class Hash {
public:
  explicit Hash(const char *algorithm, std::size_t digest_len = 0) {
    manylane_hash *raw = nullptr;
    check(manylane_hash_new(&raw, algorithm, digest_len));
    hash.reset(raw);
  }

  Hash &update(std::string_view data) {
    check(manylane_hash_update(hash.get(), data.data(), data.size()));
    return *this;
  }

  Bytes finish() {
    std::size_t len = 0;
    check(manylane_hash_digest_len(hash.get(), &len));
    Bytes digest(len);
    check(manylane_hash_finish(hash.get(), digest.data(), &len));
    return digest;
  }

private:
  Handle<manylane_hash, manylane_hash_free> hash;
};

class PublicKey {
public:
  explicit PublicKey(manylane_sm2_public *raw) : key(raw) {}

  bool verify(std::string_view message, const Bytes &signature) const {
    int status = manylane_sm2_verify(key.get(), MANYLANE_SM2_DEFAULT_ID, MANYLANE_SM2_DEFAULT_ID_LEN, message.data(),
                                     message.size(), MANYLANE_SM2_SIGNATURE_DER, signature.data(), signature.size());
    if (status == MANYLANE_ERROR_SIGNATURE)
      return false;
    check(status);
    return true;
  }

private:
  Handle<manylane_sm2_public, manylane_sm2_public_free> key;
};

class SecretKey {
public:
  static SecretKey generate() {
    manylane_sm2_key *raw = nullptr;
    check(manylane_sm2_key_generate(&raw));
    return SecretKey(raw);
  }

  PublicKey public_key() const {
    manylane_sm2_public *raw = nullptr;
    check(manylane_sm2_key_public(key.get(), &raw));
    return PublicKey(raw);
  }

  Bytes sign(std::string_view message) const {
    Bytes signature(72);
    std::size_t len = signature.size();
    check(manylane_sm2_sign(key.get(), MANYLANE_SM2_DEFAULT_ID, MANYLANE_SM2_DEFAULT_ID_LEN, message.data(),
                            message.size(), MANYLANE_SM2_SIGNATURE_DER, signature.data(), &len));
    signature.resize(len);
    return signature;
  }

private:
  explicit SecretKey(manylane_sm2_key *raw) : key(raw) {}
  Handle<manylane_sm2_key, manylane_sm2_key_free> key;
};

} // namespace manylane

int main() {
  for (unsigned char byte : manylane::Hash("sm3").update("a").update("bc").finish())
    std::printf("%02x", static_cast<unsigned>(byte));
  std::printf("\n");

  manylane::SecretKey key = manylane::SecretKey::generate();
  manylane::Bytes signature = key.sign("a message");
  bool good = key.public_key().verify("a message", signature);
  bool bad = key.public_key().verify("another", signature);
  std::printf("%s, %s\n", good ? "holds" : "does not hold", bad ? "holds" : "does not hold");

  bool thrown = false;
  try {
    manylane::Hash("md5");
  } catch (const manylane::Error &error) {
    thrown = error.status == MANYLANE_ERROR_NAME;
    std::printf("%s\n", error.what());
  }
  return good && !bad && thrown ? 0 : 1;
}
