// `mla-testbed gfx`: the options and the help of its commands.
#include "properties/cli/gfx.hpp"

#include <memory>

#include "properties/app/gfx.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

constexpr const char* kGfxFooter = R"(
Takes any code object of gfx942 or gfx950: what a compiler writes with `-c --offload-device-only`,
or a .co file of an installation.

Examples:
  mla-testbed gfx disassemble kernel.co --kernel add
  mla-testbed gfx check kernel.co
  mla-testbed gfx run kernel.co --kernel add --grid 4 --block 256 --args args.json)";

constexpr const char* kGfxCheckFooter = R"(
Decodes every function, and follows every path of the control-flow graph of each kernel without
running it. Reports a register that a load will write and that is used on some path before an
s_waitcnt covers the load: both instructions, the counter, and the wait that is missing. So are too
few wait states (s_nop) around matrix instructions, and more LDS than a workgroup can have.
What is not followed is counted. LDS and races need a run (gfx run --checks).
Of a folder, all files *.co and *.hsaco in it and in its folders: one table, worst first.
Exit: 0 nothing is missing, 1 something is, 2 wrong input, 3 no such file, 10 refused.)";

constexpr const char* kGfxRunFooter = R"(
--args names a JSON file: {"arguments": [...]}, one entry for each argument of the kernel:
  {"scalar": "i32", "value": 5}
  {"buffer": "f32", "count": 256, "fill": 0, "show": 4, "output": "out.bin"}
  {"buffer": "f32", "values": [1, 2.5, -3]}
  {"buffer": "u8", "file": "in.bin"}
Types: i8 to i64, u8 to u64, f16, bf16, f32, f64. Files are little-endian elements without a header,
beside the JSON file. "offset" places an argument by hand. Hidden arguments are filled in.
Ctrl-C ends a kernel that does not end, and says where it was; so does --limit. A launch above two
seconds shows its progress on a terminal, or where MLA_TESTBED_PROGRESS is 1.
Exit: 0 it ran, 1 it had a fault or a finding, 2 wrong input, 3 no such file, 4 interrupted, 10 refused.

Examples:
  mla-testbed gfx run kernel.co --kernel add --grid 4 --block 256 --args args.json --checks
  mla-testbed gfx run kernel.co --block 64 --args args.json --arrival late --json
  mla-testbed gfx run kernel.co --block 256 --args args.json --annotate - --trace waves.json)";

ExitCode print(const std::string& command, const Result<app::GfxListing>& listing) {
  if (!listing) return complain(command, listing.error());
  return finish(command, listing->text, listing->exit);
}

ExitCode disassemble(const GfxOptions& o) {
  return print("gfx disassemble", app::gfx_disassemble(o.object, o.kernel, o.json));
}

ExitCode check(const GfxOptions& o) {
  const app::GfxForm form = o.sarif  ? app::GfxForm::sarif
                            : o.json ? app::GfxForm::json
                                     : app::GfxForm::text;
  return print("gfx check", app::gfx_check(o.object, o.kernel, form));
}

using Do = ExitCode (*)(const GfxOptions&);

Command add_command(Command& gfx, const char* name, const char* what,
                    const std::shared_ptr<GfxOptions>& o, Do execute, ExitCode& exit) {
  Command c = gfx.add_subcommand(name, what);
  c.add_option("object", o->object, "The code object; - is stdin").required();
  c.add_option("--kernel", o->kernel, "Its kernel of this name");
  c.add_flag("--json", o->json, "Print one JSON object");
  c.callback([o, execute, &exit] { exit = execute(*o); });
  return c;
}

}  // namespace

void add_gfx(Command& app, ExitCode& exit) {
  auto o = std::make_shared<GfxOptions>();
  Command gfx = app.add_subcommand("gfx", "Disassemble, check or run any code object");
  gfx.require_subcommand();
  gfx.footer(kGfxFooter);
  add_command(gfx, "disassemble", "Print the instructions of its kernels", o, disassemble, exit);
  Command checks = add_command(
      gfx, "check", "Look for missing waits along all paths, without running", o, check, exit);
  checks.add_flag("--sarif", o->sarif, "Print the findings as SARIF 2.1.0");
  checks.footer(kGfxCheckFooter);
  Command run = add_command(gfx, "run", "Launch one kernel in the emulator", o, gfx_run, exit);
  run.add_option("--grid", o->grid, "Workgroups: X, X,Y or X,Y,Z").show_default();
  run.add_option("--block", o->block, "Threads of a workgroup: X, X,Y or X,Y,Z").required();
  run.add_option("--args", o->arguments, "A JSON file with the arguments").required();
  run.add_option("--dynamic-lds", o->dynamic_lds, "Bytes of LDS beside the kernel's own")
      .show_default();
  run.add_option("--limit", o->limit,
                 "Instructions of a wave; 0: no limit. Without it MLA_TESTBED_INSTRUCTION_LIMIT,\n"
                 "else 1000000000");
  add_emulation_options(run, o->emulation);
  add_profile_options(run, o->profile);
  run.footer(kGfxRunFooter);
}

}  // namespace mla::cli
