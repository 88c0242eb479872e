#include "alloc_dir.h"
#include "disk/secrets.h"
#include "standard_hooks.h"

namespace drover::agent {
namespace {

class AllocDirHook final : public AllocHook {
 public:
  HookInfo info() const override { return {.name = "alloc_dir"}; }

  class Dir final : public Part {
   public:
    explicit Dir(const AllocFolders& folders) : folders_(folders) {}
    Status prerun(std::stop_token) override { return create_folders(folders_); }
    // No task starts any more: nobody needs its secrets.
    Status postrun() override { return unmount_all(folders_); }
    Status destroy() override { return remove_folders(folders_); }

   private:
    const AllocFolders& folders_;
  };
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState&) override {
    return std::make_unique<Dir>(alloc.folders());
  }
};

}  // namespace

std::unique_ptr<AllocHook> alloc_dir_hook() { return std::make_unique<AllocDirHook>(); }

}  // namespace drover::agent
