// Random expressions from a seed: the same seed gives the same expressions, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drover::hcl::differential {

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  std::string expression(int depth);
  // With numbers of up to eighty digits.
  std::string arithmetic(int depth);

 private:
  uint64_t next();
  size_t below(size_t limit) { return static_cast<size_t>(next() % limit); }
  std::string pick(const std::vector<std::string>& choices) { return choices[below(choices.size())]; }
  std::string number(int depth);
  std::string text(int depth);
  std::string boolean(int depth);
  std::string collection(int depth);
  std::string list(int depth);
  std::string object(int depth);

  uint64_t state_;
};

}  // namespace drover::hcl::differential
