// Configuration of the agent and of plugins: values with their place, checked against a schema that says each option
// once.
//
//   file ──load_config_file──▶ ConfigBlock ──merge──▶ ConfigBlock ──apply_schema──▶ typed, with defaults
//
// Files are HCL or JSON, told apart by content. The forms of HCL 1 are accepted: a block may be written as an object
// (`ports = { http = 1 }`) and an object as a block (`meta { k = "v" }`), numbers and booleans may stand in quotes.
//
// Values without behaviour; any thread may read them. Only load_config_file touches the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hcl_value.h"
#include "drover/result.h"

namespace drover {

struct ConfigPlace {
  std::string file;
  int line = 0;  // zero: a default, or not from a file

  std::string to_string() const;  // "agent.hcl:12"
};

struct ConfigAttribute {
  hcl::Value value;
  ConfigPlace place;
};

struct ConfigBlock {
  std::string name;
  std::vector<std::string> labels;
  std::map<std::string, ConfigAttribute, std::less<>> attributes;
  std::vector<ConfigBlock> blocks;
  ConfigPlace place;

  // The typed getters convert as the schema does, and give `fallback` when the option is absent or of another type.
  // Behind apply_schema, options with a default are never absent.
  const hcl::Value* find(std::string_view option) const;
  bool has(std::string_view option) const { return find(option) != nullptr; }
  std::string string(std::string_view option, std::string fallback = {}) const;
  int64_t integer(std::string_view option, int64_t fallback = 0) const;
  double number(std::string_view option, double fallback = 0) const;
  bool boolean(std::string_view option, bool fallback = false) const;
  std::chrono::nanoseconds duration(std::string_view option, std::chrono::nanoseconds fallback = {}) const;
  uint64_t bytes(std::string_view option, uint64_t fallback = 0) const;
  std::vector<std::string> string_list(std::string_view option) const;
  // Also takes the values in blocks of that name.
  std::map<std::string, std::string, std::less<>> string_map(std::string_view option) const;

  // The first block of that name, or of that name and first label; null when there is none.
  const ConfigBlock* block(std::string_view block_name) const;
  const ConfigBlock* block(std::string_view block_name, std::string_view label) const;
  std::vector<const ConfigBlock*> all(std::string_view block_name) const;
};

enum class ConfigType {
  string,
  integer,
  number,
  boolean,
  duration,     // "1h30m", or a bare number of nanoseconds
  string_list,  // also a single string
  string_map,
  bytes,           // "64MiB", "10 MB", "512k", or a bare number
  block,           // written several times, it is merged
  labelled_block,  // one label; those with equal labels are merged
  repeated_block,  // without label; each one counts
  any,             // whatever it is: an attribute, or blocks as they stand
};
std::string_view to_string(ConfigType type);

struct ConfigSchema;

struct ConfigOption {
  std::string name;
  ConfigType type = ConfigType::string;
  std::string default_text = {};  // as an operator would write it, without quotes; empty: no default
  std::string help = {};          // empty: known, and read by nobody; the operator who sets it is told
  bool required = false;
  std::optional<double> min = {};  // of numbers; of durations in seconds
  std::optional<double> max = {};
  std::vector<std::string> one_of = {};    // of strings
  std::vector<ConfigOption> options = {};  // of a block
  // How the agent shows the option in /v1/agent/self. Empty: the words of `name` joined, each with a capital, known
  // initialisms (GC, TTL, RPC, …) in capitals.
  std::string api_name = {};
  bool is_api_text = false;  // a duration shown as "30s"; others are shown in nanoseconds
  bool is_secret = false;    // never shown, only that it is set
  // The reason why a configuration that sets this (a boolean: to true) is refused. Empty: it is not.
  std::string refusal = {};
};

struct ConfigSchema {
  std::vector<ConfigOption> options;
};

// Errors: not_found, permission_denied; invalid_argument with file and line of every syntax error.
Result<ConfigBlock> load_config_file(const std::string& path);
Result<ConfigBlock> parse_config(const std::string& name, const std::string& text);

// The block with values of the declared types, defaults filled in, objects and blocks as declared.
// Errors: invalid_argument, every problem on a line of its own with file, line, option and, for an unknown option, the
// nearest known one.
Result<ConfigBlock> apply_schema(const ConfigBlock& block, const ConfigSchema& schema);
Status check_schema(const ConfigBlock& block, const ConfigSchema& schema);

// A block as a job's `config` would carry it: its blocks as lists of objects, labels as members.
hcl::Value value_of(const ConfigBlock& block);

// `over` wins: scalars and lists are replaced, objects merged key by key, blocks with the same name and labels merged.
ConfigBlock merge(ConfigBlock base, const ConfigBlock& over);

}  // namespace drover
