#include "tests/simulation/world/trace.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace drover::simulation {

std::string Trace::line(const Event& event) {
  char head[64];
  std::snprintf(head, sizeof head, "%10.6f ", static_cast<double>(event.at) / kSecond);
  std::string text = head;
  text += event.node == kNobody ? "   " : "n" + std::to_string(event.node) + " ";
  size_t number = 0;
  for (const char* c = event.text; *c != '\0'; ++c) {
    if (c[0] == '{' && c[1] == '}' && number < event.numbers.size()) {
      text += std::to_string(event.numbers[number++]);
      ++c;
    } else {
      text += *c;
    }
  }
  return text + "\n";
}

void Trace::tell(const Event& event) { *out_ << line(event); }

std::string Trace::last_events() const {
  std::string text;
  for (size_t i = count_ - std::min(count_, kKept); i < count_; ++i) text += line(kept_[i % kKept]);
  return text;
}

}  // namespace drover::simulation
