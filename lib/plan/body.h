// The immutable in-memory form of a plan: names resolved to indices, expressions parsed, checked.
//
// Threading: immutable.
// Everything here has passed validation, so that its readers need no checks of their own: indices
// are in range, the graphs are acyclic, expressions cannot fail within the dims' domains.

#ifndef LEEWAY_PLAN_BODY_H_
#define LEEWAY_PLAN_BODY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "leeway/types.h"
#include "plan/expr.h"

namespace leeway::plan {

using Index = std::uint32_t;

struct Annotation {
  std::string key, value;
};

enum class Bind { kSubmit = 1, kProduced, kSequence };

struct Dim {
  std::string name;
  std::int64_t min = 1;
  std::int64_t max = 1;
  Bind bind = Bind::kSubmit;
  BatchRule batch_rule = BatchRule::kMax;
};

// Sums to the members' count or is their sum: never padded by an envelope.
inline bool IsBatchDim(const Dim& dim) {
  return dim.batch_rule == BatchRule::kSum || dim.batch_rule == BatchRule::kCount;
}

enum class TensorKind { kInput = 1, kOutput, kWeight, kActivation, kState };

struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::kActivation;
  DType dtype = DType::kF32;
  // It holds scales or zero points of another tensor.
  bool quantizes = false;
  std::vector<Expr> shape;
  // Product of the shape.
  Expr elements;
  // The tensor whose memory this one is a view of.
  std::optional<Index> alias_of;
  // Identity of a weight's content: 32 bytes, or empty.
  std::string content_digest;

  // Bytes at given dims: elements times bits per element, rounded up to bytes.
  std::int64_t Bytes(std::span<const std::int64_t> dims) const;
};

struct Gemm {
  Expr m, n, k, count;
  double density = 1;
};
struct Conv {
  Expr n, h, w, c, filters, kernel_h, kernel_w;
  std::uint32_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0, groups = 1;
};
struct Vector {
  Expr elements;
  double ops_per_element = 1;
};
struct Reduce {
  Expr elements, outputs;
  double ops_per_element = 1;
};
struct Move {
  Expr bytes;
  std::optional<Expr> contiguous_bytes;
};
// Kinds of work that engines may still answer UNIMPLEMENTED to.
struct Collective {
  int kind = 0;
  Expr bytes, participants;
};
struct SendReceive {
  bool send = true;
  Expr bytes;
};
struct Host {
  std::int64_t nanoseconds = 0;
};
struct Call {
  Index entry = 0;
  Expr times;
};
struct Custom {
  Expr flops, bytes;
};
using Work = std::variant<std::monostate, Gemm, Conv, Vector, Reduce, Move, Collective, SendReceive,
                          Host, Call, Custom>;

struct Operator {
  std::string name;
  std::string kind;
  std::vector<Index> inputs;   // tensors
  std::vector<Index> outputs;  // tensors
  // Operators of the entry that must have ended before: producers of inputs and control edges,
  // rising, without duplicates.
  std::vector<Index> predecessors;
  Work work;
  // It must run exactly once: neither elided nor recomputed.
  bool side_effects = false;
  std::vector<Annotation> annotations;
  // The operator's index in the message, for field paths: here operators are sorted.
  Index listed = 0;
};

// An operator that a variant does not run, and why.
struct Elided {
  Index op = 0;
  std::string reason;
};

enum class ShapeMode { kPadded = 1, kDynamic };

// Of one dim; an envelope has one for every dim of the plan (absent ones span the domain).
struct Range {
  std::int64_t min = 1, opt = 1, max = 1;
  ShapeMode mode = ShapeMode::kPadded;
  std::int64_t granule = 1;
};

struct Constraint {
  Expr expr;
  std::int64_t min = 0, max = 0, multiple_of = 1;
};

enum class PlacementMode { kAny = 1, kPreferred, kPinned };

struct CoreRef {
  std::optional<std::uint32_t> device;
  std::string core_class;
  std::optional<std::uint32_t> index;
};

struct Placement {
  PlacementMode mode = PlacementMode::kAny;
  std::vector<CoreRef> cores;
};

struct ProfilePoint {
  std::vector<std::int64_t> dims;  // by dim index; unnamed dims hold their domain's min
  std::int64_t p50_ns = 0, p90_ns = 0, dram_bytes = 0, sram_peak_bytes = 0;
};

struct GroupWork {
  Expr flops, read_bytes, write_bytes, scratch_bytes;
};

struct Tiling {
  std::int64_t m = 0, n = 0, k = 0;
};

