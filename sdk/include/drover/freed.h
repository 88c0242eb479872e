// Owners of what a C library hands out: std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>.
#pragma once

namespace drover {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace drover
