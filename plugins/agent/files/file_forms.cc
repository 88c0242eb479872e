#include "files/file_forms.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "drover/printable.h"

namespace drover::agent {
namespace {

constexpr std::string_view kBytes = "application/octet-stream";
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kHtml = "text/html; charset=utf-8";

using namespace std::string_view_literals;

struct Magic {
  std::string_view type;
  std::string_view begins;     // the first bytes
  std::string_view then = {};  // and those behind `at`
  size_t at = 0;
};

constexpr Magic kMagics[] = {
    {"application/pdf", "%PDF-"sv},
    {"application/postscript", "%!PS-Adobe-"sv},
    {"text/plain; charset=utf-16be", "\xFE\xFF"sv},
    {"text/plain; charset=utf-16le", "\xFF\xFE"sv},
    {kText, "\xEF\xBB\xBF"sv},
    {"image/x-icon", "\x00\x00\x01\x00"sv},
    {"image/x-icon", "\x00\x00\x02\x00"sv},
    {"image/bmp", "BM"sv},
    {"image/gif", "GIF87a"sv},
    {"image/gif", "GIF89a"sv},
    {"image/webp", "RIFF"sv, "WEBPVP"sv, 8},
    {"image/png", "\x89PNG\r\n\x1A\n"sv},
    {"image/jpeg", "\xFF\xD8\xFF"sv},
    {"audio/aiff", "FORM"sv, "AIFF"sv, 8},
    {"audio/mpeg", "ID3"sv},
    {"application/ogg", "OggS\x00"sv},
    {"audio/midi", "MThd\x00\x00\x00\x06"sv},
    {"video/avi", "RIFF"sv, "AVI "sv, 8},
    {"audio/wave", "RIFF"sv, "WAVE"sv, 8},
    {"video/webm", "\x1A\x45\xDF\xA3"sv},
    {"font/ttf", "\x00\x01\x00\x00"sv},
    {"font/otf", "OTTO"sv},
    {"font/collection", "ttcf"sv},
    {"font/woff", "wOFF"sv},
    {"font/woff2", "wOF2"sv},
    {"application/x-gzip", "\x1F\x8B\x08"sv},
    {"application/zip", "PK\x03\x04"sv},
    {"application/x-rar-compressed", "Rar!\x1A\x07\x00"sv},
    {"application/x-rar-compressed", "Rar!\x1A\x07\x01\x00"sv},
    {"application/wasm", "\x00\x61\x73\x6D"sv},
};

// Each ends with a space or ">".
constexpr std::string_view kTags[] = {
    "<!DOCTYPE HTML", "<HTML",  "<HEAD", "<SCRIPT", "<IFRAME", "<H1", "<DIV", "<FONT", "<TABLE", "<A",
    "<STYLE",         "<TITLE", "<B",    "<BODY",   "<BR",     "<P",  "<!--"};

bool begins_as(std::string_view text, std::string_view capitals) {
  return text.size() >= capitals.size() &&
         std::equal(capitals.begin(), capitals.end(), text.begin(),
                    [](char wanted, char c) { return wanted == std::toupper(static_cast<unsigned char>(c)); });
}

bool is_html(std::string_view text) {
  return std::ranges::any_of(kTags, [&](std::string_view tag) {
    if (!begins_as(text, tag)) return false;
    if (tag == "<!--") return true;
    return text.size() > tag.size() && (text[tag.size()] == ' ' || text[tag.size()] == '>');
  });
}

// A box "ftyp" with a brand "mp4…" in it.
bool is_mp4(std::string_view head) {
  if (head.size() < 12 || head.substr(4, 4) != "ftyp") return false;
  size_t size = 0;
  for (const char c : head.substr(0, 4)) size = size << 8 | static_cast<unsigned char>(c);
  if (size % 4 != 0 || size > head.size()) return false;
  for (size_t at = 8; at + 3 <= size; at += 4) {
    if (at != 12 && head.substr(at, 3) == "mp4") return true;
  }
  return false;
}

// The control characters that no text has.
bool is_binary(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x08 || byte == 0x0B || (byte >= 0x0E && byte <= 0x1A) || (byte >= 0x1C && byte <= 0x1F);
}

std::string_view sniffed(std::string_view head) {
  const size_t first = head.find_first_not_of("\t\n\x0C\r ");
  const std::string_view text = first == std::string_view::npos ? std::string_view() : head.substr(first);
  if (is_html(text)) return kHtml;
  if (text.starts_with("<?xml")) return "text/xml; charset=utf-8";
  for (const Magic& magic : kMagics) {
    if (head.starts_with(magic.begins) &&
        (magic.then.empty() || (head.size() > magic.at && head.substr(magic.at).starts_with(magic.then))))
      return magic.type;
  }
  if (is_mp4(head)) return "video/mp4";
  return std::ranges::any_of(head, is_binary) ? kBytes : kText;
}

}  // namespace

std::string mode_text(mode_t mode) {
  std::string text;
  if (S_ISDIR(mode)) text += 'd';
  if (S_ISLNK(mode)) text += 'L';
  if (S_ISBLK(mode) || S_ISCHR(mode)) text += 'D';
  if (S_ISFIFO(mode)) text += 'p';
  if (S_ISSOCK(mode)) text += 'S';
  if (mode & S_ISUID) text += 'u';
  if (mode & S_ISGID) text += 'g';
  if (S_ISCHR(mode)) text += 'c';
  if (mode & S_ISVTX) text += 't';
  if (text.empty()) text = "-";
  for (size_t bit = 0; bit < 9; ++bit) text += mode & (0400U >> bit) ? "rwxrwxrwx"[bit] : '-';
  return text;
}

std::string name_text(const std::string& name) {
  static constexpr std::string_view kReplaced = "\xEF\xBF\xBD";
  std::string shown = printable(name);
  return shown.find(kReplaced) == std::string::npos ? name : shown;
}

std::string content_type(std::string_view head, std::string_view name) {
  if (name.ends_with(".json")) return "application/json";
  if (head.empty()) return std::string(kBytes);
  return std::string(sniffed(head.substr(0, kTypedBytes)));
}

std::string harmless_type(std::string_view content_type) {
  static constexpr std::string_view kShown[] = {"image/bmp",  "image/gif",    "image/jpeg",      "image/png",
                                                "image/webp", "image/x-icon", "application/json"};
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  if (std::ranges::find(kShown, type) != std::end(kShown) || type == "text/plain" || type.starts_with("audio/") ||
      type.starts_with("video/"))
    return std::string(content_type);
  return std::string(type.starts_with("text/") ? kText : kBytes);
}

}  // namespace drover::agent
