// A text in gzip's form, and back, for tests.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

inline std::string gzipped(std::string_view text) {
  std::string out(text.size() + 4096, '\0');
  size_t used = 0;
  archive* writer = archive_write_new();
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_set_format_raw(writer);
  archive_write_add_filter_gzip(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  DROVER_CHECK(archive_write_open_memory(writer, out.data(), out.size(), &used) == ARCHIVE_OK);
  DROVER_CHECK(archive_write_header(writer, entry) == ARCHIVE_OK);
  DROVER_CHECK(archive_write_data(writer, text.data(), text.size()) == static_cast<la_ssize_t>(text.size()));
  DROVER_CHECK(archive_write_close(writer) == ARCHIVE_OK);
  archive_entry_free(entry);
  archive_write_free(writer);
  out.resize(used);
  return out;
}

inline std::string gunzipped(std::string_view bytes) {
  archive* reader = archive_read_new();
  archive_read_support_format_raw(reader);
  archive_read_support_filter_gzip(reader);
  archive_entry* entry = nullptr;
  DROVER_CHECK(archive_read_open_memory(reader, bytes.data(), bytes.size()) == ARCHIVE_OK);
  DROVER_CHECK(archive_read_next_header(reader, &entry) == ARCHIVE_OK);
  std::string out, piece(4096, '\0');
  for (la_ssize_t n = 0; (n = archive_read_data(reader, piece.data(), piece.size())) != 0;) {
    DROVER_CHECK(n > 0);
    out.append(piece, 0, static_cast<size_t>(n));
  }
  archive_read_free(reader);
  return out;
}

}  // namespace drover
