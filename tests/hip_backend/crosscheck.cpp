// hip_crosscheck: random decode steps on the CPU backend and on a device, and what they say.
//
//   hip_crosscheck cases <device> <count> <first seed> [<seconds>]
//   hip_crosscheck line <device> '<case>'
//   hip_crosscheck speed <device>
//   hip_crosscheck fault <device>
//
// `cases` draws decode cases of every dtype, head count, block size and query length; each runs on
// both backends, every stage is compared and the result is held to the reference's bound; every
// third case goes through a captured graph, every fifth with sleeping waves, which may change no
// bit; the device's planner and expansion must give the core's integers. Prints one line for every
// failure, beginning with FAIL and the case, and a summary. Exit codes: 0 all held, 1 something
// failed, 2 usage, 3 the device failed.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "core/plan/planner.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "hip_backend/planning/device_planner.hpp"
#include "properties/generate/cases.hpp"
#include "properties/generate/cost.hpp"
#include "tests/hip_backend/crosscheck_speed.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

using namespace mla;
using namespace mla::hip::test;

namespace {

struct Tally {
  std::int64_t drawn = 0, ran = 0, failed = 0, plans = 0, expansions = 0, graphs = 0, sleeps = 0;
  double worst_out = 0, worst_lse = 0;
  std::string worst_case;
  std::map<std::string, std::int64_t> kinds;
};

bool same_bits(const DecodeResult& a, const DecodeResult& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0);
  };
  return same(a.out, b.out) && same(a.lse, b.lse) && same(a.partial_out, b.partial_out) &&
         same(a.partial_lse, b.partial_lse);
}

class CrossCheck {
 public:
  explicit CrossCheck(std::shared_ptr<hip::Device> device)
      : device_(std::move(device)),
        plain_(hip::make_hip_backend(
            device_, {.whole_cache_bytes = device_->properties().memory_bytes / 8})),
        graph_(hip::make_hip_backend(device_, {.through_graph = true})),
        cpu_(cpu::make_cpu_backend()) {}

  void run(const Case& spec) {
    ++tally.drawn;
    std::string reason;
    const auto step = try_step(spec, reason);
    if (step == nullptr || !plain_->supports(step->metadata.shape).ok) return;
    check_step(*step);
    check_expansion(*step);
    if (step->metadata.plan) check_plan(*step);
  }

  Tally tally;

 private:
  void fail(const Step& step, const std::string& what) {
    ++tally.failed;
    std::printf("FAIL %s\n  %s\n", format_case(step.spec).c_str(), what.c_str());
    std::fflush(stdout);
  }

  void check_step(const Step& step) {
    const ExecutionOptions options = {.record_stages = true};
    const auto device = plain_->run(step.launch(), options);
    if (!device) return fail(step, device.error().message);
    const auto cpu = cpu_->run(step.launch(), options);
    if (!cpu) return fail(step, cpu.error().message);
    ++tally.ran;
    const ResolvedShape& shape = step.metadata.shape;
    ++tally.kinds["route " + std::string(name(shape.route))];
    ++tally.kinds["dtype " + std::string(name(shape.dtype.q)) + "/" +
                  std::string(name(shape.dtype.kv)) + " " + std::string(name(shape.arch))];
    std::int64_t rows = 0;
    for (const RequestSpec& r : step.spec.requests) rows = std::max(rows, r.qo_len);
    ++tally.kinds["longest query " + std::to_string(rows)];
    ++tally.kinds["kernel heads " + std::to_string(device->kernel_heads)];
    ++tally.kinds[std::string("block size ") + (step.spec.block_size == 1   ? "1"
                                                : step.spec.block_size < 16 ? "2-15"
                                                                            : "16-256")];
    Closeness closeness;
    if (const std::string bad = judge(step, *device, closeness); !bad.empty()) fail(step, bad);
    if (const std::string bad = compare_stages(step, *cpu, *device); !bad.empty()) fail(step, bad);
    if (closeness.out > tally.worst_out) tally.worst_case = format_case(step.spec);
    tally.worst_out = std::max(tally.worst_out, closeness.out);
    tally.worst_lse = std::max(tally.worst_lse, closeness.lse);
    if (tally.ran % 3 == 0)
      again(step, *graph_, options, *device, "a replayed graph", tally.graphs);
    if (tally.ran % 5 == 0)
      again(step, *plain_,
            {.schedule_seed = static_cast<std::uint64_t>(tally.ran), .record_stages = true},
            *device, "sleeping waves", tally.sleeps);
  }

