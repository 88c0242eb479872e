// Reading a plugin's ELF file without running anything of it: the note, the machine, the libraries it needs.
// docs/formats/plugin-note.md describes the note's bytes. Pure over a file descriptor.
#pragma once

#include <string>
#include <vector>

#include "drover/note.h"
#include "drover/result.h"

namespace drover {

struct Passport {
  note::Description note{};
  std::vector<std::string> needed_libraries;  // sonames

  std::string kind() const;
  std::string name() const;
  std::string version() const;
  std::string exact_tag() const;
};

// Errors: invalid_argument, one text per cause: not an ELF file, another machine, not a shared object, no note, a
// damaged note.
Result<Passport> read_passport(int fd);

// Checks that the note fits this host. The manifest gives name, kind, version and tier.
// Errors: failed_precondition with what was found, what was expected and what to do.
Status check_passport(const Passport& passport, std::string_view name, std::string_view kind, std::string_view version,
                      std::string_view tier);

// The first field in which a plugin's exact tag differs from this host's: "cxx: found gcc-11, expected gcc-12"; empty
// when none does. A plugin that does not use the SDK's layer `api` or `driver` lacks its field.
std::string first_difference(std::string_view found, std::string_view expected);

}  // namespace drover
