#include "in_flight.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace drover::scheduler {
namespace {

bool same_port(const HeldPort& a, const HeldPort& b) { return std::tie(a.ip, a.port) == std::tie(b.ip, b.port); }

template <typename T, typename Same>
std::vector<T> difference(const std::vector<T>& all, const std::vector<T>& without, const Same& same) {
  std::vector<T> rest;
  std::ranges::copy_if(all, std::back_inserter(rest), [&](const T& one) {
    return std::ranges::none_of(without, [&](const T& other) { return same(one, other); });
  });
  return rest;
}

template <typename T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Usage beyond(const Usage& wanted, const Usage& there) {
  Usage more{.amount = wanted.amount,
             .ports = difference(wanted.ports, there.ports, same_port),
             .cores = difference(wanted.cores, there.cores, std::equal_to<>()),
             .devices = wanted.devices};
  more.amount -= there.amount;
  for (int64_t* dimension : {&more.amount.cpu, &more.amount.memory_mb, &more.amount.disk_mb}) {
    *dimension = std::max<int64_t>(*dimension, 0);
  }
  more.devices.remove(there.devices);
  return more;
}

void add(Usage& sum, const Usage& more) {
  sum.amount += more.amount;
  append(sum.ports, more.ports);
  append(sum.cores, more.cores);
  sum.devices.add(more.devices);
}

InFlight::Entry InFlight::open() {
  entries_.try_emplace(next_);
  return next_++;
}

void InFlight::add_part(const std::string& alloc_id, Part part) {
  entries_[part.entry].allocs.push_back(alloc_id);
  parts_[alloc_id].push_back(std::move(part));
}

void InFlight::place(Entry entry, std::string node_id, std::shared_ptr<const Holding> holding) {
  const std::string& id = holding->id;
  add_part(id, {.entry = entry, .placed = Placed{std::move(node_id), std::move(holding)}});
}

void InFlight::end(Entry entry, const std::string& alloc_id) { add_part(alloc_id, {.entry = entry, .ends = true}); }

void InFlight::resize(Entry entry, const std::string& alloc_id, Usage usage) {
  add_part(alloc_id, {.entry = entry, .size = std::move(usage)});
}

void InFlight::exchange(const std::string& node_id, Exchange exchange) {
  entries_[exchange.entry].nodes.push_back(node_id);
  exchanges_[node_id].push_back(std::move(exchange));
}

void InFlight::settle(Entry entry, uint64_t index, bool failed) {
  const auto at = entries_.find(entry);
  if (at == entries_.end()) return;
  at->second.shown_at = index;
  at->second.failed = failed;
}

void InFlight::arrived(const std::string& alloc_id) {
  const auto at = parts_.find(alloc_id);
  if (at == parts_.end()) return;
  for (Part& part : at->second) part.placed.reset();
}

std::vector<InFlight::Gone> InFlight::take_shown(uint64_t index) {
  std::vector<Gone> gone;
  for (auto at = entries_.begin(); at != entries_.end();) {
    auto& [entry, known] = *at;
    if (!known.shown_at || *known.shown_at > index) {
      ++at;
      continue;
    }
    const auto is_its = [&, of = entry](const auto& one) { return one.entry == of; };
    for (const std::string& id : known.allocs) {
      const auto parts = parts_.find(id);
      if (parts == parts_.end()) continue;
      std::erase_if(parts->second, is_its);
      if (parts->second.empty()) parts_.erase(parts);
    }
    for (const std::string& node : known.nodes) {
      const auto exchanges = exchanges_.find(node);
      if (exchanges == exchanges_.end()) continue;
      std::erase_if(exchanges->second, is_its);
      if (exchanges->second.empty()) exchanges_.erase(exchanges);
    }
    gone.push_back({.entry = entry, .failed = known.failed, .allocs = std::move(known.allocs)});
    at = entries_.erase(at);
  }
  return gone;
}

InFlight::Change InFlight::change_of(const std::string& alloc_id) const {
  Change change;
  const auto at = parts_.find(alloc_id);
  if (at == parts_.end()) return change;
  for (const Part& part : at->second) {
    if (part.placed) change.placed = part.placed;
    change.ends = change.ends || part.ends;
    if (part.size) change.sizes.push_back(&*part.size);
  }
  return change;
}

std::vector<std::string> InFlight::allocs() const {
  std::vector<std::string> ids;
  ids.reserve(parts_.size());
  for (const auto& [id, parts] : parts_) ids.push_back(id);
  return ids;
}

const std::vector<InFlight::Exchange>& InFlight::exchanges(const std::string& node_id) const {
  static const std::vector<Exchange> none;
  const auto at = exchanges_.find(node_id);
  return at == exchanges_.end() ? none : at->second;
}

}  // namespace drover::scheduler
