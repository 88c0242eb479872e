#include "drover/passport.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "drover/exact_tag.h"

namespace drover {
namespace {

constexpr uint64_t kMaxTable = 16 << 20;  // no plugin's section table or string table is larger

// Bounded reads from the file; every length is checked against the file's size first.
class ElfFile {
 public:
  ElfFile(int fd, uint64_t size) : fd_(fd), size_(size) {}

  template <typename T>
  bool read(uint64_t offset, T& out) const {
    return bytes(offset, &out, sizeof(T));
  }
  bool read(uint64_t offset, uint64_t length, std::string& out) const {
    if (length > kMaxTable) return false;
    out.resize(length);
    return bytes(offset, out.data(), length);
  }

 private:
  bool bytes(uint64_t offset, void* to, uint64_t length) const {
    if (offset > size_ || length > size_ - offset) return false;
    return pread(fd_, to, length, static_cast<off_t>(offset)) == static_cast<ssize_t>(length);
  }
  int fd_;
  uint64_t size_;
};

template <size_t Size>
std::string fixed_text(const char (&field)[Size]) {
  return {field, strnlen(field, Size)};
}

std::string text_at(const std::string& table, uint64_t offset) {
  if (offset >= table.size()) return {};
  return {table.c_str() + offset};
}

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "add this machine's ELF number"
#endif

std::map<std::string, std::string, std::less<>> fields_of(std::string_view tag) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!tag.empty()) {
    std::string_view field = tag.substr(0, tag.find(' '));
    tag.remove_prefix(std::min(tag.size(), field.size() + 1));
    size_t equals = field.find('=');
    if (equals != std::string_view::npos) fields.emplace(field.substr(0, equals), field.substr(equals + 1));
  }
  return fields;
}

}  // namespace

std::string Passport::kind() const { return fixed_text(note.kind); }
std::string Passport::name() const { return fixed_text(note.name); }
std::string Passport::version() const { return fixed_text(note.version); }
std::string Passport::exact_tag() const { return fixed_text(note.exact_tag); }

Result<Passport> read_passport(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return errno_status(errno, "stat");
  ElfFile file(fd, static_cast<uint64_t>(info.st_size));
  Elf64_Ehdr header{};
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return invalid_argument("is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    return invalid_argument("is built for another machine (ELF machine " + std::to_string(header.e_machine) +
                            ", expected " + std::to_string(kMachine) + ")");
  }
  if (header.e_type != ET_DYN) return invalid_argument("is not a shared object");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return invalid_argument("has a damaged section table");

  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!file.read(header.e_shoff + i * sizeof(Elf64_Shdr), sections[i]))
      return invalid_argument("has a damaged section table");
  }
  if (header.e_shstrndx >= sections.size()) return invalid_argument("has a damaged section table");
  std::string names;
  const Elf64_Shdr& name_table = sections[header.e_shstrndx];
  if (!file.read(name_table.sh_offset, name_table.sh_size, names))
    return invalid_argument("has a damaged section table");

  Passport passport;
  bool found = false;
  for (const Elf64_Shdr& section : sections) {
    if (text_at(names, section.sh_name) == ".note.drover.plugin") {
      note::Note note;
      const note::Note expected{.description = {}};
      if (section.sh_size < sizeof(note) || !file.read(section.sh_offset, note))
        return invalid_argument("has a damaged plugin note");
      if (note.name_size != expected.name_size || note.description_size < sizeof(note::Description) ||
          note.type != expected.type || std::memcmp(note.owner, expected.owner, sizeof(note.owner)) != 0) {
        return invalid_argument("has a damaged plugin note");
      }
      passport.note = note.description;
      found = true;
    } else if (section.sh_type == SHT_DYNAMIC && section.sh_link < sections.size()) {
      std::string strings;
      std::string entries;
      const Elf64_Shdr& table = sections[section.sh_link];
      if (!file.read(table.sh_offset, table.sh_size, strings) ||
          !file.read(section.sh_offset, section.sh_size, entries)) {
        return invalid_argument("has a damaged dynamic section");
      }
      for (size_t at = 0; at + sizeof(Elf64_Dyn) <= entries.size(); at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry{};
        std::memcpy(&entry, entries.data() + at, sizeof(entry));
        if (entry.d_tag == DT_NEEDED) passport.needed_libraries.push_back(text_at(strings, entry.d_un.d_val));
      }
    }
  }
  if (!found) return invalid_argument("is not a drover plugin: it has no .note.drover.plugin");
  return passport;
}

std::string first_difference(std::string_view found, std::string_view expected) {
  const auto theirs = fields_of(found);
  const auto ours = fields_of(expected);
  for (const auto& [key, value] : ours) {
    auto at = theirs.find(key);
    if (at == theirs.end()) {
      if (key == "api" || key == "driver") continue;
      return key + ": missing, expected " + value;
    }
    if (at->second != value) return key + ": found " + at->second + ", expected " + value;
  }
  for (const auto& [key, value] : theirs) {
    if (!ours.contains(key)) return key + ": found " + value + ", not expected";
  }
  return {};
}

Status check_passport(const Passport& passport, std::string_view name, std::string_view kind, std::string_view version,
                      std::string_view tier) {
  const note::Description& note = passport.note;
  if (note.note_version != note::kVersion) {
    return failed_precondition("its note has version " + std::to_string(note.note_version) +
                               ", this drover reads version " + std::to_string(note::kVersion) +
                               "; use a drover of the plugin's age");
  }
  struct Field {
    std::string_view what;
    std::string found;
    std::string_view expected;
  };
  const std::array<Field, 3> fields = {
      {{"name", passport.name(), name}, {"kind", passport.kind(), kind}, {"version", passport.version(), version}}};
  for (const Field& field : fields) {
    if (field.found != field.expected) {
      return failed_precondition("its note says " + std::string(field.what) + " \"" + field.found +
                                 "\", its manifest says \"" + std::string(field.expected) +
                                 "\"; install the manifest that belongs to the file");
    }
  }
  const std::string_view found_tier = note.tier == note::kStable ? "stable" : note.tier == note::kExact ? "exact" : "";
  if (found_tier.empty())
    return failed_precondition("its note has the unknown tier " + std::to_string(note.tier) + "; rebuild the plugin");
  if (found_tier != tier) {
    return failed_precondition("its note says tier \"" + std::string(found_tier) + "\", its manifest says \"" +
                               std::string(tier) + "\"");
  }
  if (note.abi_major != note::kAbiMajor || note.abi_minor > note::kAbiMinor) {
    return failed_precondition("needs plugin ABI " + std::to_string(note.abi_major) + "." +
                               std::to_string(note.abi_minor) + ", this drover offers " +
                               std::to_string(note::kAbiMajor) + "." + std::to_string(note::kAbiMinor) +
                               "; upgrade drover or build the plugin against its SDK");
  }
  if (note.tier == note::kExact) {
    if (std::string difference = first_difference(passport.exact_tag(), note::exact_tag()); !difference.empty()) {
      return failed_precondition("is built for another drover (" + difference +
                                 "); rebuild the plugin with this SDK and compiler");
    }
  } else {
    // A second copy of one of these in another version ends the process at load.
    static constexpr std::array<std::string_view, 4> kShared = {"libprotobuf.so", "libgrpc", "libabsl_", "libdrover_"};
    for (const std::string& library : passport.needed_libraries) {
      for (std::string_view shared : kShared) {
        if (library.starts_with(shared)) {
          return failed_precondition("needs " + library +
                                     ", which drover loads itself; link it statically, with hidden symbols");
        }
      }
    }
  }
  return ok_status();
}

}  // namespace drover