  void again(const Step& step, const Backend& backend, const ExecutionOptions& options,
             const DecodeResult& first, const char* how, std::int64_t& count) {
    const auto second = backend.run(step.launch(), options);
    ++count;
    if (!second) return fail(step, std::string(how) + ": " + second.error().message);
    if (!same_bits(first, *second)) fail(step, std::string(how) + ": other bits");
  }

  void check_plan(const Step& step) {
    const DecodeBuilderOptions options{.max_requests = 0};
    const plan::PlanInput input = plan_input_of(step.metadata, options);
    const auto sizes = plan::query_sizes(size_query_of(step.metadata, options));
    const auto shape = resolve_plan_shape(input.key);
    if (input.version != plan::PlannerVersion::v1_2 || !sizes || !shape || input.topk >= 0) return;
    const auto core = plan::make_plan(input, *sizes);
    if (!core) return;
    const auto device = hip::plan_on_device(*device_, input, *shape, *sizes);
    ++tally.plans;
    if (!device) return fail(step, "device planner: " + device.error().message);
    const auto same = [&](const plan::PlanBuffer& a, const plan::PlanBuffer& b) {
      for (std::int64_t i = 0; i < a.size(); ++i)
        if (a.at(i) != b.at(i))
          return fail(step, "device planner: " + std::string(a.name()) + "[" + std::to_string(i) +
                                "] is " + std::to_string(b.at(i)) + ", the core says " +
                                std::to_string(a.at(i)));
    };
    for (std::size_t i = 0; i < core->all().size(); ++i) same(*core->all()[i], *device->all()[i]);
  }

  // The table of the batch itself, into a buffer with a tail that must stay.
  void check_expansion(const Step& step) {
    const std::int64_t per_block = step.batch.block_size / step.metadata.shape.page_size;
    std::vector<std::int32_t> indptr{0};
    std::vector<std::int64_t> rows;
    for (const RequestSpec& r : step.batch.requests) {
      rows.push_back(std::ssize(rows));
      indptr.push_back(indptr.back() + static_cast<std::int32_t>(
                                           ceil_div(r.kv_len, step.metadata.shape.page_size)));
    }
    const ExpandInput input = {.table = step.batch.table(),
                               .kv_indptr = indptr,
                               .table_rows = rows,
                               .pages_per_block = per_block};
    const ExpandGrid grid = {.programs = 1 + tally.ran % 3, .chunk = tally.ran % 2 == 0 ? 1024 : 7};
    std::vector<std::int32_t> core(static_cast<std::size_t>(indptr.back()) + 5, -7);
    const std::vector<std::int32_t> before = core;
    if (expand_pages(input, grid, core)) return;
    const auto device = hip::expand_on_device(*device_, input, grid, before);
    ++tally.expansions;
    if (!device) return fail(step, "device expansion: " + device.error().message);
    if (*device != core) fail(step, "device expansion: other indices than the core's");
  }

  std::shared_ptr<hip::Device> device_;
  std::unique_ptr<Backend> plain_;
  std::unique_ptr<Backend> graph_;
  std::unique_ptr<Backend> cpu_;
};

int report(const Tally& t) {
  std::printf("%ld cases drawn, %ld run, %ld failures\n", t.drawn, t.ran, t.failed);
  std::printf("plans compared %ld, expansions %ld, graphs %ld, with sleeping waves %ld\n", t.plans,
              t.expansions, t.graphs, t.sleeps);
  std::printf("closest to the bound: out %.3f, lse %.4f (%s)\n", t.worst_out, t.worst_lse,
              t.worst_case.c_str());
  for (const auto& [kind, count] : t.kinds) std::printf("  %s: %ld\n", kind.c_str(), count);
  if (t.failed > 0) return 1;
  return t.ran > 0 ? 0 : 4;
}

