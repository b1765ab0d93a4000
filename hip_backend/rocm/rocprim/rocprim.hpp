// AITER's RMSNorm includes rocPRIM and uses none of it. Nothing is here: a source that uses rocPRIM
// does not compile.
#pragma once
