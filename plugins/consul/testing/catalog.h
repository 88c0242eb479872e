// The fake Consul keeps services, checks and keys, and makes answers of them. Not safe for threads.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drover/clock.h"

namespace drover::consul::testing {

// An answer: its status and its body.
struct Said {
  unsigned status = 200;
  std::string body = {};
};

struct Check {
  std::string id, name, service_id, service_name, status = "critical", output = {}, type = {};
  std::string definition = "{}";  // JSON
  int64_t ttl_ms = 0;             // 0: Consul runs it
  SteadyTime told_at{};
};

struct Key {
  std::string value;
  uint64_t created = 0, modified = 0;
};

class Catalog {
 public:
  static constexpr const char* kNode = "machine";
  static constexpr const char* kAddress = "127.0.0.1";

  // --- The agent's part.
  Said services() const;
  Said checks();
  Said register_service(const std::string& body);
  Said deregister_service(const std::string& id);
  Said register_check(const std::string& body);
  Said deregister_check(const std::string& id);
  Said update_check(const std::string& id, const std::string& body);

  // --- What all look at.
  Said list_services() const;
  Said instances(const std::string& name, const std::string& tag) const;
  Said health(const std::string& name, const std::string& tag, bool only_passing);
  Said nodes() const;
  Said node(const std::string& name) const;

  // --- Keys.
  Said keys(const std::string& path, bool recurses, bool only_names, bool is_raw, const std::string& separator) const;
  Said put_key(const std::string& path, const std::string& value);
  Said delete_key(const std::string& path, bool recurses);

  // --- Changes by a test.
  void lose();
  void set_checks(const std::string& name, const std::string& status, const std::string& output);
  void edit_tags(const std::string& id, const std::string& tags);  // JSON
  void expire();

  uint64_t index_of_keys() const { return key_index_; }
  uint64_t index_of_services() const { return service_index_; }

 private:
  void add_check(const nlohmann::json& from, const std::string& service_id, const std::string& otherwise);
  void note_expired();

  std::map<std::string, std::string> services_;  // by identifier, JSON as /v1/agent/services has it
  std::map<std::string, Check> checks_;
  std::map<std::string, Key> keys_;
  uint64_t key_index_ = 10, service_index_ = 10;
};

}  // namespace drover::consul::testing
