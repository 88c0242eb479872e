// The tag that a plugin of the exact tier shares with its host. It changes with every header of the layers that the
// plugin uses, so nobody includes it but a plugin's entry (drover/module.h) and those who compare.
#pragma once

#include <string_view>

#include "drover/digest_api.h"  // generated, as the following: digests of the SDK's headers and messages
#include "drover/digest_driver.h"
#include "drover/digest_sdk.h"
#include "drover/sdk_version.h"

namespace drover::note {

#define DROVER_NOTE_TEXT_2(x) #x
#define DROVER_NOTE_TEXT(x) DROVER_NOTE_TEXT_2(x)

#if defined(__clang__)
#define DROVER_NOTE_COMPILER "clang-" DROVER_NOTE_TEXT(__clang_major__)
#else
#define DROVER_NOTE_COMPILER "gcc-" DROVER_NOTE_TEXT(__GNUC__)
#endif
#if _GLIBCXX_USE_CXX11_ABI
#define DROVER_NOTE_STRING "cxx11"
#else
#define DROVER_NOTE_STRING "old"
#endif
#ifdef _GLIBCXX_DEBUG
#define DROVER_NOTE_DEBUG "1"
#else
#define DROVER_NOTE_DEBUG "0"
#endif
#if defined(__SANITIZE_ADDRESS__)
#define DROVER_NOTE_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define DROVER_NOTE_SANITIZER "thread"
#else
#define DROVER_NOTE_SANITIZER "none"
#endif

// A plugin may leave out the layers that it does not use (drover_add_plugin: LAYERS): edits there do not concern it.
#ifdef DROVER_WITHOUT_API
#define DROVER_NOTE_API ""
#else
#define DROVER_NOTE_API " api=" DROVER_DIGEST_API
#endif
#ifdef DROVER_WITHOUT_DRIVER
#define DROVER_NOTE_DRIVER ""
#else
#define DROVER_NOTE_DRIVER " driver=" DROVER_DIGEST_DRIVER
#endif

// Everything that two builds must share before C++ objects may cross between them, as "key=value" fields.
consteval std::string_view exact_tag() {
  return "sdk=" DROVER_SDK_VERSION "+" DROVER_DIGEST_SDK DROVER_NOTE_API DROVER_NOTE_DRIVER
         " protobuf=" DROVER_SDK_PROTOBUF " cxx=" DROVER_NOTE_COMPILER
         " cxxabi=" DROVER_NOTE_TEXT(__GXX_ABI_VERSION) " stdlib=" DROVER_NOTE_TEXT(
             __GLIBCXX__) " string=" DROVER_NOTE_STRING " debug=" DROVER_NOTE_DEBUG " san=" DROVER_NOTE_SANITIZER;
}

}  // namespace drover::note
