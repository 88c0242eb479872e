#include "drover/nearest.h"

#include <algorithm>
#include <vector>

namespace drover {
namespace {

constexpr size_t kLongestWord = 100;  // longer ones are no typing mistakes, and the distance costs their product

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Damerau-Levenshtein, restricted to swaps of letters that are not edited again.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  size_t allowed = std::max<size_t>(word.size() / 3, word.size() <= 3 ? 1 : 2);
  std::string_view best;
  size_t best_distance = allowed + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > word.size() + allowed || word.size() > candidate.size() + allowed) continue;
    if (size_t d = distance(word, candidate); d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view found = nearest(word, candidates);
  return found.empty() ? std::string() : "did you mean \"" + std::string(found) + "\"?";
}

}  // namespace drover
