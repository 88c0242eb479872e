// The passport of a plugin: an ELF note that says what it is, read from the file before any of its code runs.
// Section ".note.drover.plugin", owner "drover", type 1; `readelf -n` prints it. See docs/formats/plugin-note.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drover::note {

inline constexpr uint16_t kVersion = 1;  // layout of the note
inline constexpr uint16_t kStable = 1;   // tier: messages over the C ABI
inline constexpr uint16_t kExact = 2;    // tier: C++ interfaces of one build
inline constexpr uint16_t kAbiMajor = 1;
inline constexpr uint16_t kAbiMinor = 0;

// Fixed layout, little-endian. Text fields are padded with zeroes.
struct Description {
  uint16_t note_version;
  uint16_t tier;
  uint16_t abi_major;
  uint16_t abi_minor;  // the oldest host minor this plugin works with
  char kind[32];
  char name[64];
  char version[32];
  char exact_tag[160];
};
static_assert(sizeof(Description) == 296);

struct Note {
  uint32_t name_size = 7;
  uint32_t description_size = sizeof(Description);
  uint32_t type = 1;
  char owner[8] = {'d', 'r', 'o', 'v', 'e', 'r', 0, 0};
  Description description;
};
static_assert(sizeof(Note) == 20 + sizeof(Description));

template <size_t Size>
constexpr void copy(char (&to)[Size], std::string_view from) {
  for (size_t i = 0; i + 1 < Size && i < from.size(); ++i) to[i] = from[i];
}

consteval Note make(uint16_t tier, std::string_view kind, std::string_view name, std::string_view version,
                    std::string_view tag) {
  Note note{.description = {.note_version = kVersion,
                            .tier = tier,
                            .abi_major = kAbiMajor,
                            .abi_minor = 0,
                            .kind = {},
                            .name = {},
                            .version = {},
                            .exact_tag = {}}};
  copy(note.description.kind, kind);
  copy(note.description.name, name);
  copy(note.description.version, version);
  copy(note.description.exact_tag, tag);
  return note;
}

}  // namespace drover::note

// The section keeps its name and the linker keeps the section; the version script keeps the symbol out of sight.
#define DROVER_PLUGIN_NOTE(TIER, KIND, NAME, VERSION, TAG)                              \
  extern const ::drover::note::Note drover_plugin_note;                                 \
  __attribute__((section(".note.drover.plugin"), used,                                  \
                 aligned(4))) constinit const ::drover::note::Note drover_plugin_note = \
      ::drover::note::make(TIER, KIND, NAME, VERSION, TAG);
