// Says what a process is locked into: of which things of the machine it has its own, what it sees of the files, and
// which rights it is left with. A value; the launcher carries it out between fork and exec, in the order of the fields.
//
// Needs nothing but the standard library: the launcher outlives the build that it is of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drover {

struct Confinement {
  // The namespaces that are its own.
  enum Own : uint32_t { mounts = 1, processes = 2, ipc = 4, hostname = 8, cgroups = 16 };
  uint32_t own = 0;

  // One process names another: its number, and its start in ticks since boot.
  struct Process {
    int pid = 0;
    uint64_t start_time = 0;
  };
  // With a number: those of `own` are that process's, and so is the root; nothing is made. A process that has gone is
  // an error.
  Process joins;

  enum MountFlag : uint32_t { read_only = 1, no_setuid = 2, no_devices = 4, no_programs = 8 };
  // Mounts that come or go below it later: on neither side, from the machine's to it, in both directions.
  enum class Propagation : uint8_t { apart = 0, from_machine = 1, both = 2 };
  struct Mount {
    std::string type;     // of a file system, "tmpfs"; empty: shows `source`
    std::string source;   // path of this machine, with all that is mounted below it
    std::string target;   // as all targets: a path below the root, which is made when it is missing
    std::string options;  // of a file system: "mode=755,size=64m"
    uint32_t flags = 0;   // of MountFlag
    Propagation propagation = Propagation::apart;
  };
  struct Device {
    std::string target;
    bool is_block = false;
    uint32_t major = 0, minor = 0;
    uint32_t mode = 0666;
    uint32_t user = 0, group = 0;
  };
  struct Link {
    std::string target;
    std::string to;
  };
  // Everybody may read it, nobody may write it. It is nowhere on disk.
  struct File {
    std::string target;
    std::string content;
  };
  // A root of its own. Requires: `mounts` among `own`. Targets are resolved inside of it whatever links it holds, and
  // those of file systems, `hidden` and `read_only` through no link at all.
  struct Root {
    std::string folder;      // of this machine
    bool is_pivoted = true;  // false: it is moved over the machine's root, which stays beneath
    std::vector<Mount> mounts{};
    std::vector<Device> devices{};
    std::vector<Link> links{};
    std::vector<File> files{};
    std::vector<std::string> hidden{};        // shown empty; one that is not there is no error, as with
    std::vector<std::string> not_writable{};  // what lies there can be read only; mounts below it stay as they are
  };
  std::optional<Root> root;
  std::string host_name{};  // empty: the machine's

  // The rights that are left. Capabilities that the launcher lacks are left out. For a user other than root they are
  // ambient: they hold for every program.
  std::optional<uint64_t> capabilities{};  // bit N: capability N; absent: the launcher's
  bool no_new_privileges = false;          // programs of other users (setuid) give no rights
  std::string call_filter{};               // seccomp: a classic BPF program, 8 bytes an instruction
  bool has_own_keyring = false;            // a new session keyring
  bool resets_oom_score = false;           // to zero, where the launcher may
};

}  // namespace drover
