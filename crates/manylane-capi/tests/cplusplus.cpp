// The header in C++17, and what C++ does with it: handles in smart pointers, containers, exceptions.
#include "check.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

struct Free {
  void operator()(manylane_hash *hash) const { manylane_hash_free(hash); }
};

using Hash = std::unique_ptr<manylane_hash, Free>;

std::vector<std::uint8_t> sm3(std::string_view text) {
  manylane_hash *raw = nullptr;
  if (manylane_hash_new(&raw, "sm3", 0) != MANYLANE_OK)
    throw std::runtime_error(manylane_last_error());
  Hash hash(raw);
  std::vector<std::uint8_t> digest(MANYLANE_MAX_DIGEST_LEN);
  std::size_t len = digest.size();
  if (manylane_hash_update(hash.get(), text.data(), text.size()) != MANYLANE_OK ||
      manylane_hash_finish(hash.get(), digest.data(), &len) != MANYLANE_OK)
    throw std::runtime_error(manylane_last_error());
  digest.resize(len);
  return digest;
}

static_assert(std::is_standard_layout_v<manylane_messages> && std::is_trivial_v<manylane_messages>);

void strings() {
  std::vector<std::uint8_t> digest = sm3("abc");
  CHECK(digest.size() == 32 && digest[0] == 0x66 && digest[1] == 0xc7);
}

void containers() {
  std::vector<std::string> texts = {"one", "", "another"};
  std::vector<const void *> pointers;
  std::vector<std::size_t> lens;
  for (const std::string &text : texts) {
    pointers.push_back(text.data());
    lens.push_back(text.size());
  }
  manylane_messages all = manylane_pointers(pointers.data(), lens.data(), texts.size());
  std::vector<std::array<std::uint8_t, 32>> digests(texts.size());
  OK(manylane_hash_many(nullptr, "sm3", 0, &all, digests[0].data(), 32 * digests.size()));
  for (std::size_t i = 0; i < texts.size(); i++) {
    std::vector<std::uint8_t> expected = sm3(texts[i]);
    CHECK(std::equal(expected.begin(), expected.end(), digests[i].begin()));
  }
}

// They pass frames of C++ alone: no call of the library throws.
void exceptions() {
  bool thrown = false;
  try {
    manylane_hash *none = nullptr;
    if (manylane_hash_new(&none, "md5", 0) != MANYLANE_OK)
      throw std::invalid_argument(manylane_last_error());
  } catch (const std::invalid_argument &error) {
    thrown = std::string(error.what()) == "unknown algorithm 'md5'";
  }
  CHECK(thrown);
}

} // namespace

int main() {
  TEST(strings);
  TEST(containers);
  TEST(exceptions);
  return done();
}
