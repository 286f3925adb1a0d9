// The table that the build generates from plans/ (cmake/EmbedFiles.cmake); read through file.h.

#ifndef LEEWAY_BASE_SHIPPED_FILES_H_
#define LEEWAY_BASE_SHIPPED_FILES_H_

#include <span>

#include "base/file.h"

namespace leeway::base {

// Every shipped file, by kind and then by name.
std::span<const ShippedFile> ShippedFiles();

}  // namespace leeway::base

#endif  // LEEWAY_BASE_SHIPPED_FILES_H_
