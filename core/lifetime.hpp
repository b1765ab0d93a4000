// MLA_LIFETIME_BOUND: what a function returns refers into the parameter or object that bears it.
//
// A compiler that knows the attribute (Clang) warns where the result outlives a temporary one
// (-Wdangling); to others it is nothing. On a member function it stands after the qualifiers.
#pragma once

#if defined(__clang__)
#define MLA_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define MLA_LIFETIME_BOUND
#endif