int run_cases(CrossCheck& check, std::int64_t count, std::uint64_t seed, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t s = seed; check.tally.ran < count; ++s) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (passed.count() > seconds) break;
    prop::RandomChoices choices(s);
    const bool long_queries = s % 20 == 0;
    prop::CaseDomain domain = crosscheck_domain(long_queries ? 100 : static_cast<int>(s % 60));
    // The longest queries that a kernel is listed for are rare in the domain; here they are not.
    if (long_queries) domain.qo_len = {{8, 1}, {16, 2}};
    check.run(prop::draw_case(choices, domain));
    if (check.tally.failed > 20) break;
  }
  return report(check.tally);
}

// A kernel that writes where nothing is: the device must say so, and whether it works again.
int run_fault(hip::Device& device) {
  constexpr std::int32_t kTable[] = {3, 4};
  constexpr std::int32_t kPages[] = {0, 2};
  constexpr long long kRow[] = {0};
  const auto table = hip::Buffer::holding(device, "table", std::as_bytes(std::span(kTable)));
  const auto pages = hip::Buffer::holding(device, "pages", std::as_bytes(std::span(kPages)));
  const auto row = hip::Buffer::holding(device, "row", std::as_bytes(std::span(kRow)));
  const auto kernel =
      device.find_kernel(hip::code_object(device.properties().arch, "expand"), "expand");
  if (!table || !pages || !row || !kernel) return 3;
  const auto at = []<class T>(const hip::Buffer& b, T*) { return std::bit_cast<T*>(b.address()); };
  hip::ExpandArguments a{};
  a.table = at(*table, static_cast<const int*>(nullptr));
  a.kv_indptr = at(*pages, static_cast<const int*>(nullptr));
  a.table_row = at(*row, static_cast<const long long*>(nullptr));
  a.kv_indices = std::bit_cast<int*>(std::uintptr_t{0x1000});
  a.pages_per_block = 1;
  a.programs = 1;
  a.chunk = 16;
  MaybeError bad = device.launch({}, *kernel, {.threads = 256}, hip::argument_bytes(a));
  if (!bad) bad = device.synchronize({});
  if (!bad) {
    std::printf("FAIL the device wrote to address 0x1000 and said nothing\n");
    return 1;
  }
  std::printf("the device said: %s\n", bad->message.c_str());
  const MaybeError still = device.recover();
  std::printf("%s\n",
              still ? ("it does not recover: " + still->message).c_str() : "it has recovered");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: hip_crosscheck cases|line|speed|fault <device> ...\n");
    return 2;
  }
  const std::string mode = argv[1];
  auto opened = hip::open_device(argv[2]);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return opened.error().code == ErrorCode::usage ? 2 : 3;
  }
  const std::shared_ptr<hip::Device> device = std::move(*opened);
  const hip::DeviceProperties& p = device->properties();
  std::printf("device %s: %s, %s, %ld compute units, LDS %ld, %s\n", p.label.c_str(),
              p.model.c_str(), p.arch.c_str(), p.compute_units, p.lds_bytes, p.driver.c_str());
  if (mode == "speed") return measure_speed(*device);
  if (mode == "fault") return run_fault(*device);
  CrossCheck check(device);
  if (mode == "line" && argc == 4) {
    const auto spec = parse_case(argv[3]);
    if (!spec) {
      std::fprintf(stderr, "%s\n", spec.error().message.c_str());
      return 2;
    }
    check.run(*spec);
    return report(check.tally);
  }
  if (mode != "cases" || argc < 5) return 2;
  return run_cases(check, std::atol(argv[3]), std::strtoull(argv[4], nullptr, 10),
                   argc > 5 ? std::atof(argv[5]) : 1e9);
}
