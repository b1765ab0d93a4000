// The threads of this process: how many a launch gets.
//
// The threads of an OpenMP run time do not come along into a forked process, and a team of several,
// also one whose size a caller gives, would wait for them for ever. So the thread that forks gets
// no team in the new process.
#pragma once

namespace mla::cpu {

// Threads of a launch that wants so many; 0: as many as the OpenMP run time gives the calling
// thread. No more than the run time may have and the process can start, and 1 in a build without
// OpenMP.
int team(int wanted);
// From now on team(0) is 1: the calling thread is one of many that do the same.
void work_alone();

}  // namespace mla::cpu
