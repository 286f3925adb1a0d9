// Where a variant keeps tensors: layouts, residency, arenas.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/plan_proto_mapping.h"
#include "plan/plan_proto_unknown.h"

namespace leeway::plan {
namespace {

// Bits that an element occupies, of tensors whose layout says so.
using ElementBits = absl::flat_hash_map<Index, std::int64_t>;

void CheckPermutation(Reader& reader, const Path& path, const pb::Layout& in, std::size_t rank) {
  std::vector<int> order(in.minor_to_major().begin(), in.minor_to_major().end());
  std::sort(order.begin(), order.end());
  bool permutation = order.empty() || order.size() == rank;
  for (std::size_t i = 0; i < order.size(); ++i) permutation &= order[i] == static_cast<int>(i);
  if (permutation) return;
  reader.findings().Error(path.At("minor_to_major"),
                          "not a permutation of the " + std::to_string(rank) +
                              " dimensions of tensor " + Quote(in.tensor()));
}

// A tile covers the most minor dimensions of the shape so far and leaves it with as many more.
void CheckTiles(Reader& reader, const Path& path, const pb::Layout& in, std::size_t rank) {
  for (int i = 0; i < in.tiles_size(); ++i) {
    const Path at = path.At("tiles", static_cast<std::size_t>(i));
    const pb::Tile& tile = in.tiles(i);
    NoteUnknown(reader, at, tile);
    const auto extents = static_cast<std::size_t>(tile.dims_size());
    if (extents > rank) {
      reader.findings().Error(at.At("dims"), "a tile of " + std::to_string(extents) +
                                                 " dimensions on a shape of " +
                                                 std::to_string(rank));
    }
    rank += extents;
    for (int j = 0; j < tile.dims_size(); ++j) {
      if (tile.dims(j) >= 1) continue;
      reader.findings().Error(at.At("dims", static_cast<std::size_t>(j)),
                              "a tile extent of " + std::to_string(tile.dims(j)) + " is below 1");
    }
  }
}

void CheckElementBits(Reader& reader, const Path& path, const pb::Layout& in,
                      const Tensor& tensor) {
  // A BOOL says one bit; other elements do not fit into fewer than they have.
  const std::int64_t least = tensor.dtype == DType::kBool ? 1 : BitsPerElement(tensor.dtype);
  constexpr std::int64_t kMost = 64;
  if (least <= in.element_bits() && in.element_bits() <= kMost) return;
  reader.findings().Error(path.At("element_bits"),
                          std::to_string(in.element_bits()) + " bits for an element of " +
                              DTypeName(tensor.dtype) + ", not within [" + std::to_string(least) +
                              ", " + std::to_string(kMost) + "]");
}

bool IsRowMajor(const pb::Layout& in) {
  bool row_major = in.tiles_size() == 0 && in.element_bits() == 0;
  const int rank = in.minor_to_major_size();
  for (int i = 0; i < rank; ++i) row_major &= in.minor_to_major(i) == rank - 1 - i;
  return row_major;
}

Layout LayoutOf(Index tensor, const pb::Layout& in) {
  Layout layout;
  layout.tensor = tensor;
  layout.minor_to_major.assign(in.minor_to_major().begin(), in.minor_to_major().end());
  for (const pb::Tile& tile : in.tiles()) {
    layout.tiles.emplace_back(tile.dims().begin(), tile.dims().end());
  }
  layout.element_bits = in.element_bits();
  return layout;
}

void ReadLayout(Reader& reader, const Path& path, const pb::Layout& in, ElementBits& bits,
                Variant& out) {
  NoteUnknown(reader, path, in);
  reader.Enum(path.At("memory_space"), in.memory_space(), pb::MemorySpace_MAX, pb::DRAM);
  const std::optional<Index> index =
      reader.Find(path.At("tensor"), reader.tensors, "tensor", in.tensor());
  if (!index) return;
  const Tensor& tensor = reader.body().tensors[*index];
  CheckPermutation(reader, path, in, tensor.shape.size());
  CheckTiles(reader, path, in, tensor.shape.size());
  if (!IsRowMajor(in)) out.layouts.push_back(LayoutOf(*index, in));
  if (in.element_bits() == 0) return;
  CheckElementBits(reader, path, in, tensor);
  bits[*index] = in.element_bits();
}

// The variant's layouts by tensor.
using Layouts = absl::flat_hash_map<Index, const Layout*>;

void ReadResidency(Reader& reader, const Path& path, const pb::Residency& in,
                   const Layouts& layouts, Variant& out) {
  NoteUnknown(reader, path, in);
  const std::optional<Index> tensor =
      reader.Find(path.At("tensor"), reader.tensors, "tensor", in.tensor());
  if (!tensor) return;
  if (reader.body().tensors[*tensor].kind != TensorKind::kWeight) {
    reader.findings().Error(path.At("tensor"),
                            "tensor " + Quote(in.tensor()) + " is resident but no weight");
  }
  Residency& residency =
      out.residency.emplace_back(Residency{*tensor, ReadCores(reader, path, in.cores())});
  const auto layout = layouts.find(*tensor);
  if (layout != layouts.end()) residency.layout = *layout->second;
}

// An arena's slots, held against its size at both ends of the variant's envelope. (Sizes grow with
// the dims: what fits there fits between.)
class ArenaReader {
 public:
  ArenaReader(Reader& reader, const Variant& variant, const ElementBits& bits)
      : reader_(reader), bits_(bits), ends_(2) {
    for (const Range& range : variant.envelope) {
      ends_[0].dims.push_back(range.max);
      ends_[1].dims.push_back(range.min);
    }
    if (ends_[0].dims == ends_[1].dims) ends_.pop_back();
  }

