// The threads of this process: how many a launch gets where its caller leaves that open.
//
// The threads of an OpenMP run time do not come along into a forked process, and a team of several,
// also one whose size a caller gives, would wait for them for ever. So the thread that forks gets
// no team in the new process.
#pragma once

namespace mla::cpu {

// As many as the OpenMP run time gives the calling thread; 1 in a build without it.
int all_threads();
// From now on that is 1: the calling thread is one of many that do the same.
void work_alone();

}  // namespace mla::cpu
