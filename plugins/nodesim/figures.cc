#include "figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace drover::nodesim {
namespace {

constexpr double kBucketsADoubling = 8;
constexpr std::array<const char*, kKinds> kNames = {"registrations", "heartbeats", "blocking reads", "fetches",
                                                    "reports",       "services"};

std::string milliseconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(time.count()) / 1e6);
  return text.data();
}

}  // namespace

size_t Figures::bucket_of(std::chrono::nanoseconds took) {
  const double doublings = std::log2(static_cast<double>(std::max<int64_t>(took.count(), 1)));
  return std::min<size_t>(static_cast<size_t>(doublings * kBucketsADoubling), 511);
}

void Figures::add(Kind kind, std::chrono::nanoseconds took, bool is_ok) {
  const MutexLock lock(mutex_);
  OfKind& of_kind = kinds_[static_cast<size_t>(kind)];
  if (!is_ok) {
    ++of_kind.errors;
    return;
  }
  ++of_kind.count;
  ++of_kind.buckets[bucket_of(took)];
}

void Figures::reported(size_t allocations) {
  const MutexLock lock(mutex_);
  allocations_ += allocations;
}

uint64_t Figures::count(Kind kind) const {
  const MutexLock lock(mutex_);
  return kinds_[static_cast<size_t>(kind)].count;
}

uint64_t Figures::errors() const {
  const MutexLock lock(mutex_);
  uint64_t all = 0;
  for (const OfKind& kind : kinds_) all += kind.errors;
  return all;
}

std::chrono::nanoseconds Figures::percentile(Kind kind, double share) const {
  const MutexLock lock(mutex_);
  const OfKind& of_kind = kinds_[static_cast<size_t>(kind)];
  if (of_kind.count == 0) return {};
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(of_kind.count)));
  uint64_t seen = 0;
  size_t bucket = 0;
  while (bucket + 1 < of_kind.buckets.size() && (seen += of_kind.buckets[bucket]) < wanted) ++bucket;
  return std::chrono::nanoseconds(
      static_cast<int64_t>(std::exp2((static_cast<double>(bucket) + 1) / kBucketsADoubling)));
}

std::string Figures::table() const {
  std::string text = "                     calls    errors   p50 ms   p99 ms   max ms\n";
  for (size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    uint64_t errors = 0;
    {
      const MutexLock lock(mutex_);
      errors = kinds_[i].errors;
    }
    std::array<char, 160> line{};
    const bool waits = kind == Kind::watch;
    const auto time = [&](double share) { return waits ? std::string("-") : milliseconds(percentile(kind, share)); };
    std::snprintf(line.data(), line.size(), "%-16s %9llu %9llu %8s %8s %8s\n", kNames[i],
                  static_cast<unsigned long long>(count(kind)), static_cast<unsigned long long>(errors),
                  time(0.5).c_str(), time(0.99).c_str(), time(1).c_str());
    text += line.data();
  }
  const MutexLock lock(mutex_);
  return text + "allocations in reports " + std::to_string(allocations_) + "\n";
}

}  // namespace drover::nodesim
