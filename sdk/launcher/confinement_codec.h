// A confinement (drover/confinement.h) among the fields of a message. A launcher that reads a newer form than it knows
// refuses it: a part of a confinement that is left out in silence would be a hole.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/confinement.h"
#include "protocol.h"

namespace drover::launcher {

inline constexpr uint64_t kConfinementForm = 1;

template <typename T, typename Each>
void write_all(Writer& out, const std::vector<T>& all, Each each) {
  out.number(all.size());
  for (const T& one : all) each(one);
}
template <typename T, typename Each>
void read_all(Reader& in, std::vector<T>& all, Each each) {
  const uint64_t count = in.number();
  for (uint64_t i = 0; i < count && in.ok(); ++i) all.push_back(each());
}

inline void write_root(Writer& out, const Confinement::Root& root) {
  out.text(root.folder);
  out.number(root.is_pivoted ? 1 : 0);
  write_all(out, root.mounts, [&](const Confinement::Mount& mount) {
    for (const std::string* text : {&mount.type, &mount.source, &mount.target, &mount.options}) out.text(*text);
    out.number(mount.flags);
    out.number(static_cast<uint64_t>(mount.propagation));
  });
  write_all(out, root.devices, [&](const Confinement::Device& device) {
    out.text(device.target);
    out.number(device.is_block ? 1 : 0);
    for (const uint32_t number : {device.major, device.minor, device.mode, device.user, device.group})
      out.number(number);
  });
  write_all(out, root.links, [&](const Confinement::Link& link) {
    out.text(link.target);
    out.text(link.to);
  });
  write_all(out, root.files, [&](const Confinement::File& file) {
    out.text(file.target);
    out.text(file.content);
  });
  out.list(root.hidden);
  out.list(root.not_writable);
}

inline Confinement::Root read_root(Reader& in) {
  const auto number = [&in] { return static_cast<uint32_t>(in.number()); };
  Confinement::Root root;
  root.folder = in.text();
  root.is_pivoted = in.number() != 0;
  read_all(in, root.mounts, [&] {
    Confinement::Mount mount;
    for (std::string* text : {&mount.type, &mount.source, &mount.target, &mount.options}) *text = in.text();
    mount.flags = number();
    mount.propagation = static_cast<Confinement::Propagation>(in.number());
    return mount;
  });
  read_all(in, root.devices, [&] {
    Confinement::Device device{.target = in.text()};
    device.is_block = in.number() != 0;
    for (uint32_t* each : {&device.major, &device.minor, &device.mode, &device.user, &device.group}) *each = number();
    return device;
  });
  read_all(in, root.links, [&] {
    Confinement::Link link{.target = in.text(), .to = {}};
    link.to = in.text();
    return link;
  });
  read_all(in, root.files, [&] {
    Confinement::File file{.target = in.text(), .content = {}};
    file.content = in.text();
    return file;
  });
  root.hidden = in.list();
  root.not_writable = in.list();
  return root;
}

inline void write_confinement(Writer& out, const Confinement& confinement) {
  out.number(kConfinementForm);
  out.number(confinement.own);
  out.number(static_cast<uint64_t>(confinement.joins.pid));
  out.number(confinement.joins.start_time);
  out.number(confinement.root ? 1 : 0);
  if (confinement.root) write_root(out, *confinement.root);
  out.text(confinement.host_name);
  out.number(confinement.capabilities ? 1 : 0);
  out.number(confinement.capabilities.value_or(0));
  out.number(confinement.no_new_privileges ? 1 : 0);
  out.text(confinement.call_filter);
  out.number(confinement.has_own_keyring ? 1 : 0);
  out.number(confinement.resets_oom_score ? 1 : 0);
}

// Empty: it is of another form.
inline std::optional<Confinement> read_confinement(Reader& in) {
  if (in.number() != kConfinementForm) return std::nullopt;
  Confinement confinement;
  confinement.own = static_cast<uint32_t>(in.number());
  confinement.joins.pid = static_cast<int>(in.number());
  confinement.joins.start_time = in.number();
  if (in.number() != 0) confinement.root = read_root(in);
  confinement.host_name = in.text();
  const bool has_capabilities = in.number() != 0;
  const uint64_t capabilities = in.number();
  if (has_capabilities) confinement.capabilities = capabilities;
  confinement.no_new_privileges = in.number() != 0;
  confinement.call_filter = in.text();
  confinement.has_own_keyring = in.number() != 0;
  confinement.resets_oom_score = in.number() != 0;
  return confinement;
}

}  // namespace drover::launcher
