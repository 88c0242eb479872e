#include <algorithm>

#include "zone/zone.h"

namespace drover::dns {
namespace {

using Kind = Wanted::Kind;

Wanted only(Kind kind) { return {.kind = kind}; }

std::optional<int> digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

std::optional<Address> address_of(std::string_view hex) {
  if (hex.size() != 8 && hex.size() != 32) return std::nullopt;
  Address out;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const auto high = digit(hex[i]), low = digit(hex[i + 1]);
    if (!high || !low) return std::nullopt;
    out.bytes += static_cast<char>(*high << 4 | *low);
  }
  return out;
}

// Reads the labels in front of "service". A tag may have dots.
Wanted service_of(const Name& labels, Wanted wanted) {
  if (labels.empty()) return only(Kind::branch);
  const bool is_srv_form = labels.size() == 2 && labels[0].starts_with('_') && labels[1].starts_with('_');
  if (!is_srv_form && labels.size() == 1 && labels[0].starts_with('_')) return only(Kind::branch);
  wanted.kind = Kind::service;
  if (is_srv_form) {
    wanted.name = labels[0].substr(1);
    wanted.tag = labels[1].substr(1);
    if (wanted.tag == "tcp" || wanted.tag == "udp") wanted.tag.clear();
    return wanted;
  }
  wanted.name = labels.back();
  for (size_t i = 0; i + 1 < labels.size(); ++i) wanted.tag += (i > 0 ? "." : "") + labels[i];
  return wanted;
}

}  // namespace

Wanted locate(const Name& asked, const Zone& zone) {
  if (!is_within(asked, zone.origin)) return only(Kind::outside);
  Name labels;
  for (size_t i = 0; i + zone.origin.size() < asked.size(); ++i) labels.push_back(lower(asked[i]));
  if (labels.empty()) return only(Kind::domain);

  Wanted wanted;
  bool has_name_space = false, has_datacenter = false;
  const auto take = [&](const char* word, bool& has, std::string& value) {
    if (has || labels.size() < 2 || labels.back() != word) return false;
    has = true;
    value = labels[labels.size() - 2];
    labels.resize(labels.size() - 2);
    return true;
  };
  while (take("dc", has_datacenter, wanted.datacenter) || take("ns", has_name_space, wanted.name_space)) {
  }
  if (labels.empty()) return only(Kind::branch);  // what the last one of them names

  const std::string word = labels.back();
  labels.pop_back();
  if (word == "service") return service_of(labels, std::move(wanted));
  if (!has_name_space && !has_datacenter) {
    if (word == "dns" && labels.empty()) return only(Kind::server);
    if (word == "addr" && labels.size() == 1) {
      const auto address = address_of(labels.front());
      return address ? Wanted{.kind = Kind::address, .address = *address} : only(Kind::nothing);
    }
  }
  const bool is_word = (word == "addr" && !has_name_space && !has_datacenter) || (word == "ns" && !has_name_space) ||
                       (word == "dc" && !has_datacenter);
  return only(labels.empty() && is_word ? Kind::branch : Kind::nothing);
}

}  // namespace drover::dns