  void Read(const Path& path, const pb::Arena& in, Arena& out) {
    NoteUnknown(reader_, path, in);
    reader_.Enum(path.At("memory_space"), in.memory_space(), pb::MemorySpace_MAX, pb::DRAM);
    const Expr bytes = reader_.Size(path.At("bytes"), in.bytes());
    for (End& end : ends_) end.arena_bytes = bytes(end.dims);
    for (int i = 0; i < in.slots_size(); ++i) {
      ReadSlot(path.At("slots", static_cast<std::size_t>(i)), in.slots(i), static_cast<Index>(i),
               out);
    }
  }

 private:
  struct End {
    std::vector<std::int64_t> dims;
    std::int64_t arena_bytes = 0;
  };

  void ReadSlot(const Path& path, const pb::Arena::Slot& in, Index listed, Arena& out) {
    NoteUnknown(reader_, path, in);
    const Expr offset = reader_.SizeOr(path.At("offset_bytes"), in.offset_bytes(), 0);
    const std::optional<Index> tensor =
        reader_.Find(path.At("tensor"), reader_.tensors, "tensor", in.tensor());
    if (!tensor) return;
    const std::string name = "tensor " + Quote(in.tensor());
    if (!placed_.insert(*tensor).second) {
      reader_.findings().Error(path.At("tensor"), name + " has a slot already");
    } else if (reader_.body().tensors[*tensor].alias_of) {
      reader_.findings().Error(path.At("tensor"), name + " is a view: it lies in what it views");
    } else if (!MayCompute(*tensor)) {
      reader_.findings().Error(path, name + " cannot be shown to fit: its shape is too long");
    } else {
      ArenaSlot slot{*tensor, listed, {}};
      for (std::size_t i = 0; i < slot.bytes.size(); ++i) {
        const std::optional<ByteRange> bytes =
            Place(path, name, *tensor, offset, ends_[std::min(i, ends_.size() - 1)]);
        if (!bytes) return;
        slot.bytes[i] = *bytes;
      }
      out.slots.push_back(slot);
    }
  }

  // A slot is a few bytes, and the shape of its tensor may be long.
  bool MayCompute(Index tensor) {
    constexpr std::size_t kUsual = 64;
    const std::size_t instructions = reader_.body().tensors[tensor].elements.program().size();
    return instructions <= kUsual || reader_.TakeInstructions(instructions);
  }

  // Reports a tensor that leaves the arena.
  std::optional<ByteRange> Place(const Path& path, const std::string& name, Index tensor,
                                 const Expr& offset, const End& end) {
    const std::int64_t bytes = BytesOf(tensor, end.dims);
    const std::int64_t begin = offset(end.dims);
    if (begin <= end.arena_bytes && bytes <= end.arena_bytes - begin) {
      return ByteRange{begin, begin + bytes};
    }
    std::string message = name + " takes " + std::to_string(bytes) + " bytes from " +
                          std::to_string(begin) + " on, beyond the arena's " +
                          std::to_string(end.arena_bytes);
    for (std::size_t i = 0; i < end.dims.size(); ++i) {
      message.append(i == 0 ? " at " : ", ").append(reader_.body().dims[i].name);
      message.append(" = ").append(std::to_string(end.dims[i]));
    }
    reader_.findings().Error(path, std::move(message));
    return std::nullopt;
  }

  std::int64_t BytesOf(Index index, const std::vector<std::int64_t>& dims) const {
    const Tensor& tensor = reader_.body().tensors[index];
    const auto bits = bits_.find(index);
    if (bits == bits_.end()) return tensor.Bytes(dims);
    // Products of eight are whole bytes; a count that overflows here was refused with its shape.
    const std::int64_t count = tensor.elements(dims);
    return count / 8 * bits->second + (count % 8 * bits->second + 7) / 8;
  }

  Reader& reader_;
  const ElementBits& bits_;
  // The largest dims of the envelope, and the least where those differ.
  std::vector<End> ends_;
  absl::flat_hash_set<Index> placed_;
};

}  // namespace

void ReadMemory(Reader& reader, const Path& path, const pb::Variant& in, Variant& out) {
  ElementBits bits;
  absl::flat_hash_map<std::string_view, std::size_t> laid_out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.layouts_size()); ++i) {
    const std::string_view tensor = in.layouts(static_cast<int>(i)).tensor();
    const auto [first, added] = laid_out.try_emplace(tensor, i);
    if (!added) {
      reader.findings().Error(path.At("layouts", i).At("tensor"),
                              "tensor " + Quote(tensor) + " has a layout already: layouts[" +
                                  std::to_string(first->second) + "]");
    }
    ReadLayout(reader, path.At("layouts", i), in.layouts(static_cast<int>(i)), bits, out);
  }
  Layouts layouts;
  if (in.residency_size() > 0) {
    for (const Layout& layout : out.layouts) layouts.emplace(layout.tensor, &layout);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.residency_size()); ++i) {
    ReadResidency(reader, path.At("residency", i), in.residency(static_cast<int>(i)), layouts, out);
  }
  ArenaReader arenas(reader, out, bits);
  Names names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.arenas_size()); ++i) {
    const pb::Arena& arena = in.arenas(static_cast<int>(i));
    const Path at = path.At("arenas", i);
    reader.Name(at.At("name"), arena.name());
    reader.Declare(at, names, "arena", arena.name(), i);
    arenas.Read(at, arena, out.arenas.emplace_back());
  }
}

}  // namespace leeway::plan