// How a variant lays a tensor out, where that is not row-major with elements of the dtype's size.
struct Layout {
  Index tensor = 0;
  std::vector<Index> minor_to_major;             // empty: row-major
  std::vector<std::vector<std::int64_t>> tiles;  // over the most minor dimensions
  std::int64_t element_bits = 0;                 // 0: the dtype's own
};

struct Group {
  std::string name;
  std::vector<Index> ops;  // operators of the entry, in order
  std::vector<Index> recomputed;
  Expr shards;  // >= 1 over the whole domain
  Tiling tiling;
  Placement placement;
  std::string kernel_key;
  Expr workspace_bytes;
  std::optional<GroupWork> work;
  std::vector<ProfilePoint> profile;
  std::optional<Expr> cost_ns;
  // Groups of the variant that must have ended before, rising, without duplicates.
  std::vector<Index> predecessors;
  // What the group reads from and writes to memory beyond its inner intermediates: tensors.
  std::vector<Index> reads, writes;
  // What comes from or goes to the caller in row-major order and is laid out otherwise here: of an
  // input the first group that reads it converts it, of an output the one that writes it.
  std::vector<Layout> converts;
  std::vector<Annotation> annotations;
  // The group's index in the message, for field paths: here groups are sorted.
  Index listed = 0;
};

// A weight that stays in the SRAM of cores between runs.
struct Residency {
  Index tensor = 0;
  std::vector<CoreRef> cores;
  std::optional<Layout> layout = {};  // nothing: row-major
};

// The groups that a core runs, in this order. A reference without an index means a set of cores,
// which start them in this order.
struct CoreOrder {
  CoreRef core;
  std::vector<Index> groups;
};

// `group` starts once `after` has ended.
struct Wait {
  Index group = 0, after = 0;
};

// Groups that no core lists run where and when they can.
struct Schedule {
  std::vector<CoreOrder> cores;
  std::vector<Wait> waits;
};

// From `begin` to before `end`.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
};

// Where a tensor lies in an arena.
struct ArenaSlot {
  Index tensor = 0;
  Index listed = 0;  // its index in the message
  // Its bytes where all dims are at the envelope's max, and at its min.
  std::array<ByteRange, 2> bytes;
};

struct Arena {
  std::vector<ArenaSlot> slots;
};

struct Variant {
  std::string name;
  std::vector<Range> envelope;  // by dim index
  std::vector<Constraint> constraints;
  std::vector<Group> groups;  // in a topological order
  std::vector<Elided> elided;
  std::vector<Layout> layouts;
  std::vector<Residency> residency;
  Schedule schedule;
  std::vector<Arena> arenas;
};

// A point of the joint distribution of dims that the compiler tuned for.
struct ShapePoint {
  std::vector<std::int64_t> dims;  // by dim index
  double weight = 0;
};

struct Entry {
  std::string name;
  bool internal = false;
  std::vector<Operator> operators;  // in a topological order
  std::vector<Variant> variants;
};

// Returns the variant's range rule applied to `value`: max when padded, the next multiple of the
// granule (at most max) when dynamic. Requires min <= value <= max.
std::int64_t PaddedValue(const Range& range, std::int64_t value);

// Returns the call that the group is, or null. A call is alone in its group.
const Call* CallOf(const Entry& entry, const Group& group);

// True if every dim is within the envelope and every constraint holds.
bool Covers(const Variant& variant, std::span<const std::int64_t> dims);

// How deep calls may nest: an entry that calls none is at depth 1.
inline constexpr std::size_t kMaxCallDepth = 16;

// How many steps a run may launch, what it calls included.
inline constexpr std::uint64_t kMaxRunSteps = std::uint64_t{1} << 26;

class Body {
 public:
  std::string model, producer, producer_version;
  // Digest of the device it was compiled for: 32 bytes, or empty for any.
  std::string target_device;
  std::vector<Dim> dims;
  std::vector<Tensor> tensors;
  std::vector<Entry> entries;
  std::vector<ShapePoint> shape_profile;
  base::Digest digest;
  std::string digest_hex;
  // The deterministic serialization the plan was read from or built to.
  std::string serialized;

  std::optional<Index> FindDim(std::string_view name) const;
  std::optional<Index> FindEntry(std::string_view name) const;
  // The variant of `entry` that a CALL from `caller` runs: the one of the same name, else the first
  // without constraints whose envelope covers the caller's; nothing if there is neither.
  std::optional<Index> CalledVariant(const Variant& caller, Index entry) const;
  // Bytes of distinct weights: views and further copies of the same content do not count.
  std::int64_t WeightBytes() const;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_BODY_H_
