// Interrupts: SIGINT, SIGTERM and SIGHUP end a long command early, with everything that it found.
//
// The first signal sets a flag; the command finishes the property at hand, writes its reports and
// exits with 4, or 1 if something failed. A second one ends the process at once, unless it comes
// within half a second, as part of the same request, or is SIGHUP: a terminal that is closed may
// send several.
#pragma once

namespace mla::cli {

// From now on. Call it once the input is read: a wait for stdin ends at the first signal. Signals
// that the parent ignored are taken as well, since a shell ignores SIGINT for background jobs. Only
// SIGHUP stays ignored, since `nohup` asks for that.
void catch_interrupts();
// The same, and launches in the emulator end at once, even while waited for: a kernel may spin for
// ever. For commands that are one launch.
void end_launches_on_interrupt();
// Whether a signal came.
bool interrupted();

}  // namespace mla::cli
