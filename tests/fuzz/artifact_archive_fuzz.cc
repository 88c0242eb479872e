// One input as an archive of an artifact, in each form: nothing of it may come to lie outside of its folder.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "drover/result.h"
#include "plugins/artifacts/fetcher/unpack.h"

void fuzz_artifact_archive(std::string_view bytes);

void fuzz_artifact_archive(std::string_view bytes) {
  namespace fs = std::filesystem;
  using namespace drover;
  static const fs::path kFolder = fs::temp_directory_path() / ("archive-fuzz." + std::to_string(::getpid()));
  std::error_code ignored;
  for (const char* form : {"tar.gz", "tar", "zip", "gz"}) {
    fs::create_directories(kFolder / "in/target", ignored);
    std::ofstream(kFolder / "archive", std::ios::binary) << bytes;
    (void)artifacts::unpack(kFolder / "archive", form, kFolder / "in/target", "file",
                            {.most_files = 100, .most_bytes = 1 << 20});
    size_t beside = 0;
    for (const auto& entry : fs::directory_iterator(kFolder / "in", ignored)) beside += entry.exists(ignored) ? 1 : 0;
    DROVER_CHECK(beside == 1);
    for (fs::recursive_directory_iterator at(kFolder / "in/target", ignored), end; !ignored && at != end;
         at.increment(ignored)) {
      struct stat found {};
      DROVER_CHECK(::lstat(at->path().c_str(), &found) == 0);
      DROVER_CHECK(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode) || S_ISLNK(found.st_mode));
      DROVER_CHECK((found.st_mode & (S_ISUID | S_ISGID)) == 0);
    }
    fs::remove_all(kFolder, ignored);
  }
}
