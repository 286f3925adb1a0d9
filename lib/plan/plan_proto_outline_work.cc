// The part of ReadOutline() that reads the work of operators; see plan_proto_outline.h.

#include "plan/outline_text.h"
#include "plan/plan_proto_outline.h"

namespace leeway::plan {
namespace {

std::string GemmText(pb::Gemm& in, Speller& spell) {
  const double density = in.density() == 0 ? 1 : in.density();
  std::string text = "GEMM m=" + spell(in.m()) + " n=" + spell(in.n()) + " k=" + spell(in.k()) +
                     " count=" + spell(in.count(), "1") + " density=" + Shortest(density);
  in.clear_m();
  in.clear_n();
  in.clear_k();
  in.clear_count();
  in.clear_density();
  return text + Leftover(in);
}

std::string ConvText(pb::Conv& in, Speller& spell) {
  const auto or_one = [](std::uint32_t value) { return std::to_string(value == 0 ? 1 : value); };
  std::string text = "CONV n=" + spell(in.n()) + " h=" + spell(in.h()) + " w=" + spell(in.w()) +
                     " c=" + spell(in.c()) + " filters=" + spell(in.filters()) +
                     " kernel=" + spell(in.kernel_h()) + "x" + spell(in.kernel_w()) +
                     " stride=" + or_one(in.stride_h()) + "x" + or_one(in.stride_w()) +
                     " dilation=" + or_one(in.dilation_h()) + "x" + or_one(in.dilation_w()) +
                     " pad=" + std::to_string(in.pad_top()) + "," + std::to_string(in.pad_left()) +
                     "," + std::to_string(in.pad_bottom()) + "," + std::to_string(in.pad_right()) +
                     " groups=" + or_one(in.groups());
  in.clear_n();
  in.clear_h();
  in.clear_w();
  in.clear_c();
  in.clear_filters();
  in.clear_kernel_h();
  in.clear_kernel_w();
  in.clear_stride_h();
  in.clear_stride_w();
  in.clear_dilation_h();
  in.clear_dilation_w();
  in.clear_pad_top();
  in.clear_pad_left();
  in.clear_pad_bottom();
  in.clear_pad_right();
  in.clear_groups();
  return text + Leftover(in);
}

std::string SendText(pb::SendReceive& in, std::string_view word, Speller& spell) {
  std::string text = std::string(word) + " bytes=" + spell(in.bytes()) +
                     " peer=" + NameText(in.peer()) + " channel=" + NameText(in.channel());
  in.clear_bytes();
  in.clear_peer();
  in.clear_channel();
  return text + Leftover(in);
}

std::string ElementwiseText(pb::Work& in, Speller& spell) {
  if (in.has_vector()) {
    pb::Vector& of = *in.mutable_vector();
    std::string text = "VECTOR elements=" + spell(of.elements()) +
                       " ops_per_element=" + Shortest(of.ops_per_element());
    of.clear_elements();
    of.clear_ops_per_element();
    return text + Leftover(of);
  }
  pb::Reduce& of = *in.mutable_reduce();
  std::string text = "REDUCE elements=" + spell(of.elements()) + " outputs=" + spell(of.outputs()) +
                     " ops_per_element=" + Shortest(of.ops_per_element());
  of.clear_elements();
  of.clear_outputs();
  of.clear_ops_per_element();
  return text + Leftover(of);
}

std::string MoveText(pb::Move& in, Speller& spell) {
  std::string text = "MOVE bytes=" + spell(in.bytes());
  AddPart(text, "contiguous", spell(in.contiguous_bytes()));
  in.clear_bytes();
  in.clear_contiguous_bytes();
  return text + Leftover(in);
}

std::string CollectiveText(pb::Collective& in, Speller& spell) {
  std::string text = pb::Collective::Kind_Name(in.kind()) + " bytes=" + spell(in.bytes()) +
                     " participants=" + spell(in.participants());
  for (pb::ReplicaGroup& group : *in.mutable_groups()) {
    std::vector<std::string> replicas;
    for (const std::uint32_t replica : group.replicas()) {
      replicas.push_back(std::to_string(replica));
    }
    text += " {" + Join(replicas, ",") + "}";
    group.clear_replicas();
    text += Leftover(group);
  }
  in.clear_kind();
  in.clear_bytes();
  in.clear_participants();
  in.clear_groups();
  return text + Leftover(in);
}

std::string CallText(pb::Call& in, Speller& spell) {
  std::string text = "CALL entry=" + NameText(in.entry()) + " times=" + spell(in.times());
  in.clear_entry();
  in.clear_times();
  return text + Leftover(in);
}

std::string CustomText(pb::Custom& in, Speller& spell) {
  std::string text = "CUSTOM flops=" + spell(in.flops(), "0") + " bytes=" + spell(in.bytes(), "0");
  in.clear_flops();
  in.clear_bytes();
  return text + Leftover(in);
}

std::string HostText(pb::Host& in) {
  std::string text = "HOST nanoseconds=" + std::to_string(in.nanoseconds());
  in.clear_nanoseconds();
  return text + Leftover(in);
}

std::string KnownWorkText(pb::Work& in, Speller& spell) {
  switch (in.work_case()) {
    case pb::Work::kGemm:
      return GemmText(*in.mutable_gemm(), spell);
    case pb::Work::kConv:
      return ConvText(*in.mutable_conv(), spell);
    case pb::Work::kVector:
    case pb::Work::kReduce:
      return ElementwiseText(in, spell);
    case pb::Work::kMove:
      return MoveText(*in.mutable_move(), spell);
    case pb::Work::kCollective:
      return CollectiveText(*in.mutable_collective(), spell);
    case pb::Work::kSend:
      return SendText(*in.mutable_send(), "SEND", spell);
    case pb::Work::kReceive:
      return SendText(*in.mutable_receive(), "RECEIVE", spell);
    case pb::Work::kHost:
      return HostText(*in.mutable_host());
    case pb::Work::kCall:
      return CallText(*in.mutable_call(), spell);
    case pb::Work::kCustom:
      return CustomText(*in.mutable_custom(), spell);
    case pb::Work::WORK_NOT_SET:
      break;
  }
  return "";
}

}  // namespace

// Of a kind that this version does not know something is left, and told.
std::string WorkText(pb::Work& in, Speller& spell) {
  std::string text = KnownWorkText(in, spell);
  if (!text.empty()) in.clear_work();
  return text + Leftover(in);
}

}  // namespace leeway::plan
